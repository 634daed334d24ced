/* SPDX-License-Identifier: Apache-2.0 */
/* identify_figure.c - figures of a recording: the simulated motion at the estimate over the recorded one, and
 * the residuals. Each file has up to four panels. */
#include "config.h"

#include "identify/identify.h"

#include "page/page.h"
#include "plot/plot_lines.h"
#include "snapshot/episode_scene.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7};
static const char prefix[] = "recorded_";

enum { PAIRS = DS_IDENTIFY_SIGNALS };

/* A recorded series and its simulation; time of sample 0 and step. */
typedef struct pair {
    char name[DS_IDENTIFY_NAME];
    uint64_t rows;
    double *x, *recorded, *simulated;
} pair;

typedef struct figure {
    const ds_identify_recording *q;
    pair pair[PAIRS];
    size_t pairs;
    double *x, *residual; /* rows; columns x rows */
    uint64_t columns;
    double low, high; /* of x */
} figure;

static double time_of(const ds_identify_recording *q, uint64_t i)
{
    return q->signals > 0 ? q->data.value[(i + 1) * q->data.columns - 1]
           : q->dt > 0    ? q->dt * (double)i
                          : (double)i;
}

static int is_timed(const ds_identify_recording *q)
{
    return q->signals > 0 || q->dt > 0;
}

static pair *add_pair(figure *f, const char *name, uint64_t rows)
{
    pair *p = &f->pair[f->pairs];
    snprintf(p->name, sizeof p->name, "%s", name);
    p->rows = rows;
    p->x = calloc(3 * rows, sizeof *p->x);
    if (p->x == NULL) {
        return NULL;
    }
    p->recorded = p->x + rows;
    p->simulated = p->recorded + rows;
    f->pairs++;
    return p;
}

/* Residual + recorded = simulated, with gain and offset. */
static int add_signals(figure *f, ds_error *e)
{
    const ds_identify_recording *q = f->q;
    for (uint64_t s = 0; s < q->signals; s++) {
        pair *p = add_pair(f, q->element[s].name, q->rows);
        if (p == NULL) {
            return ds_no_memory(e);
        }
        for (uint64_t i = 0; i < q->rows; i++) {
            p->x[i] = time_of(q, i);
            p->recorded[i] = q->data.value[i * q->data.columns + s];
            p->simulated[i] = p->recorded[i] + q->last_r[i * q->width + s];
        }
    }
    return 0;
}

static const ds_snapshot_metric *find(const ds_snapshot *s, const char *name)
{
    for (uint64_t k = 0; k < s->metrics; k++) {
        if (strcmp(s->metric[k].name, name) == 0) {
            return &s->metric[k];
        }
    }
    return NULL;
}

/* Metrics NAME and recorded_NAME of an environment that reads the recording itself. */
static int add_metrics(figure *f, ds_error *e)
{
    ds_scene_source source = {.pool = f->q->pool};
    ds_snapshot *scene = NULL;
    ds_answer answer;
    int rc = ds_episode_scene(&source, f->q->last_x, ds_pool_noise_key(source.pool, 1, 0), DS_KEEP_METRICS,
                              &answer, &scene, e);
    for (uint64_t k = 0; rc == 0 && scene != NULL && k < scene->metrics && f->pairs < PAIRS; k++) {
        const ds_snapshot_metric *m = &scene->metric[k], *simulated;
        if (strncmp(m->name, prefix, strlen(prefix)) == 0 &&
            (simulated = find(scene, m->name + strlen(prefix))) != NULL) {
            pair *p = add_pair(f, simulated->name, scene->frames);
            rc = p == NULL ? ds_no_memory(e) : 0;
            for (uint64_t i = 0; rc == 0 && i < p->rows; i++) {
                p->x[i] = scene->dt > 0 ? scene->dt * (double)i : (double)i;
                p->recorded[i] = m->values[i];
                p->simulated[i] = simulated->values[i];
            }
        }
    }
    ds_snapshot_free(scene);
    source.pool = NULL; /* the pool goes on */
    ds_scene_source_close(&source);
    return rc;
}

static int add_residuals(figure *f, ds_error *e)
{
    const ds_identify_recording *q = f->q;
    const uint64_t rows = q->rows;
    f->columns = q->width <= DS_IDENTIFY_SIGNALS ? q->width : 1;
    f->x = calloc(rows * (1 + f->columns), sizeof *f->x);
    if (f->x == NULL) {
        return ds_no_memory(e);
    }
    f->residual = f->x + rows;
    for (uint64_t i = 0; i < rows; i++) {
        f->x[i] = time_of(q, i);
        for (uint64_t s = 0; s < f->columns; s++) {
            const double r = q->last_r[i * q->width + s];
            f->residual[s * rows + i] = fabs(r) > 0 ? r : (double)NAN;
        }
    }
    f->low = rows > 0 ? f->x[0] : 0;
    f->high = rows > 1 ? f->x[rows - 1] : f->low + 1;
    return 0;
}

static int make(figure *f, ds_identify_problem *p, size_t k, const ds_identify_result *v, ds_error *e)
{
    ds_identify_errors errors;
    f->q = &p->c->recording[p->recording[k]];
    int rc = ds_identify_errors_of(p, k, v->u, -1, &errors, e); /* leaves last_x and last_r */
    rc = rc != 0 ? rc : add_residuals(f, e);
    return rc != 0 ? rc : f->q->signals > 0 ? add_signals(f, e) : add_metrics(f, e);
}

static void clear(figure *f)
{
    for (size_t i = 0; i < f->pairs; i++) {
        free(f->pair[i].x);
    }
    free(f->x);
}

static void put_curve(ds_panel *panel, const double *x, const double *y, uint64_t rows, size_t colour,
                      const char *name, int style)
{
    panel->curve[panel->curves++] = (ds_panel_curve){.name = name,
                                                     .x = x,
                                                     .y = y,
                                                     .count = rows,
                                                     .color = ds_color_hex(colours[colour % 4], 1),
                                                     .style = style,
                                                     .size = style == DS_CURVE_DOTS ? 1.8 : 1.6};
}

/* Panel `number` of the figure: pairs, then residuals, four to a panel. 0 after the last one. */
static int fill_panel(const figure *f, size_t number, char names[][DS_IDENTIFY_NAME], ds_panel *panel)
{
    if (number < f->pairs) {
        const pair *p = &f->pair[number];
        *panel = (ds_panel){.label = p->name, .low = NAN, .high = NAN};
        put_curve(panel, p->x, p->recorded, p->rows, 1, "recorded", DS_CURVE_DOTS);
        put_curve(panel, p->x, p->simulated, p->rows, 0, "simulated", DS_CURVE_LINE);
        return 1;
    }
    const uint64_t first = (number - f->pairs) * DS_PANEL_CURVES;
    if (first >= f->columns) {
        return 0;
    }
    *panel = (ds_panel){.label = "residual", .low = NAN, .high = NAN};
    for (uint64_t s = first; s < f->columns && s < first + DS_PANEL_CURVES; s++) {
        ds_identify_column_name(f->q, s, names[s - first]);
        put_curve(panel, f->x, f->residual + s * f->q->rows, f->q->rows, s - first, names[s - first],
                  DS_CURVE_LINE);
    }
    return 1;
}

/* One file from panel `first` on; *next = the panel after its last one. */
static int draw(const figure *f, const char *path, size_t first, size_t *next, ds_error *e)
{
    char title[120], subtitle[160], names[DS_PANELS_MAX][DS_PANEL_CURVES][DS_IDENTIFY_NAME];
    ds_panels all = {.title = title,
                     .subtitle = subtitle,
                     .x_label = is_timed(f->q) ? "time, s" : "sample",
                     .x_low = f->low,
                     .x_high = f->high};
    snprintf(title, sizeof title, "Recording %s", f->q->name);
    if (f->q->fitted < f->q->rows) {
        snprintf(subtitle, sizeof subtitle, "fitted up to %s %.4g, the rest is only predicted",
                 is_timed(f->q) ? "t =" : "sample", f->x[f->q->fitted - 1]);
    } else {
        snprintf(subtitle, sizeof subtitle, "all samples are fitted");
    }
    for (*next = first; all.count < DS_PANELS_MAX; (*next)++) {
        if (!fill_panel(f, *next, names[all.count], &all.panel[all.count])) {
            break;
        }
        all.count++;
    }
    return ds_plot_panels(NULL, path, &all, e);
}

int ds_identify_figures(const ds_identify_report *r, ds_identify_problem *p, size_t k,
                        const ds_identify_result *v, FILE *f, ds_error *e)
{
    figure of = {.pairs = 0};
    char name[DS_MAX_NAME + 24], about[DS_MAX_NAME + 40];
    int rc = make(&of, p, k, v, e), number = 1;
    const size_t panels = of.pairs + (size_t)((of.columns + DS_PANEL_CURVES - 1) / DS_PANEL_CURVES);
    snprintf(about, sizeof about, "Fit and residuals of recording %s", p->c->recording[p->recording[k]].name);
    for (size_t at = 0; rc == 0 && at < panels; number++) {
        snprintf(name, sizeof name, number == 1 ? "fit-%s.svg" : "fit-%s-%d.svg", of.q->name, number);
        char *path = ds_folder_path(r->folder, name);
        rc = path == NULL ? ds_no_memory(e) : draw(&of, path, at, &at, e);
        if (rc == 0) {
            fputs("<figure><div class=o>", f);
            if (!ds_html_svg(f, path, about)) {
                ds_html_link(f, name, about);
            }
            fputs("</div><figcaption class=s>", f);
            ds_html_text(f, about);
            fputs("</figcaption></figure>\n", f);
        }
        free(path);
    }
    clear(&of);
    return rc;
}
