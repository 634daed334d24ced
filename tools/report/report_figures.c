/* SPDX-License-Identifier: Apache-2.0 */
/* report_figures.c - bars, anytime curves, scores and profiles (see report.h). */
#include "config.h"

#include "plot/plot_axes.h"
#include "plot/plot_lines.h"
#include "report/report.h"
#include "results/csv.h"
#include "stats/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 200, TAUS = 121, STEPS_MAX = 1000, CURVE_RESAMPLES = 1000 };

/* An optimizer looks the same in all figures. Those of the paper have fixed colours, others take the next
 * free one; markers and dashes distinguish up to 21 without colour. */
typedef struct look {
    ds_color color;
    int dashed, marker;
} look;

static look look_of(const ds_report *r, size_t k)
{
    static const struct {
        const char *name;
        uint32_t rgb;
    } known[] = {{"boleap", 0x0072b2}, {"cmaes", 0xe69f00}, {"randdescents", 0x009e73}, {"bo", 0xcc79a7},
                 {"rand", 0x888888},   {"ppo", 0x56b4e9},   {"sac", 0xd55e00}};
    /* Far in CIELAB from those above and from each other. */
    static const uint32_t more[] = {0x2a1fd8, 0x3fbf00, 0xe000c8, 0x6b001c,
                                    0x111111, 0xff2a4d, 0xa080ff, 0x00c4c4};
    enum { KNOWN = sizeof known / sizeof *known, MORE = sizeof more / sizeof *more };
    const int marker = 1 + (int)(k % DS_MARKERS), dashed = (int)(k / DS_MARKERS % DS_LINE_STYLES);
    size_t others = 0;
    for (size_t j = 0; j <= k; j++) {
        size_t i = 0;
        while (i < KNOWN && strcmp(known[i].name, r->opt[j].name) != 0) {
            i++;
        }
        if (i < KNOWN && j == k) {
            return (look){ds_color_hex(known[i].rgb, 1), dashed, marker};
        }
        others += i == KNOWN;
    }
    others--;
    return (look){ds_color_hex(more[others % MORE], 1), dashed, marker};
}

/* The score of a method that ran on some environments only does not compare with the others. */
static void name_with_share(const ds_report *r, size_t k, char out[160])
{
    snprintf(out, 160, "%.100s", r->opt[k].name);
    if (r->opt[k].envs < r->envs) {
        size_t n = strlen(out);
        snprintf(out + n, 160 - n, " (%zu of %zu)", r->opt[k].envs, r->envs);
    }
}

/* Adds "37 of 100" evaluations, of the run that got least far, to the name if runs are unfinished. */
static void name_with_end(const ds_report *r, size_t env, size_t k, char out[160])
{
    const ds_report_cell *c = ds_report_at(r, env, k);
    const ds_result *least = c->run[0].result;
    snprintf(out, 160, "%.100s", r->opt[k].name);
    for (size_t j = 1; j < c->runs; j++) {
        least = c->run[j].result->evaluations < least->evaluations ? c->run[j].result : least;
    }
    if (c->unfinished) {
        size_t n = strlen(out);
        snprintf(out + n, 160 - n, " (%llu of %llu)", (unsigned long long)least->evaluations,
                 (unsigned long long)least->budget);
    }
}

/* ---- single values ---- */

/* Memory for a figure of all optimizers. */
typedef struct rows {
    ds_group *group;
    char (*name)[160];
    size_t *order;
    ds_table *table;
} rows;

static int rows_make(rows *a, const ds_report *r, const char *header, ds_error *e)
{
    *a = (rows){calloc(r->opts + 1, sizeof *a->group), calloc(r->opts + 1, sizeof *a->name),
                calloc(r->opts + 1, sizeof *a->order), ds_table_new(header)};
    if (a->group != NULL && a->name != NULL && a->order != NULL && a->table != NULL) {
        return 0;
    }
    free(a->group);
    free(a->name);
    free(a->order);
    ds_table_free(a->table);
    return ds_no_memory(e);
}

static int rows_write(rows *a, const ds_groups *p, const ds_figure *f, ds_error *e)
{
    int rc = ds_plot_groups(f->png, f->svg, p, e);
    free(a->group);
    free(a->name);
    free(a->order);
    return ds_table_close(a->table, f->csv, rc, e);
}

static void budget_text(const ds_report_env *env, char out[60])
{
    if (env->common > 0) {
        snprintf(out, 60, "after %llu evaluations, which all have made", (unsigned long long)env->common);
    } else if (env->budget > 0) {
        snprintf(out, 60, "%llu evaluations", (unsigned long long)env->budget);
    } else {
        snprintf(out, 60, "budgets differ");
    }
}

static int figure_bars(const ds_report *r, size_t env, const ds_figure *f, ds_error *e)
{
    char title[160], subtitle[200], budget[60];
    rows a;
    int rc = rows_make(&a, r, "optimizer,runs,mean,low90,high90,median,least,most", e);
    if (rc != 0) {
        return rc;
    }
    const size_t n = ds_report_order_on(r, env, a.order);
    for (size_t j = 0; j < n; j++) {
        const size_t k = a.order[j];
        const ds_report_cell *c = ds_report_at(r, env, k);
        const look l = look_of(r, k);
        name_with_end(r, env, k, a.name[j]);
        a.group[j] = (ds_group){a.name[j],     l.color,        l.marker, c->mean,
                                c->mean90.low, c->mean90.high, c->final, c->runs};
        ds_table_row(a.table, "tnrrrrrr", r->opt[k].name, (uint64_t)c->runs, c->mean, c->mean90.low,
                     c->mean90.high, c->median, c->least, c->most);
    }
    budget_text(&r->env[env], budget);
    snprintf(title, sizeof title, "%.100s: best loss after the budget", r->env[env].name);
    snprintf(subtitle, sizeof subtitle, "mean with its 90 %% interval (bootstrap), every run as a dot; %s",
             budget);
    const ds_groups p = {title, subtitle, "best loss", 1, NAN, a.group, n, f->paper};
    return rows_write(&a, &p, f, e);
}

static int figure_scores(const ds_report *r, const ds_figure *f, ds_error *e)
{
    rows a;
    int rc = rows_make(&a, r, "optimizer,environments,score,low95,high95", e);
    if (rc != 0) {
        return rc;
    }
    for (size_t j = 0; j < r->opts; j++) {
        const size_t k = r->order[j];
        const ds_report_opt *o = &r->opt[k];
        const look l = look_of(r, k);
        name_with_share(r, k, a.name[j]);
        a.group[j] =
            (ds_group){a.name[j], l.color, l.marker, o->score, o->score95.low, o->score95.high, NULL, 0};
        ds_table_row(a.table, "tnrrr", o->name, (uint64_t)o->envs, o->score, o->score95.low, o->score95.high);
    }
    char subtitle[200];
    snprintf(subtitle, sizeof subtitle, "interquartile mean, 95 %% interval; 0 = %s, 1 = best known loss",
             ds_report_zero_text(r));
    const ds_groups p = {"Score over all environments", subtitle, "score", 0, 0, a.group, r->opts, f->paper};
    return rows_write(&a, &p, f, e);
}

/* ---- what is known ---- */

static int has_curve(const ds_report *r, size_t env, size_t k)
{
    const ds_report_cell *c = ds_report_at(r, env, k);
    return c->runs > 0 && c->rows == 0;
}

int ds_figure_is_known(const ds_report *r, int kind, size_t env)
{
    int known = kind != DS_FIGURE_CURVES && kind != DS_FIGURE_TARGETS;
    for (size_t k = 0; k < r->opts; k++) {
        known |= kind == DS_FIGURE_CURVES ? has_curve(r, env, k) : r->opt[k].rows == 0;
    }
    return known;
}

/* Addition to a subtitle if there are runs of tables. */
static const char *without(size_t of_tables)
{
    return of_tables > 0 ? "; without optimizers with runs of tables" : "";
}

/* ---- curves ---- */

/* Columns of a curve: x, y, and with a band low and high; mean and interval for the table. */
enum { CURVE_X, CURVE_Y, CURVE_LOW, CURVE_HIGH, CURVE_MEAN, CURVE_MEAN_LOW, CURVE_MEAN_HIGH, CURVE_COLUMNS };

/* Memory for `lines` curves of `points` points. */
typedef struct curves {
    ds_line *line;
    const char **opt;  /* optimizer of each */
    char (*name)[160]; /* in the legend */
    double *value;
    size_t lines, points;
    int band;
} curves;

static void curves_free(curves *c)
{
    free(c->line);
    free(c->opt);
    free(c->name);
    free(c->value);
}

static int curves_make(curves *c, size_t lines, size_t points, int band, ds_error *e)
{
    *c = (curves){.points = points, .band = band};
    c->line = calloc(lines + 1, sizeof *c->line);
    c->opt = calloc(lines + 1, sizeof *c->opt);
    c->name = calloc(lines + 1, sizeof *c->name);
    c->value = calloc(CURVE_COLUMNS * lines * points + 1, sizeof *c->value);
    if (c->line == NULL || c->opt == NULL || c->name == NULL || c->value == NULL) {
        curves_free(c);
        return ds_no_memory(e);
    }
    return 0;
}

static double *column_of(const curves *c, size_t line, int column)
{
    return c->value + (CURVE_COLUMNS * line + (size_t)column) * c->points;
}

/* Adds a curve of optimizer k and returns its number. `share`: the name includes the number of environments.
 */
static size_t curves_add(curves *c, const ds_report *r, size_t k, int share)
{
    const size_t at = c->lines++;
    const look l = look_of(r, k);
    c->opt[at] = r->opt[k].name;
    snprintf(c->name[at], sizeof c->name[at], "%.100s", r->opt[k].name);
    if (share) {
        name_with_share(r, k, c->name[at]);
    }
    c->line[at] = (ds_line){.name = c->name[at],
                            .color = l.color,
                            .dashed = l.dashed,
                            .marker = l.marker,
                            .x = column_of(c, at, CURVE_X),
                            .y = column_of(c, at, CURVE_Y),
                            .low = c->band ? column_of(c, at, CURVE_LOW) : NULL,
                            .high = c->band ? column_of(c, at, CURVE_HIGH) : NULL,
                            .count = c->points};
    return at;
}

static int curves_write(curves *c, ds_lines *p, const char *x_name, const ds_figure *f, ds_error *e)
{
    char header[200];
    snprintf(header, sizeof header, "optimizer,%s,value%s", x_name,
             c->band ? ",low90,high90,median,q1,q3" : "");
    ds_table *t = ds_table_new(header);
    p->line = c->line;
    p->paper = f->paper;
    p->lines = c->lines;
    int rc = t == NULL ? ds_no_memory(e) : ds_plot_lines(f->png, f->svg, p, e);
    for (size_t k = 0; rc == 0 && k < c->lines; k++) {
        for (size_t i = 0; i < c->line[k].count; i++) {
            double v[CURVE_COLUMNS];
            for (int j = 0; j < CURVE_COLUMNS; j++) {
                v[j] = column_of(c, k, j)[i];
            }
            if (c->band) {
                ds_table_row(t, "trrrrrrr", c->opt[k], v[CURVE_X], v[CURVE_MEAN], v[CURVE_MEAN_LOW],
                             v[CURVE_MEAN_HIGH], v[CURVE_Y], v[CURVE_LOW], v[CURVE_HIGH]);
            } else {
                ds_table_row(t, "trr", c->opt[k], v[CURVE_X], v[CURVE_Y]);
            }
        }
    }
    curves_free(c);
    return ds_table_close(t, f->csv, rc, e);
}

/* Cost of a run up to evaluation `id`, or of all its evaluations. */
static double spent(const ds_report_run *run, size_t step, int along)
{
    const ds_curve *c = &run->curve;
    const int all = step >= c->count;
    switch (along) {
    case DS_ALONG_STEPS:
        return (double)(all ? c->all_cost_steps : c->cost_steps[step]);
    case DS_ALONG_SECONDS:
        return all ? c->all_wall : c->wall[step];
    default:
        return (double)(all ? c->evaluations : c->id[step]);
    }
}

static double best_at(const ds_report_run *run, double at, int along)
{
    double best = (double)INFINITY;
    for (size_t k = 0; k < run->curve.count && spent(run, k, along) <= at * (1 + 1e-12); k++) {
        best = run->curve.loss[k];
    }
    return best;
}

/* One point: order statistics for the figure, which remain meaningful on a logarithmic axis; mean and
 * interval for the table. Sorts `best`. */
static int fill_point(const curves *c, size_t line, size_t i, double *best, size_t runs)
{
    static const double level = 0.9;
    ds_interval mean;
    column_of(c, line, CURVE_MEAN)[i] = ds_sample_mean(best, runs);
    ds_sample_sort(best, runs);
    if (ds_mean_intervals(best, runs, 1, CURVE_RESAMPLES, &level, 1, &mean) != 0) {
        return -1;
    }
    column_of(c, line, CURVE_MEAN_LOW)[i] = mean.low;
    column_of(c, line, CURVE_MEAN_HIGH)[i] = mean.high;
    column_of(c, line, CURVE_Y)[i] = ds_sorted_quantile(best, runs, 0.5);
    column_of(c, line, CURVE_LOW)[i] = ds_sorted_quantile(best, runs, 0.25);
    column_of(c, line, CURVE_HIGH)[i] = ds_sorted_quantile(best, runs, 0.75);
    return 0;
}

/* The places at which any run of a cell has a step, and the end of the longest: each once, in order. Above
 * `room` places keeps those that are evenly spaced on a logarithmic axis. */
static size_t steps_of(const ds_report_cell *cell, int along, double *at, size_t room, double *end)
{
    size_t n = 0, kept = 0;
    *end = 0;
    for (size_t j = 0; j < cell->runs; j++) {
        for (size_t k = 0; k < cell->run[j].curve.count; k++) {
            at[n++] = spent(&cell->run[j], k, along);
        }
        *end = fmax(*end, spent(&cell->run[j], SIZE_MAX, along));
    }
    ds_sample_sort(at, n);
    const double ratio = n > room ? pow(at[n - 1] / fmax(at[0], 1e-300), 1 / (double)room) : 1;
    for (size_t i = 0; i < n && kept + 1 < room; i++) {
        if (kept == 0 || (at[i] > at[kept - 1] && at[i] >= ratio * at[kept - 1])) {
            at[kept++] = at[i];
        }
    }
    if (kept == 0 || *end > at[kept - 1]) {
        at[kept++] = *end;
    }
    return kept;
}

/* The curve of a cell up to the end of its longest run. `best` has room for all runs, `at` for all steps. */
static int fill_curve(curves *c, size_t line, const ds_report_cell *cell, int along, double *best, double *at)
{
    double end;
    const size_t n = steps_of(cell, along, at, c->points, &end);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < cell->runs; j++) {
            best[j] = best_at(&cell->run[j], at[i], along);
        }
        column_of(c, line, CURVE_X)[i] = at[i];
        if (fill_point(c, line, i, best, cell->runs) != 0) {
            return -1;
        }
    }
    c->line[line].count = n;
    return 0;
}

static int figure_anytime(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    static const char *const label[] = {"evaluations", "simulation steps, forward and backward",
                                        "seconds of evaluation"};
    static const char *const against[] = {"evaluations", "simulation steps", "seconds"};
    size_t most = 1, steps = 1;
    char title[160], subtitle[160];
    curves c;
    int rc = curves_make(&c, r->opts, STEPS_MAX, 1, e);
    if (rc != 0) {
        return rc;
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *cell = ds_report_at(r, env, k);
        size_t all = 1;
        for (size_t j = 0; j < cell->runs; j++) {
            all += cell->run[j].curve.count;
        }
        steps = all > steps ? all : steps;
        most = cell->runs > most ? cell->runs : most;
    }
    double *best = malloc((most + steps) * sizeof *best);
    if (best == NULL) {
        curves_free(&c);
        return ds_no_memory(e);
    }
    for (size_t j = 0; j < r->opts && rc == 0; j++) {
        const ds_report_cell *cell = ds_report_at(r, env, r->order[j]);
        if (has_curve(r, env, r->order[j])) {
            const size_t line = curves_add(&c, r, r->order[j], 0);
            name_with_end(r, env, r->order[j], c.name[line]);
            rc = fill_curve(&c, line, cell, along, best, best + most);
        }
    }
    free(best);
    if (rc != 0) {
        curves_free(&c);
        return ds_no_memory(e);
    }
    snprintf(title, sizeof title, "%.100s: best loss so far against %s", r->env[env].name, against[along]);
    snprintf(subtitle, sizeof subtitle, "median of the runs, band from the first to the third quartile%s",
             without(r->env[env].rows));
    ds_lines p = {
        title, subtitle, label[along], "best loss so far", DS_SCALE_LOG, DS_SCALE_LOG, NAN, NAN, NULL, 0,
        NULL,  1};
    return curves_write(&c, &p, ds_figure_alongs[along], f, e);
}

static int figure_profile(const ds_report *r, const ds_figure *f, ds_error *e)
{
    ds_runs *task = calloc(r->envs + 1, sizeof *task);
    curves c;
    int rc = task == NULL ? ds_no_memory(e) : curves_make(&c, r->opts, TAUS, 0, e);
    if (rc != 0) {
        free(task);
        return rc;
    }
    for (size_t j = 0; j < r->opts; j++) {
        const size_t k = r->order[j];
        size_t n = 0;
        for (size_t i = 0; i < r->envs; i++) {
            if (ds_report_at(r, i, k)->runs > 0) {
                task[n++] = (ds_runs){ds_report_at(r, i, k)->score, ds_report_at(r, i, k)->runs};
            }
        }
        const size_t line = curves_add(&c, r, k, 1);
        double *x = column_of(&c, line, CURVE_X), *y = column_of(&c, line, CURVE_Y);
        for (size_t i = 0; i < TAUS; i++) {
            x[i] = -0.2 + 0.01 * (double)i;
            y[i] = ds_performance_profile(task, n, x[i]);
        }
    }
    free(task);
    ds_lines p = {"Performance profile",
                  "share of runs with a score above tau, mean over environments",
                  "tau",
                  "share of runs",
                  DS_SCALE_LINEAR,
                  DS_SCALE_LINEAR,
                  0,
                  1,
                  NULL,
                  0,
                  NULL,
                  1};
    return curves_write(&c, &p, "tau", f, e);
}

/* ---- data profile ---- */

/* Cost per variable at which a run reached each target; INFINITY = never. A table row tells only whether. */
static void hits_of(const ds_report *r, size_t env, const ds_report_run *run, int along, double *hit)
{
    double target[DS_TARGETS];
    uint64_t at[DS_TARGETS];
    const ds_curve *c = &run->curve;
    ds_targets(r->env[env].random, r->env[env].best, target);
    for (size_t j = 0; run->result->table != NULL && j < DS_TARGETS; j++) {
        hit[j] = run->result->best_loss <= target[j] ? 0 : (double)INFINITY;
    }
    if (run->result->table != NULL) {
        return;
    }
    ds_target_hits(c->id, c->loss, c->count, target, DS_TARGETS, at);
    for (size_t j = 0, step = 0; j < DS_TARGETS; j++) {
        while (step < c->count && c->id[step] < at[j]) { /* targets fall, so hits do not fall */
            step++;
        }
        hit[j] = at[j] > 0 ? spent(run, step, along) / (double)run->result->n : (double)INFINITY;
    }
}

/* Share of sorted hits at or below x, for x up to the longest run. */
static void fill_shares(const curves *c, size_t line, const double *hit, size_t n, double longest)
{
    double *x = column_of(c, line, CURVE_X), *y = column_of(c, line, CURVE_Y);
    for (size_t i = 0, below = 0; i < POINTS; i++) {
        x[i] = longest * pow(10, -3 * (1 - (double)i / (POINTS - 1)));
        while (below < n && hit[below] <= x[i]) {
            below++;
        }
        y[i] = (double)below / (double)n;
    }
}

static int figure_targets(const ds_report *r, int along, const ds_figure *f, ds_error *e)
{
    static const char *const label[] = {"evaluations / number of variables",
                                        "simulation steps, forward and backward / number of variables",
                                        "seconds of evaluation / number of variables"};
    static const char *const title[] = {"Data profile against evaluations",
                                        "Data profile against simulation steps",
                                        "Data profile against seconds"};
    static const char *const column[] = {"evaluations_per_variable", "steps_per_variable",
                                         "seconds_per_variable"};
    double *hit = NULL, longest = 0;
    char subtitle[160];
    curves c;
    size_t all = 0, of_tables = 0;
    unsigned char *reached = calloc(r->envs * DS_TARGETS + 1, 1);
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        all = r->cell[i].runs > all ? r->cell[i].runs : all;
        for (size_t j = 0; r->opt[i % r->opts].rows == 0 && j < r->cell[i].runs; j++) {
            const ds_report_run *run = &r->cell[i].run[j];
            longest = fmax(longest, spent(run, SIZE_MAX, along) / (double)run->result->n);
        }
    }
    hit = malloc((all * r->envs * DS_TARGETS + DS_TARGETS) * sizeof *hit);
    int rc = reached == NULL || hit == NULL ? ds_no_memory(e) : curves_make(&c, r->opts, POINTS, 0, e);
    if (rc != 0) {
        free(reached);
        free(hit);
        return rc;
    }
    for (int pass = 0; pass < 2; pass++) { /* first the targets that any run reached, then the shares */
        for (size_t k = 0; k < r->opts; k++) {
            size_t n = 0;
            for (size_t i = 0; i < r->envs && (pass == 0 || r->opt[k].rows == 0); i++) {
                for (size_t j = 0; j < ds_report_at(r, i, k)->runs; j++) {
                    double one[DS_TARGETS];
                    hits_of(r, i, &ds_report_at(r, i, k)->run[j], along, one);
                    for (int t = 0; t < DS_TARGETS; t++) {
                        unsigned char *known = &reached[i * DS_TARGETS + (size_t)t];
                        *known |= isfinite(one[t]);
                        if (pass == 1 && *known) {
                            hit[n++] = one[t];
                        }
                    }
                }
            }
            if (pass == 1 && n > 0 && longest > 0) {
                ds_sample_sort(hit, n);
                fill_shares(&c, curves_add(&c, r, k, 1), hit, n, longest);
            }
        }
    }
    free(reached);
    free(hit);
    for (size_t k = 0; k < r->opts; k++) {
        of_tables += r->opt[k].rows;
    }
    snprintf(subtitle, sizeof subtitle,
             "share of (environment, target, run) reached; 51 targets as in COCO%s", without(of_tables));
    ds_lines p = {
        title[along], subtitle, label[along], "share reached", DS_SCALE_LOG, DS_SCALE_LINEAR, 0, 1, NULL, 0,
        NULL,         1};
    return curves_write(&c, &p, column[along], f, e);
}

const char *const ds_figure_kinds[DS_FIGURES] = {"bars", "curves", "scores", "profile", "targets"};
const char *const ds_figure_alongs[DS_ALONGS] = {"evaluations", "steps", "seconds"};

int ds_figure_draw(const ds_report *r, int kind, size_t env, int along, const ds_figure *f, ds_error *e)
{
    if (!ds_figure_is_known(r, kind, env)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s: every optimizer has runs of tables%s%.90s, which have no curves",
                       ds_figure_kinds[kind], kind == DS_FIGURE_CURVES ? " on " : "",
                       kind == DS_FIGURE_CURVES ? r->env[env].name : "");
    }
    switch (kind) {
    case DS_FIGURE_BARS:
        return figure_bars(r, env, f, e);
    case DS_FIGURE_CURVES:
        return figure_anytime(r, env, along, f, e);
    case DS_FIGURE_SCORES:
        return figure_scores(r, f, e);
    case DS_FIGURE_PROFILE:
        return figure_profile(r, f, e);
    default:
        return figure_targets(r, along, f, e);
    }
}
