/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_report.c - results as text, JSON, CSV and figures. */
#include "config.h"

#include "base/json_text.h"
#include "base/log.h"
#include "config/settings.h"
#include "landscape/gradients.h"
#include "plot/plot_axes.h"
#include "plot/plot_lines.h"
#include "results/printer.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12, LINES = 200 };

/* Named numbers of a cell, in the order of the columns. */
typedef struct named {
    const char *name;
    size_t offset;
    int interval; /* a ds_stat with three columns */
} named;

#define STAT(name_, field)                                                                                   \
    {                                                                                                        \
        name_, offsetof(ds_cell, field), 1                                                                   \
    }
#define REAL(name_, field)                                                                                   \
    {                                                                                                        \
        name_, offsetof(ds_cell, field), 0                                                                   \
    }
static const named columns[] = {REAL("sigma", sigma),
                                REAL("gamma", gamma),
                                REAL("loss", loss),
                                STAT("smoothed", smoothed),
                                STAT("slope_reference", reference),
                                REAL("reference_error", reference_error),
                                STAT("slope_first", slope[DS_FIRST]),
                                STAT("slope_zeroth", slope[DS_ZEROTH]),
                                STAT("slope_alpha", slope[DS_ALPHA]),
                                STAT("variance_first", variance[0]),
                                STAT("variance_zeroth", variance[1]),
                                STAT("distance", distance),
                                STAT("eps", eps),
                                STAT("alpha", alpha),
                                REAL("uncertain", share[DS_ALPHA_UNCERTAIN]),
                                REAL("inside", share[DS_ALPHA_INSIDE]),
                                REAL("hit", share[DS_ALPHA_HIT]),
                                STAT("bias_first", bias[DS_FIRST]),
                                STAT("bias_zeroth", bias[DS_ZEROTH]),
                                STAT("bias_alpha", bias[DS_ALPHA]),
                                REAL("off_first", off[DS_FIRST]),
                                REAL("off_zeroth", off[DS_ZEROTH]),
                                REAL("off_alpha", off[DS_ALPHA]),
                                STAT("error_first", error[DS_FIRST]),
                                STAT("error_zeroth", error[DS_ZEROTH]),
                                STAT("error_alpha", error[DS_ALPHA]),
                                REAL("rare_beta", rare.beta),
                                REAL("rare_delta", rare.delta),
                                REAL("rare_radius", rare.radius),
                                REAL("rare_bound", rare.bound),
                                REAL("rare_variance", rare_variance),
                                REAL("failed", failed),
                                REAL("clamped", clamped)};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const double *field(const ds_cell *c, const named *n)
{
    return (const double *)((const char *)c + n->offset);
}

/* ---- JSON ---- */

static json_t *stat_json(const double *v)
{
    return ds_json_object((const ds_json_entry[]){{"mean", ds_json_real(v[0])},
                                                  {"low", ds_json_real(v[1])},
                                                  {"high", ds_json_real(v[2])},
                                                  {NULL, NULL}});
}

static json_t *vectors_json(const ds_gradients *g, const ds_cell *c)
{
    static const char *const names[] = {"first", "zeroth", "alpha", "reference"};
    json_t *o = json_object();
    for (uint64_t k = 0; k <= DS_ESTIMATES; k++) {
        json_object_set_new(o, names[k],
                            ds_json_object((const ds_json_entry[]){
                                {"mean", ds_json_reals(c->vector + 2 * k * g->n, g->n)},
                                {"half_width", ds_json_reals(c->vector + (2 * k + 1) * g->n, g->n)},
                                {NULL, NULL}}));
    }
    return o;
}

static const char *dim_name(const ds_dim *d, char out[DS_MAX_NAME + 8])
{
    snprintf(out, DS_MAX_NAME + 8, "%s%s", d->sweep != NULL && d->sweep->what == DS_SWEEP_ENV ? "env." : "",
             d->sweep != NULL ? d->sweep->key : "at");
    return out;
}

static json_t *cell_json(const ds_gradients *g, uint64_t k)
{
    const ds_cell *c = &g->cell[k];
    uint64_t at[DS_DIMS_MAX];
    json_t *o = json_object();
    ds_gradients_index(g, k, at);
    for (int d = 0; d < g->dims; d++) {
        char name[DS_MAX_NAME + 8];
        const ds_sweep *s = g->dim[d].sweep;
        double v = 0;
        json_t *value = s == NULL                                 ? ds_json_real(g->slice_at[at[d]])
                        : ds_parse_real(s->value[at[d]].text, &v) ? ds_json_real(v)
                                                                  : ds_json_text(s->value[at[d]].text);
        json_object_set_new(o, dim_name(&g->dim[d], name), value);
    }
    json_object_set_new(o, "samples", ds_json_whole(c->samples));
    for (int i = 0; i < COLUMNS; i++) {
        const double *v = field(c, &columns[i]);
        json_object_set_new(o, columns[i].name, columns[i].interval ? stat_json(v) : ds_json_real(*v));
    }
    json_object_set_new(o, "evaluations", ds_json_whole(c->evaluations));
    if (c->vector != NULL) {
        json_object_set_new(o, "gradient", vectors_json(g, c));
    }
    return o;
}

json_t *ds_gradients_summary(const ds_gradients *g)
{
    json_t *cells = json_array(), *settings = json_object();
    for (size_t i = 0; i < ds_params_count(g->wish.params); i++) {
        json_object_set_new(settings, ds_params_info(g->wish.params, i)->name,
                            ds_json_text(ds_params_value_text(g->wish.params, i)));
    }
    for (uint64_t k = 0; k < g->cells; k++) {
        json_array_append_new(cells, cell_json(g, k));
    }
    return ds_json_object(
        (const ds_json_entry[]){{"env", json_string(g->id)},
                                {"n", ds_json_whole(g->n)},
                                {"seed", ds_json_seed(g->run.seed)},
                                {"noise", json_string(g->actions ? "actions" : "variables")},
                                {"settings", settings},
                                {"evaluations", ds_json_whole(g->evaluations)},
                                {"failed", ds_json_whole(g->failed)},
                                {"cells", cells},
                                {NULL, NULL}});
}

/* ---- files ---- */

static void put_number(ds_printer *p, double v)
{
    if (isfinite(v)) {
        ds_print(p, ",%.17g", v);
    } else {
        ds_print(p, isinf(v) ? ",inf" : ",");
    }
}

/* Is this column a dimension, which comes first? */
static int is_dim(const ds_gradients *g, const named *column)
{
    int is = 0;
    for (int d = 0; d < g->dims; d++) {
        char name[DS_MAX_NAME + 8];
        is |= strcmp(dim_name(&g->dim[d], name), column->name) == 0;
    }
    return is;
}

static void put_header(const ds_gradients *g, ds_printer *p)
{
    for (int d = 0; d < g->dims; d++) {
        char name[DS_MAX_NAME + 8];
        ds_print(p, "%s,", dim_name(&g->dim[d], name));
    }
    ds_print(p, "n_samples");
    for (int i = 0; i < COLUMNS; i++) {
        const char *name = columns[i].name;
        if (!is_dim(g, &columns[i])) {
            ds_print(p, columns[i].interval ? ",%s,%s_low,%s_high" : ",%s", name, name, name);
        }
    }
    ds_print(p, ",evaluations\n");
}

static int write_csv(const ds_gradients *g, const char *path, ds_error *e)
{
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    if (rc != 0) {
        return rc;
    }
    put_header(g, p);
    for (uint64_t k = 0; k < g->cells; k++) {
        const ds_cell *c = &g->cell[k];
        uint64_t at[DS_DIMS_MAX];
        ds_gradients_index(g, k, at);
        for (int d = 0; d < g->dims; d++) {
            if (g->dim[d].sweep != NULL) {
                ds_print(p, "%s,", g->dim[d].sweep->value[at[d]].text);
            } else {
                ds_print(p, "%.17g,", g->slice_at[at[d]]);
            }
        }
        ds_print(p, "%llu", (unsigned long long)c->samples);
        for (int i = 0; i < COLUMNS; i++) {
            const double *v = field(c, &columns[i]);
            for (int m = is_dim(g, &columns[i]) ? 3 : 0; m < (columns[i].interval ? 3 : 1); m++) {
                put_number(p, v[m]);
            }
        }
        ds_print(p, ",%llu\n", (unsigned long long)c->evaluations);
    }
    return ds_printer_close(p, 0, e);
}

int ds_gradients_write(const ds_gradients *g, const json_t *summary, ds_error *e)
{
    char *csv = ds_folder_path(g->run.out, "estimates.csv"),
         *json = ds_folder_path(g->run.out, "summary.json");
    int rc = csv == NULL || json == NULL ? ds_no_memory(e) : write_csv(g, csv, e);
    rc = rc != 0 ? rc : ds_json_write_file(summary, json, e);
    free(csv);
    free(json);
    return rc;
}

/* ---- text ---- */

static void print_stat(const char *name, const ds_stat *s, const char *what)
{
    printf("%-10s %14.6g", name, s->mean);
    if (isfinite(s->low)) {
        printf("   %.6g .. %.6g", s->low, s->high);
    }
    printf("%s\n", what);
}

static void print_vectors(const ds_gradients *g, const ds_cell *c)
{
    const uint64_t n = g->n, shown = n < SHOWN ? n : SHOWN;
    printf("\nvariable      first +-              zeroth +-             alpha +-              long run +-\n");
    for (uint64_t i = 0; i < shown; i++) {
        printf("%8llu", (unsigned long long)i);
        for (uint64_t k = 0; k <= DS_ESTIMATES; k++) {
            printf("  %11.5g %8.2g", c->vector[2 * k * n + i], c->vector[(2 * k + 1) * n + i]);
        }
        printf("\n");
    }
    if (shown < n) {
        printf("%8s and %llu more; --json prints all\n", "...", (unsigned long long)(n - shown));
    }
}

static void print_cell(const ds_gradients *g)
{
    const ds_cell *c = &g->cell[0];
    const char *const along = g->wish.slice           ? "along the axis"
                              : g->n == 1             ? ""
                              : g->wish.reference > 0 ? "along the gradient of the long run"
                                                      : "along variable 0";
    printf("loss       %14.6g\n", c->loss);
    print_stat("smoothed", &c->smoothed, "");
    printf("\nslope      %s\n", along);
    for (int k = 0; k < DS_ESTIMATES; k++) {
        print_stat(ds_estimate_names[k], &c->slope[k], "");
    }
    if (g->wish.reference > 0) {
        print_stat("long run", &c->reference, "");
        printf("           whole gradient known to +- %.4g\n", c->reference_error);
        printf("\nerror      root mean square of |estimate - long run|, and its systematic part, the bias\n");
        for (int k = 0; k < DS_ESTIMATES; k++) {
            char bias[60];
            snprintf(bias, sizeof bias, "   bias %.4g", c->off[k]);
            print_stat(ds_estimate_names[k], &c->error[k], bias);
        }
    }
    printf("\nempirical variance of one sample\n");
    print_stat("first", &c->variance[0], "");
    print_stat("zeroth", &c->variance[1], "");
    if (isfinite(c->rare.delta)) {
        printf("rare       without the %.3g %% farthest samples the mean is off by %.4g, within %.4g: "
               "variance at least %.4g (it is %.4g)\n",
               100 * c->rare.beta, c->rare.delta, c->rare.radius, c->rare.bound, c->rare_variance);
    }
    printf("\nmixture    gamma %g\n", c->gamma);
    print_stat("B", &c->distance, "");
    print_stat("eps", &c->eps, "");
    print_stat("alpha", &c->alpha, "");
    printf("cases      uncertain %.0f %%, inside %.0f %%, hit %.0f %%\n", 100 * c->share[0],
           100 * c->share[1], 100 * c->share[2]);
    print_vectors(g, c);
}

static void print_table(const ds_gradients *g)
{
    for (int d = 0; d < g->dims; d++) {
        char name[DS_MAX_NAME + 8];
        printf("%-13s ", dim_name(&g->dim[d], name));
    }
    printf("   slope long run      first     zeroth      alpha   var first  var zeroth  alpha  error "
           "first     zeroth      alpha\n");
    for (uint64_t k = 0; k < g->cells && k < LINES; k++) {
        const ds_cell *c = &g->cell[k];
        uint64_t at[DS_DIMS_MAX];
        ds_gradients_index(g, k, at);
        for (int d = 0; d < g->dims; d++) {
            char number[40];
            snprintf(number, sizeof number, "%.6g", g->dim[d].sweep == NULL ? g->slice_at[at[d]] : 0);
            printf("%-13s ", g->dim[d].sweep != NULL ? g->dim[d].sweep->value[at[d]].text : number);
        }
        printf("%17.4g %10.4g %10.4g %10.4g  %10.4g  %10.4g %6.3f %12.4g %10.4g %10.4g\n", c->reference.mean,
               c->slope[0].mean, c->slope[1].mean, c->slope[2].mean, c->variance[0].mean, c->variance[1].mean,
               c->alpha.mean, c->error[0].mean, c->error[1].mean, c->error[2].mean);
    }
    if (g->cells > LINES) {
        printf("... and %llu more; --json prints all, --out writes them\n",
               (unsigned long long)(g->cells - LINES));
    }
}

void ds_gradients_print(const ds_gradients *g, int written)
{
    if (written) {
        printf("%s\n", g->run.out);
    }
    printf("env        %s, %llu variables, noise on %s\n", g->id, (unsigned long long)g->n,
           g->actions ? "the actions of its policy" : "the variables");
    printf("spent      %llu evaluations, %llu repeats; intervals of %g %%\n\n",
           (unsigned long long)g->evaluations, (unsigned long long)g->wish.repeats, 100 * g->wish.level);
    if (g->cells == 1) {
        print_cell(g);
    } else {
        print_table(g);
    }
}

/* ---- figures: curves over the slice, or over the first sweep ---- */

enum { CURVES = 4, GROUPS_MAX = 24 };

/* A figure: the numbers of a cell that it shows. */
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
     "root mean square",
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

/* The horizontal axis: the slice, else the first sweep. */
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

/* Number of the cell at point i of the horizontal axis in group `group`, and the name of the group. */
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
