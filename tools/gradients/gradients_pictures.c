/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_pictures.c - estimates, variances, weights, errors and losses as curves over the slice, or over
 * the first sweep. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gradients/gradients_internal.h"
#include "plot/plot_lines.h"
#include "plot/plot_scale.h"
#include "store/run_folder.h"

enum { CURVES = 4, GROUPS_MAX = 24 };

/* A picture: which numbers of a cell it shows. */
typedef struct picture {
    const char *name, *title, *y_label;
    int scale;
    struct {
        const char *name;
        size_t offset;
        int interval; /* a ds_stat */
        uint32_t color;
        int style;
    } curve[CURVES];
} picture;

#define FIRST_COLOR 0xd55e00
#define ZEROTH_COLOR 0x0072b2
#define ALPHA_COLOR 0x009e73
#define TRUE_COLOR 0x222222
static const picture pictures[] = {
    {"estimates",
     "slope of the smoothed loss",
     "slope",
     DS_SCALE_LINEAR,
     {{"long run", offsetof(ds_cell, reference), 1, TRUE_COLOR, DS_LINE_DASHED},
      {"first order", offsetof(ds_cell, slope[DS_FIRST]), 1, FIRST_COLOR, DS_LINE_SOLID},
      {"zeroth order", offsetof(ds_cell, slope[DS_ZEROTH]), 1, ZEROTH_COLOR, DS_LINE_SOLID},
      {"alpha order", offsetof(ds_cell, slope[DS_ALPHA]), 1, ALPHA_COLOR, DS_LINE_SOLID}}},
    {"variance",
     "empirical variance of one sample",
     "variance",
     DS_SCALE_LOG,
     {{"first order", offsetof(ds_cell, variance[0]), 1, FIRST_COLOR, DS_LINE_SOLID},
      {"zeroth order", offsetof(ds_cell, variance[1]), 1, ZEROTH_COLOR, DS_LINE_SOLID},
      {"least by rare samples", offsetof(ds_cell, rare.bound), 0, TRUE_COLOR, DS_LINE_DOTTED}}},
    {"error",
     "error of the gradient",
     "root of the mean square",
     DS_SCALE_LOG,
     {{"first order", offsetof(ds_cell, error[DS_FIRST]), 1, FIRST_COLOR, DS_LINE_SOLID},
      {"zeroth order", offsetof(ds_cell, error[DS_ZEROTH]), 1, ZEROTH_COLOR, DS_LINE_SOLID},
      {"alpha order", offsetof(ds_cell, error[DS_ALPHA]), 1, ALPHA_COLOR, DS_LINE_SOLID}}},
    {"distance",
     "difference of the two orders, and the bound of the zeroth one's error",
     "length",
     DS_SCALE_LOG,
     {{"B", offsetof(ds_cell, distance), 1, TRUE_COLOR, DS_LINE_SOLID},
      {"eps", offsetof(ds_cell, eps), 1, ZEROTH_COLOR, DS_LINE_DASHED},
      {"gamma", offsetof(ds_cell, gamma), 0, ALPHA_COLOR, DS_LINE_DOTTED}}},
    {"alpha",
     "weight of the first order",
     "alpha",
     DS_SCALE_LINEAR,
     {{"alpha", offsetof(ds_cell, alpha), 1, ALPHA_COLOR, DS_LINE_SOLID}}},
    {"loss",
     "the loss, and what the noise makes of it",
     "loss",
     DS_SCALE_LINEAR,
     {{"f", offsetof(ds_cell, loss), 0, TRUE_COLOR, DS_LINE_SOLID},
      {"F", offsetof(ds_cell, smoothed), 1, ALPHA_COLOR, DS_LINE_SOLID}}}};

/* The direction that is the horizontal axis: the slice, else the first sweep that the user gave. */
static int horizontal(const ds_gradients *g)
{
    for (int d = 0; d < g->dims; d++) {
        if (g->dim[d].sweep == NULL) {
            return d;
        }
    }
    for (int d = 0; d < g->dims; d++) {
        if (g->dim[d].sweep == &g->wish.sweep[0]) {
            return d;
        }
    }
    return 0;
}

/* Cell number of point i on the horizontal axis, of group `group`, and what the group is in words. */
static uint64_t cell_of(const ds_gradients *g, int axis, uint64_t group, uint64_t i, char *words, size_t room)
{
    uint64_t at[DS_DIMS_MAX], k = 0;
    words[0] = '\0';
    for (int d = g->dims - 1; d >= 0; d--) {
        at[d] = d == axis ? i : group % g->dim[d].count;
        group = d == axis ? group : group / g->dim[d].count;
    }
    for (int d = 0; d < g->dims; d++) {
        k = k * g->dim[d].count + at[d];
        if (d != axis) {
            size_t used = strlen(words);
            snprintf(words + used, room - used, "%s%s %s", used > 0 ? ", " : "", g->dim[d].sweep->key,
                     g->dim[d].sweep->value[at[d]].text);
        }
    }
    return k;
}

static int draw_one(const ds_gradients *g, const picture *p, int axis, uint64_t group, double *room,
                    ds_error *e)
{
    const ds_dim *dim = &g->dim[axis];
    const uint64_t count = dim->count, groups = g->cells / count;
    double *x = room;
    char words[200], title[120], name[80], subtitle[360], label[DS_SLICE_LABEL];
    ds_line line[CURVES];
    size_t lines = 0;
    for (int c = 0; c < CURVES && p->curve[c].name != NULL; c++) {
        double *y = room + (1 + 3 * (uint64_t)c) * count, *low = y + count, *high = low + count;
        int any = 0;
        for (uint64_t i = 0; i < count; i++) {
            const ds_cell *cell = &g->cell[cell_of(g, axis, group, i, words, sizeof words)];
            const double *v = (const double *)((const char *)cell + p->curve[c].offset);
            x[i] = dim->sweep != NULL ? dim->sweep->value[i].number : g->slice_at[i];
            y[i] = v[0];
            low[i] = p->curve[c].interval && isfinite(v[1]) ? v[1] : v[0];
            high[i] = p->curve[c].interval && isfinite(v[2]) ? v[2] : v[0];
            any |= isfinite(v[0]) && (p->scale != DS_SCALE_LOG || v[0] > 0);
        }
        if (any) {
            line[lines++] = (ds_line){.name = p->curve[c].name,
                                      .color = ds_color_hex(p->curve[c].color, 1),
                                      .x = x,
                                      .y = y,
                                      .low = p->curve[c].interval ? low : NULL,
                                      .high = p->curve[c].interval ? high : NULL,
                                      .count = count,
                                      .dashed = p->curve[c].style};
        }
    }
    if (lines == 0) {
        return 0;
    }
    snprintf(title, sizeof title, "%s: %s", g->id, p->title);
    const ds_cell *first = &g->cell[cell_of(g, axis, group, 0, words, sizeof words)];
    snprintf(subtitle, sizeof subtitle, "%s%s%llu repeats; bands: %g %% intervals", words,
             words[0] != '\0' ? "; " : "", (unsigned long long)g->wish.repeats, 100 * g->wish.level);
    if (dim->sweep == NULL || dim->sweep->what != DS_SWEEP_SAMPLES) {
        size_t used = strlen(subtitle);
        snprintf(subtitle + used, sizeof subtitle - used, "; %llu samples",
                 (unsigned long long)first->samples);
    }
    snprintf(label, sizeof label, "%s", dim->sweep != NULL ? dim->sweep->key : g->label);
    const ds_lines lines_of = {.title = title,
                               .subtitle = subtitle,
                               .x_label = label,
                               .y_label = p->y_label,
                               .x_kind =
                                   dim->sweep != NULL && dim->sweep->log ? DS_SCALE_LOG : DS_SCALE_LINEAR,
                               .y_kind = p->scale,
                               .y_low = NAN,
                               .y_high = NAN,
                               .line = line,
                               .lines = lines};
    snprintf(name, sizeof name, groups > 1 ? "%s-%llu.png" : "%s.png", p->name,
             (unsigned long long)(group + 1));
    char *png = ds_folder_path(g->run.out, name);
    snprintf(name, sizeof name, groups > 1 ? "%s-%llu.svg" : "%s.svg", p->name,
             (unsigned long long)(group + 1));
    char *svg = ds_folder_path(g->run.out, name);
    int rc = png == NULL || svg == NULL ? ds_no_memory(e) : ds_plot_lines(png, svg, &lines_of, e);
    free(png);
    free(svg);
    return rc;
}

int ds_gradients_draw(const ds_gradients *g, ds_error *e)
{
    const int axis = horizontal(g);
    const uint64_t count = g->dim[axis].count, groups = g->cells / count;
    double *room = malloc((1 + 3 * CURVES) * count * sizeof *room);
    int rc = room == NULL ? ds_no_memory(e) : 0;
    if (groups > GROUPS_MAX) {
        ds_log(DS_LOG_WARNING, NULL, "%llu combinations of values: the first %d are drawn",
               (unsigned long long)groups, GROUPS_MAX);
    }
    for (uint64_t k = 0; k < groups && k < GROUPS_MAX && rc == 0 && count > 1; k++) {
        for (size_t p = 0; p < sizeof pictures / sizeof pictures[0] && rc == 0; p++) {
            rc = draw_one(g, &pictures[p], axis, k, room, e);
        }
    }
    free(room);
    return rc;
}
