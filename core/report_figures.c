/* SPDX-License-Identifier: Apache-2.0 */
/* report_figures.c - bars, anytime curves, scores, profiles (see report_figures.h). */
#include "config.h"

#include "report_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot_groups.h"
#include "plot_lines.h"
#include "plot_scale.h"
#include "report_table.h"

enum { POINTS = 200, TAUS = 121 };

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

/* An optimizer has one colour in all figures: those of the paper have their own, others the next free one. */
static ds_color color_of(const ds_report *r, size_t k)
{
    static const struct {
        const char *name;
        uint32_t rgb;
    } known[] = {{"boleap", 0x0072b2}, {"cmaes", 0xe69f00}, {"randdescents", 0x009e73}, {"bo", 0xcc79a7},
                 {"rand", 0x888888},   {"ppo", 0x56b4e9},   {"sac", 0xd55e00}};
    static const uint32_t more[] = {0x7b3294, 0xb8a800, 0x8c510a, 0x01665e,
                                    0xc51b7d, 0x4d4d4d, 0x5e3c99, 0x1b7837};
    size_t others = 0;
    for (size_t j = 0; j <= k; j++) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i].name, r->opt[j].name) != 0) {
            i++;
        }
        if (i < sizeof known / sizeof *known) {
            if (j == k) {
                return ds_color_hex(known[i].rgb, 1);
            }
        } else {
            others++;
        }
    }
    return ds_color_hex(more[(others - 1) % (sizeof more / sizeof *more)], 1);
}

/* ---- bars and points ---- */

int ds_figure_bars(const ds_report *r, size_t env, const ds_figure *f, ds_error *e)
{
    ds_group *group = calloc(r->opts + 1, sizeof *group);
    ds_table *t = ds_table_new("optimizer,runs,mean,low90,high90,median,least,most");
    char title[160], subtitle[200];
    size_t n = 0;
    if (group == NULL || t == NULL) {
        free(group);
        ds_table_free(t);
        return no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, env, k);
        if (c->runs > 0) {
            group[n++] = (ds_group){r->opt[k].name,    color_of(r, k), c->mean, c->student90.low,
                                    c->student90.high, c->final,       c->runs};
            ds_table_text(t, r->opt[k].name);
            ds_table_count(t, c->runs);
            ds_table_reals(
                t, 6, (double[]){c->mean, c->student90.low, c->student90.high, c->median, c->least, c->most});
            ds_table_end(t);
        }
    }
    snprintf(title, sizeof title, "%.100s: best loss after the budget", r->env[env].name);
    if (r->env[env].budget > 0) {
        snprintf(subtitle, sizeof subtitle,
                 "mean of the runs, 90 %% interval (Student's t), every run as a dot; %llu evaluations",
                 (unsigned long long)r->env[env].budget);
    } else {
        snprintf(subtitle, sizeof subtitle,
                 "mean of the runs, 90 %% interval (Student's t), every run as a dot; budgets differ");
    }
    const ds_groups p = {title, subtitle, "best loss", 1, NAN, group, n};
    int rc = ds_plot_groups(f->png, f->svg, &p, e);
    rc = rc != 0 ? rc : ds_table_write(t, f->csv, e);
    ds_table_free(t);
    free(group);
    return rc;
}

int ds_figure_scores(const ds_report *r, const ds_figure *f, ds_error *e)
{
    ds_group *group = calloc(r->opts + 1, sizeof *group);
    ds_table *t = ds_table_new("optimizer,environments,score,low95,high95");
    if (group == NULL || t == NULL) {
        free(group);
        ds_table_free(t);
        return no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_opt *o = &r->opt[k];
        group[k] = (ds_group){o->name, color_of(r, k), o->score, o->score95.low, o->score95.high, NULL, 0};
        ds_table_text(t, o->name);
        ds_table_count(t, o->envs);
        ds_table_reals(t, 3, (double[]){o->score, o->score95.low, o->score95.high});
        ds_table_end(t);
    }
    const ds_groups p = {
        "Score over all environments",
        "interquartile mean, 95 % interval (stratified bootstrap); 0 = random search, 1 = best known loss",
        "score",
        0,
        0,
        group,
        r->opts};
    int rc = ds_plot_groups(f->png, f->svg, &p, e);
    rc = rc != 0 ? rc : ds_table_write(t, f->csv, e);
    ds_table_free(t);
    free(group);
    return rc;
}

/* ---- curves ---- */

/* Memory for `lines` curves of `points` points: x, y, low, high of each. */
typedef struct curves {
    ds_line *line;
    double *value;
    size_t lines, points;
} curves;

static int curves_make(curves *c, size_t lines, size_t points, ds_error *e)
{
    *c = (curves){calloc(lines + 1, sizeof(ds_line)), calloc(4 * lines * points + 1, sizeof(double)), 0,
                  points};
    if (c->line == NULL || c->value == NULL) {
        free(c->line);
        free(c->value);
        return no_memory(e);
    }
    return 0;
}

static double *curves_add(curves *c, const char *name, ds_color color, int band)
{
    double *x = c->value + 4 * c->lines * c->points;
    c->line[c->lines++] = (ds_line){.name = name,
                                    .color = color,
                                    .x = x,
                                    .y = x + c->points,
                                    .low = band ? x + 2 * c->points : NULL,
                                    .high = band ? x + 3 * c->points : NULL,
                                    .count = c->points};
    return x;
}

static int curves_write(const curves *c, ds_lines *p, const char *x_name, const ds_figure *f, ds_error *e)
{
    char header[200];
    snprintf(header, sizeof header, "optimizer,%s,value%s", x_name,
             c->lines > 0 && c->line[0].low != NULL ? ",low90,high90" : "");
    ds_table *t = ds_table_new(header);
    p->line = c->line;
    p->lines = c->lines;
    int rc = t == NULL ? no_memory(e) : ds_plot_lines(f->png, f->svg, p, e);
    for (size_t k = 0; rc == 0 && k < c->lines; k++) {
        const ds_line *l = &c->line[k];
        for (size_t i = 0; i < l->count; i++) {
            ds_table_text(t, l->name);
            ds_table_reals(t, 2, (double[]){l->x[i], l->y[i]});
            if (l->low != NULL) {
                ds_table_reals(t, 2, (double[]){l->low[i], l->high[i]});
            }
            ds_table_end(t);
        }
    }
    rc = rc != 0 ? rc : ds_table_write(t, f->csv, e);
    ds_table_free(t);
    free(c->line);
    free(c->value);
    return rc;
}

/* What a run has spent when it has made `id` evaluations, or all of them. */
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

int ds_figure_anytime(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e)
{
    static const char *const label[] = {"evaluations", "simulation steps, forward and backward",
                                        "seconds of evaluation"};
    static const char *const column[] = {"evaluations", "steps", "seconds"};
    double first = (double)INFINITY, last = 0;
    size_t most = 1;
    char title[160];
    curves c;
    int rc = curves_make(&c, r->opts, POINTS, e);
    if (rc != 0) {
        return rc;
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *cell = ds_report_at(r, env, k);
        most = cell->runs > most ? cell->runs : most;
        for (size_t j = 0; j < cell->runs; j++) {
            last = fmax(last, spent(&cell->run[j], SIZE_MAX, along));
            first = fmin(first,
                         cell->run[j].curve.count > 0 ? spent(&cell->run[j], 0, along) : (double)INFINITY);
        }
    }
    double *best = malloc(most * sizeof *best);
    first = first > 0 && first < last ? first : last / 1000;
    for (size_t k = 0; best != NULL && k < r->opts && last > 0; k++) {
        const ds_report_cell *cell = ds_report_at(r, env, k);
        double *x = cell->runs > 0 ? curves_add(&c, r->opt[k].name, color_of(r, k), 1) : NULL;
        size_t n = 0; /* whole numbers from 1 on are fewer than POINTS at the beginning */
        for (size_t i = 0; x != NULL && i < POINTS; i++) {
            x[n] = first * pow(last / first, (double)i / (POINTS - 1));
            x[n] = along == DS_ALONG_SECONDS ? x[n] : round(x[n]);
            if (n > 0 && x[n] <= x[n - 1]) {
                continue;
            }
            for (size_t j = 0; j < cell->runs; j++) {
                best[j] = best_at(&cell->run[j], x[n], along);
            }
            ds_interval t = ds_student_interval(best, cell->runs, 0.9);
            x[POINTS + n] = ds_sample_mean(best, cell->runs);
            x[2 * POINTS + n] = t.low;
            x[3 * POINTS + n] = t.high;
            n++;
        }
        if (x != NULL) {
            c.line[c.lines - 1].count = n;
        }
    }
    if (best == NULL) {
        free(c.line);
        free(c.value);
        return no_memory(e);
    }
    free(best);
    snprintf(title, sizeof title, "%.100s: best loss so far", r->env[env].name);
    ds_lines p = {title,        "mean of the runs, 90 % interval (Student's t)",
                  label[along], "best loss so far",
                  DS_SCALE_LOG, DS_SCALE_LOG,
                  NAN,          NAN,
                  NULL,         0};
    return curves_write(&c, &p, column[along], f, e);
}

int ds_figure_profile(const ds_report *r, const ds_figure *f, ds_error *e)
{
    ds_runs *task = calloc(r->envs + 1, sizeof *task);
    curves c;
    int rc = task == NULL ? no_memory(e) : curves_make(&c, r->opts, TAUS, e);
    if (rc != 0) {
        free(task);
        return rc;
    }
    for (size_t k = 0; k < r->opts; k++) {
        size_t n = 0;
        for (size_t i = 0; i < r->envs; i++) {
            if (ds_report_at(r, i, k)->runs > 0) {
                task[n++] = (ds_runs){ds_report_at(r, i, k)->score, ds_report_at(r, i, k)->runs};
            }
        }
        double *x = n > 0 ? curves_add(&c, r->opt[k].name, color_of(r, k), 0) : NULL;
        for (size_t i = 0; x != NULL && i < TAUS; i++) {
            x[i] = -0.2 + 0.01 * (double)i;
            x[TAUS + i] = ds_performance_profile(task, n, x[i]);
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
                  0};
    return curves_write(&c, &p, "tau", f, e);
}

/* ---- data profile ---- */

/* Evaluations per variable after which a run reached each target; INFINITY = never. */
static void hits_of(const ds_report *r, size_t env, const ds_report_run *run, double *hit)
{
    double target[DS_TARGETS];
    uint64_t at[DS_TARGETS];
    const ds_curve *c = &run->curve;
    ds_targets(r->env[env].random, r->env[env].best, target);
    ds_target_hits(c->id, c->loss, c->count, target, DS_TARGETS, at);
    for (int j = 0; j < DS_TARGETS; j++) {
        hit[j] = at[j] > 0 ? (double)at[j] / (double)run->result->n : (double)INFINITY;
    }
}

int ds_figure_targets(const ds_report *r, const ds_figure *f, ds_error *e)
{
    double *hit = NULL, longest = 0;
    curves c;
    size_t all = 0;
    unsigned char *reached = calloc(r->envs * DS_TARGETS + 1, 1);
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        all = r->cell[i].runs > all ? r->cell[i].runs : all;
        for (size_t j = 0; j < r->cell[i].runs; j++) {
            const ds_report_run *run = &r->cell[i].run[j];
            longest = fmax(longest, (double)run->curve.evaluations / (double)run->result->n);
        }
    }
    hit = malloc((all * r->envs * DS_TARGETS + DS_TARGETS) * sizeof *hit);
    int rc = reached == NULL || hit == NULL ? no_memory(e) : curves_make(&c, r->opts, POINTS, e);
    if (rc != 0) {
        free(reached);
        free(hit);
        return rc;
    }
    for (int pass = 0; pass < 2; pass++) { /* which targets anybody reached; then the shares */
        for (size_t k = 0; k < r->opts; k++) {
            size_t n = 0;
            for (size_t i = 0; i < r->envs; i++) {
                for (size_t j = 0; j < ds_report_at(r, i, k)->runs; j++) {
                    double one[DS_TARGETS];
                    hits_of(r, i, &ds_report_at(r, i, k)->run[j], one);
                    for (int t = 0; t < DS_TARGETS; t++) {
                        unsigned char *known = &reached[i * DS_TARGETS + (size_t)t];
                        *known |= isfinite(one[t]);
                        if (pass == 1 && *known) {
                            hit[n++] = one[t];
                        }
                    }
                }
            }
            double *x = pass == 1 && n > 0 ? curves_add(&c, r->opt[k].name, color_of(r, k), 0) : NULL;
            ds_sample_sort(hit, x != NULL ? n : 0);
            for (size_t i = 0, below = 0; x != NULL && i < POINTS; i++) {
                x[i] = longest * pow(10, -3 * (1 - (double)i / (POINTS - 1)));
                while (below < n && hit[below] <= x[i]) {
                    below++;
                }
                x[POINTS + i] = (double)below / (double)n;
            }
        }
    }
    free(reached);
    free(hit);
    ds_lines p = {"Data profile",
                  "share of (environment, target, run) reached; 51 targets from far above random search to "
                  "the best known loss",
                  "evaluations / number of variables",
                  "share reached",
                  DS_SCALE_LOG,
                  DS_SCALE_LINEAR,
                  0,
                  1,
                  NULL,
                  0};
    return curves_write(&c, &p, "evaluations_per_variable", f, e);
}

/* ---- tables ---- */

int ds_report_runs_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t = ds_table_new(
        "environment,optimizer,seed,variables,budget,evaluations,gradients,best_loss,score,cost_steps,"
        "evaluation_s,wall_s,ended,folder");
    if (t == NULL) {
        return no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        for (size_t j = 0; j < r->cell[i].runs; j++) {
            const ds_result *s = r->cell[i].run[j].result;
            ds_table_text(t, s->env);
            ds_table_text(t, s->opt);
            ds_table_count(t, s->seed);
            ds_table_count(t, s->n);
            ds_table_count(t, s->budget);
            ds_table_count(t, s->evaluations);
            ds_table_count(t, s->gradients);
            ds_table_reals(t, 2, (double[]){r->cell[i].final[j], r->cell[i].score[j]});
            ds_table_count(t, s->cost_steps);
            ds_table_reals(t, 2, (double[]){s->evaluation_s, s->wall_s});
            ds_table_text(t, s->ended != NULL ? s->ended : "");
            ds_table_text(t, s->folder);
            ds_table_end(t);
        }
    }
    int rc = ds_table_write(t, path, e);
    ds_table_free(t);
    return rc;
}

int ds_report_cells_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t = ds_table_new(
        "environment,optimizer,runs,mean,sd,median,q1,q3,least,most,t90_low,t90_high,t95_low,t95_high,"
        "bca95_low,bca95_high,area,evaluations,cost_steps,wall_s,u,a12,p,p_holm,exact");
    if (t == NULL) {
        return no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        const ds_report_cell *c = &r->cell[i];
        if (c->runs > 0) {
            ds_table_text(t, r->env[i / r->opts].name);
            ds_table_text(t, r->opt[i % r->opts].name);
            ds_table_count(t, c->runs);
            ds_table_reals(t, 21,
                           (double[]){c->mean,
                                      c->sd,
                                      c->median,
                                      c->q1,
                                      c->q3,
                                      c->least,
                                      c->most,
                                      c->student90.low,
                                      c->student90.high,
                                      c->student95.low,
                                      c->student95.high,
                                      c->bootstrap95.low,
                                      c->bootstrap95.high,
                                      c->area,
                                      c->evaluations,
                                      c->cost_steps,
                                      c->wall_s,
                                      c->test.u,
                                      c->test.a12,
                                      c->test.p,
                                      c->p_holm});
            ds_table_count(t, (uint64_t)c->test.exact);
            ds_table_end(t);
        }
    }
    int rc = ds_table_write(t, path, e);
    ds_table_free(t);
    return rc;
}
