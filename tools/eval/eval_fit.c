/* SPDX-License-Identifier: Apache-2.0 */
/* eval_fit.c - how a simulated motion follows a recorded one (see eval_fit.h). */
#include "config.h"

#include "eval/eval_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plot/plot_lines.h"
#include "plot/plot_scale.h"

enum { LINES = 32, NAME = 80 };
static const char prefix[] = "recorded_";

typedef struct curves {
    ds_line line[LINES + 1];
    size_t lines;
    char name[LINES][NAME];
    double low, high;
    char unit[NAME];
} curves;

static const ds_snapshot_metric *find(const ds_snapshot *s, const char *name)
{
    for (uint64_t k = 0; k < s->metrics; k++) {
        if (strcmp(s->metric[k].name, name) == 0) {
            return &s->metric[k];
        }
    }
    return NULL;
}

static void add(curves *c, const ds_snapshot *s, const ds_snapshot_metric *m, const double *time,
                uint32_t series, int style)
{
    ds_line *l = &c->line[c->lines];
    snprintf(c->name[c->lines], NAME, "%.70s", m->name);
    *l = (ds_line){.name = c->name[c->lines],
                   .color = ds_color_series(series, style == DS_LINE_SOLID ? 0.55 : 1),
                   .x = time,
                   .y = m->values,
                   .count = s->frames,
                   .dashed = style};
    c->lines++;
    for (uint64_t k = 0; k < s->frames; k++) {
        c->low = isfinite(m->values[k]) ? fmin(c->low, m->values[k]) : c->low;
        c->high = isfinite(m->values[k]) ? fmax(c->high, m->values[k]) : c->high;
    }
    snprintf(c->unit, sizeof c->unit, "%s", m->unit);
}

/* Pairs of a metric and what was recorded of it. */
static void add_pairs(curves *c, const ds_snapshot *s, const double *time)
{
    uint32_t series = 0;
    for (uint64_t k = 0; k < s->metrics && c->lines + 2 <= LINES; k++) {
        const ds_snapshot_metric *m = &s->metric[k];
        if (strncmp(m->name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        const ds_snapshot_metric *simulated = find(s, m->name + strlen(prefix));
        if (simulated != NULL) {
            add(c, s, m, time, series, DS_LINE_SOLID);
            add(c, s, simulated, time, series, DS_LINE_DASHED);
            series++;
        }
    }
}

/* The line where what is held out begins; `at` and `over` are its ends. */
static void add_border(curves *c, const ds_snapshot *s, const double *time, double at[2], double over[2])
{
    const ds_snapshot_metric *held = find(s, "held_out");
    for (uint64_t k = 0; held != NULL && k < s->frames; k++) {
        if (held->values[k] > 0) {
            at[0] = at[1] = time[k];
            over[0] = c->low;
            over[1] = c->high;
            c->line[c->lines++] = (ds_line){.name = "held out",
                                            .color = ds_color_hex(0x555555, 1),
                                            .x = at,
                                            .y = over,
                                            .count = 2,
                                            .dashed = DS_LINE_DOTTED};
            return;
        }
    }
}

int ds_picture_fit(const char *path, const ds_snapshot *scene, const ds_caption *caption, ds_error *e)
{
    static const char *const svg[] = {"svg", NULL};
    char title[400], subtitle[400], label[NAME + 20];
    double at[2], over[2];
    curves *c = calloc(1, sizeof *c);
    double *time = calloc(scene->frames + 1, sizeof *time);
    int status = c == NULL || time == NULL ? ds_no_memory(e) : 0;
    if (status == 0) {
        c->low = HUGE_VAL;
        c->high = -HUGE_VAL;
        for (uint64_t k = 0; k < scene->frames; k++) {
            time[k] = (double)k * scene->dt;
        }
        add_pairs(c, scene, time);
        status = c->lines > 0
                     ? 0
                     : ds_fail(e, DS_EXIT_USAGE,
                               "--fit: %s has no metric NAME with a recorded_NAME beside it to be drawn over",
                               caption->env);
    }
    if (status == 0) {
        add_border(c, scene, time, at, over);
        ds_caption_title(title, sizeof title, caption);
        const ds_snapshot_metric *rmse = find(scene, "rmse"), *held = find(scene, "held_out");
        snprintf(subtitle, sizeof subtitle, "simulated (dashed) over recorded, loss %.6g", caption->loss);
        for (uint64_t k = 0; rmse != NULL && held != NULL && k < scene->frames; k++) {
            const int last = k + 1 == scene->frames, turns = !last && held->values[k + 1] > held->values[k];
            if (last || turns) {
                const size_t used = strlen(subtitle);
                snprintf(subtitle + used, sizeof subtitle - used, ", rmse %.4g %s%s", rmse->values[k],
                         rmse->unit, held->values[k] > 0 ? " held out" : "");
            }
        }
        snprintf(label, sizeof label, "%s", c->unit);
        const ds_lines p = {title,   subtitle, "time, s", label, DS_SCALE_LINEAR, DS_SCALE_LINEAR, NAN, NAN,
                            c->line, c->lines, NULL,      0};
        const int vector = ds_text_ends_with(path, svg);
        status = ds_plot_lines(vector ? NULL : path, vector ? path : NULL, &p, e);
    }
    free(time);
    free(c);
    return status;
}
