/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - groups runs by environment and optimizer, and computes what a report says about
 * them (see report.h). */
#include "config.h"

#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

enum { SCORE_RESAMPLES = 50000 };
static const uint64_t SEED = 1; /* of the bootstrap: reports are reproducible */

const double ds_report_score[DS_REPORT_SCORES] = {0.5, 0.9, 0.99};

/* ---- grouping ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Distinct names of finished runs, sorted; to be freed. NULL without memory. */
static const char **names(const ds_results *all, int of_env, size_t *count)
{
    const char **name = calloc(all->count + 1, sizeof *name);
    size_t n = 0, runs = 0;
    for (size_t i = 0; name != NULL && i < all->count; i++) {
        if (ds_result_is_finished(&all->item[i])) {
            name[runs++] = of_env ? all->item[i].env : all->item[i].opt;
        }
    }
    if (name != NULL) {
        qsort(name, runs, sizeof *name, by_name);
        for (size_t i = 0; i < runs; i++) {
            if (n == 0 || strcmp(name[n - 1], name[i]) != 0) {
                name[n++] = name[i];
            }
        }
    }
    *count = n;
    return name;
}

static size_t index_of(const char *const *name, size_t count, const char *wanted)
{
    const char *const *at = bsearch(&wanted, name, count, sizeof *name, by_name);
    return at != NULL ? (size_t)(at - name) : count;
}

/* The curves of all finished runs. One whose store breaks off counts as failed, and the others go on. */
static ds_curve *read_curves(ds_results *all, ds_error *e)
{
    ds_curve *curve = calloc(all->count + 1, sizeof *curve);
    int rc = curve == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        ds_error why = {0, ""};
        if (ds_result_is_finished(&all->item[i]) &&
            ds_curve_read(all->item[i].folder, &curve[i], &why) != 0) {
            ds_log(DS_LOG_WARNING, NULL, "left out: %s", why.text);
            rc = why.status == DS_EXIT_MEMORY ? ds_no_memory(e)
                                              : ds_result_damaged(&all->item[i], why.text, e);
        }
    }
    if (rc == 0) {
        return curve;
    }
    for (size_t i = 0; curve != NULL && i < all->count; i++) {
        ds_curve_clear(&curve[i]);
    }
    free(curve);
    return NULL;
}

/* The cell owns the curve from here on. */
static int add_run(ds_report_cell *cell, const ds_result *result, ds_curve *curve, ds_error *e)
{
    ds_report_run *run = realloc(cell->run, (cell->runs + 1) * sizeof *run);
    if (run == NULL) {
        return ds_no_memory(e);
    }
    cell->run = run;
    run[cell->runs++] = (ds_report_run){result, *curve};
    memset(curve, 0, sizeof *curve);
    return 0;
}

static int group(ds_report *r, ds_error *e)
{
    ds_curve *curve = read_curves(&r->results, e);
    if (curve == NULL) {
        return e->status;
    }
    const char **env = names(&r->results, 1, &r->envs), **opt = names(&r->results, 0, &r->opts);
    int rc = 0;
    r->env = calloc(r->envs + 1, sizeof *r->env);
    r->opt = calloc(r->opts + 1, sizeof *r->opt);
    r->cell = calloc(r->envs * r->opts + 1, sizeof *r->cell);
    r->open = calloc(r->results.count + 1, sizeof *r->open);
    if (env == NULL || opt == NULL || r->env == NULL || r->opt == NULL || r->cell == NULL ||
        r->open == NULL) {
        rc = ds_no_memory(e);
    }
    for (size_t i = 0; rc == 0 && i < r->envs; i++) {
        r->env[i].name = env[i];
    }
    for (size_t i = 0; rc == 0 && i < r->opts; i++) {
        r->opt[i].name = opt[i];
    }
    for (size_t i = 0; rc == 0 && i < r->results.count; i++) {
        const ds_result *item = &r->results.item[i];
        if (ds_result_is_finished(item)) {
            size_t row = index_of(env, r->envs, item->env), column = index_of(opt, r->opts, item->opt);
            rc = add_run(&r->cell[row * r->opts + column], item, &curve[i], e);
        } else {
            r->open[r->open_count++] = item;
        }
    }
    if (rc == 0 && r->envs == 0) {
        rc = ds_fail(e, DS_EXIT_IO, "no run has finished; the first of %zu, %.200s: %.100s", r->open_count,
                     r->open[0]->folder, ds_result_open_reason(r->open[0]));
    }
    for (size_t i = 0; i < r->results.count; i++) {
        ds_curve_clear(&curve[i]);
    }
    free(curve);
    free(env);
    free(opt);
    return rc;
}

/* ---- one cell ---- */

static int describe(ds_report_cell *c, ds_error *e)
{
    c->mean = c->sd = c->median = c->q1 = c->q3 = c->least = c->most = c->rank = c->p_holm = NAN;
    c->area[0] = c->area[1] = NAN;
    c->evaluations = c->cost_steps = c->wall_s = NAN;
    c->student90 = c->student95 = c->bootstrap95 = (ds_interval){NAN, NAN};
    c->test = (ds_mann_whitney){NAN, NAN, NAN, 0};
    for (int t = 0; t < DS_REPORT_SCORES; t++) {
        c->expected[0][t] = c->expected[1][t] = NAN;
    }
    const size_t n = c->runs;
    if (n == 0) {
        return 0;
    }
    c->final = calloc(2 * n, sizeof *c->final);
    double *sorted = malloc((3 * n + DS_REPORT_RESAMPLES) * sizeof *sorted);
    if (c->final == NULL || sorted == NULL) {
        free(sorted);
        return ds_no_memory(e);
    }
    c->score = c->final + n;
    c->evaluations = c->cost_steps = c->wall_s = 0;
    for (size_t i = 0; i < n; i++) {
        const ds_curve *curve = &c->run[i].curve;
        c->final[i] = curve->count > 0 ? curve->loss[curve->count - 1] : (double)INFINITY;
        c->evaluations += (double)curve->evaluations / (double)n;
        c->cost_steps += (double)curve->all_cost_steps / (double)n;
        c->wall_s += c->run[i].result->wall_s / (double)n;
    }
    memcpy(sorted, c->final, n * sizeof *sorted);
    ds_sample_sort(sorted, n);
    c->mean = ds_sample_mean(c->final, n);
    c->sd = ds_sample_sd(c->final, n);
    c->median = ds_sorted_quantile(sorted, n, 0.5);
    c->q1 = ds_sorted_quantile(sorted, n, 0.25);
    c->q3 = ds_sorted_quantile(sorted, n, 0.75);
    c->least = sorted[0];
    c->most = sorted[n - 1];
    c->student90 = ds_student_interval(c->final, n, 0.9);
    c->student95 = ds_student_interval(c->final, n, 0.95);
    double *drawn = sorted + 3 * n;
    ds_bootstrap(c->final, n, ds_statistic_mean, SEED, sorted, drawn, DS_REPORT_RESAMPLES);
    c->bootstrap95 = n < 2 || isfinite(c->mean) ? ds_bca_interval(c->final, n, ds_statistic_mean, sorted,
                                                                  drawn, DS_REPORT_RESAMPLES, 0.95)
                                                : (ds_interval){c->mean, c->mean};
    free(sorted);
    return 0;
}

/* ---- one environment ---- */

static void set_scale(ds_report *r, size_t i)
{
    ds_report_env *env = &r->env[i];
    double worst_mean = -(double)INFINITY, worst = -(double)INFINITY, random = NAN;
    env->best = env->least_mean = (double)INFINITY;
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            const ds_result *result = c->run[j].result;
            if (c->final[j] < env->best) {
                env->best = c->final[j];
                env->best_run = result;
            }
            worst = isfinite(c->final[j]) ? fmax(worst, c->final[j]) : worst;
            env->n = result->n; /* the same for all: ds_results_disambiguate() */
            env->budget = j == 0 && env->budget == 0      ? result->budget
                          : env->budget == result->budget ? env->budget
                                                          : UINT64_MAX;
        }
        if (c->runs > 0 && isfinite(c->mean)) {
            worst_mean = fmax(worst_mean, c->mean);
            env->least_mean = fmin(env->least_mean, c->mean);
            random = strcmp(r->opt[k].name, "rand") == 0 ? c->mean : random;
        }
    }
    env->budget = env->budget == UINT64_MAX ? 0 : env->budget;
    env->zero = isfinite(random)       ? DS_ZERO_RANDOM
                : isfinite(worst_mean) ? DS_ZERO_WORST_MEAN
                                       : DS_ZERO_WORST_RUN;
    env->random = isfinite(random) ? random : isfinite(worst_mean) ? worst_mean : worst;
}

/* What a run had spent at each step of its curve, and in all: evaluations, or simulation steps. */
static const uint64_t *costs_of(const ds_curve *c, int steps, uint64_t *all)
{
    *all = steps ? c->all_cost_steps : c->evaluations;
    return steps ? c->cost_steps : c->id;
}

/* Running times of a cell to the scores. */
static int expect(ds_report_cell *c, const ds_report_env *env, int steps, ds_error *e)
{
    double target[DS_REPORT_SCORES];
    ds_hits *run = calloc(c->runs + 1, sizeof *run);
    uint64_t(*hit)[DS_REPORT_SCORES] = calloc(c->runs + 1, sizeof *hit);
    int rc = run == NULL || hit == NULL ? ds_no_memory(e) : 0;
    for (int t = 0; t < DS_REPORT_SCORES; t++) {
        target[t] = env->random - ds_report_score[t] * (env->random - env->best);
    }
    for (size_t j = 0; rc == 0 && j < c->runs; j++) {
        const ds_curve *curve = &c->run[j].curve;
        const uint64_t *cost = costs_of(curve, steps, &run[j].spent);
        ds_target_hits(cost, curve->loss, curve->count, target, DS_REPORT_SCORES, hit[j]);
        run[j].hit = hit[j];
    }
    for (size_t t = 0; rc == 0 && c->runs > 0 && t < DS_REPORT_SCORES; t++) {
        c->expected[steps][t] = ds_expected_running_time(run, c->runs, t);
    }
    free(run);
    free(hit);
    return rc;
}

/* Areas under the scores: up to the budget, or to the longest run (budgets that differ, simulation steps). */
static void measure_areas(ds_report *r, size_t i, int steps)
{
    const ds_report_env *env = &r->env[i];
    uint64_t all;
    double end = steps ? 0 : (double)env->budget;
    for (size_t k = 0; k < r->opts && (steps || env->budget == 0); k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            costs_of(&c->run[j].curve, steps, &all);
            end = fmax(end, (double)all);
        }
    }
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        for (size_t j = 0; j < c->runs; j++) {
            const ds_curve *curve = &c->run[j].curve;
            double area = ds_anytime_area(costs_of(curve, steps, &all), curve->loss, curve->count,
                                          fmax(1, end), env->random, env->best);
            c->area[steps] = (j == 0 ? 0 : c->area[steps]) + area / (double)c->runs;
        }
    }
}

static int score_runs(ds_report *r, size_t i, ds_error *e)
{
    const ds_report_env *env = &r->env[i];
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        for (size_t j = 0; j < c->runs; j++) {
            c->score[j] = ds_score(c->final[j], env->random, env->best);
        }
        for (int steps = 0; rc == 0 && steps < 2; steps++) {
            rc = expect(c, env, steps, e);
        }
    }
    measure_areas(r, i, 0);
    measure_areas(r, i, 1);
    return rc;
}

static int rank_means(ds_report *r, size_t i, ds_error *e)
{
    double *mean = calloc(2 * r->opts + 1, sizeof *mean), *rank = mean + r->opts;
    size_t n = 0;
    if (mean == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        if (ds_report_at(r, i, k)->runs > 0) {
            mean[n++] = ds_report_at(r, i, k)->mean;
        }
    }
    ds_ranks(mean, n, rank);
    n = 0;
    for (size_t k = 0; k < r->opts; k++) {
        if (ds_report_at(r, i, k)->runs > 0) {
            r->cell[i * r->opts + k].rank = rank[n++];
        }
    }
    free(mean);
    return 0;
}

int ds_report_verdict(const ds_report_cell *c)
{
    return !(c->p_holm < 0.05) ? 0 : (c->test.a12 > 0.5) - (c->test.a12 < 0.5);
}

static int compare_with_reference(ds_report *r, size_t i, ds_error *e)
{
    double *p = calloc(r->opts + 1, sizeof *p);
    size_t n = 0;
    const ds_report_cell *reference = ds_report_at(r, i, r->reference);
    if (p == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        if (k != r->reference && c->runs > 0 && reference->runs > 0) {
            c->test = ds_mann_whitney_test(c->final, c->runs, reference->final, reference->runs);
            p[n++] = c->test.p;
        }
    }
    ds_holm(p, n);
    n = 0;
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        if (k != r->reference && c->runs > 0 && reference->runs > 0) {
            c->p_holm = p[n++];
            r->opt[k].better += ds_report_verdict(c) > 0;
            r->opt[k].worse += ds_report_verdict(c) < 0;
        }
    }
    free(p);
    return 0;
}

/* ---- over environments ---- */

/* Scores (or losses, as pairs with the reference) of an optimizer, per environment. */
static size_t collect(const ds_report *r, size_t k, int pairs, ds_runs *own, ds_runs *other)
{
    size_t n = 0;
    for (size_t i = 0; i < r->envs; i++) {
        const ds_report_cell *c = ds_report_at(r, i, k), *b = ds_report_at(r, i, r->reference);
        if (c->runs > 0 && (!pairs || b->runs > 0)) {
            own[n] = (ds_runs){pairs ? c->final : c->score, c->runs};
            other[n++] = (ds_runs){b->final, b->runs};
        }
    }
    return n;
}

static int score_optimizers(ds_report *r, ds_error *e)
{
    ds_runs *own = calloc(2 * r->envs + 1, sizeof *own), *other = own + r->envs;
    int failed = own == NULL;
    for (size_t k = 0; k < r->opts && !failed; k++) {
        ds_report_opt *o = &r->opt[k];
        o->score = NAN;
        o->score95 = (ds_interval){NAN, NAN};
        o->envs = collect(r, k, 0, own, other);
        if (o->envs > 0) {
            failed = ds_interquartile_mean(own, o->envs, SCORE_RESAMPLES, SEED, 0.95, &o->score, &o->score95);
        }
        for (size_t i = 0; i < r->envs; i++) {
            o->rank += ds_report_at(r, i, k)->runs > 0 ? ds_report_at(r, i, k)->rank / (double)o->envs : 0;
        }
    }
    free(own);
    return failed ? ds_no_memory(e) : 0;
}

static int improve_on_reference(ds_report *r, ds_error *e)
{
    ds_runs *own = calloc(2 * r->envs + 1, sizeof *own), *other = own + r->envs;
    int failed = own == NULL;
    for (size_t k = 0; k < r->opts && !failed; k++) {
        ds_report_opt *o = &r->opt[k];
        o->improvement = NAN;
        o->improvement95 = (ds_interval){NAN, NAN};
        size_t n = k != r->reference ? collect(r, k, 1, own, other) : 0;
        if (n > 0) {
            failed = ds_probability_of_improvement(own, other, n, DS_REPORT_RESAMPLES, SEED, 0.95,
                                                   &o->improvement, &o->improvement95);
        }
    }
    free(own);
    return failed ? ds_no_memory(e) : 0;
}

static int choose_reference(ds_report *r, const char *reference, ds_error *e)
{
    const char **name = calloc(r->opts, sizeof *name);
    if (name == NULL) {
        return ds_no_memory(e);
    }
    int rc = 0, found = 0;
    for (size_t k = 0; k < r->opts; k++) {
        name[k] = r->opt[k].name;
        if (strcmp(name[k], reference != NULL ? reference : "boleap") == 0) {
            r->reference = k;
            found = 1;
        }
    }
    if (reference != NULL && !found) {
        const char *near = ds_nearest(reference, name, r->opts);
        rc = ds_fail(e, DS_EXIT_USAGE, "--reference %.60s: there are no finished runs of it; %s %.60s",
                     reference, near != NULL ? "nearest is" : "there are some of",
                     near != NULL ? near : name[0]);
    }
    for (size_t k = 1; !found && k < r->opts;
         k++) { /* with one that did not run everywhere little is compared */
        const ds_report_opt *o = &r->opt[k], *so_far = &r->opt[r->reference];
        if (o->envs > so_far->envs || (o->envs == so_far->envs && o->score > so_far->score)) {
            r->reference = k;
        }
    }
    free(name);
    return rc;
}

int ds_report_make(const char *const *folders, size_t count, const char *reference, ds_report *out,
                   ds_error *e)
{
    memset(out, 0, sizeof *out);
    int rc = ds_results_read(folders, count, &out->results, e);
    if (rc != 0) {
        return rc;
    }
    rc = ds_results_disambiguate((ds_results *const[]){&out->results}, 1, e);
    rc = rc != 0 ? rc : group(out, e);
    for (size_t i = 0; rc == 0 && i < out->envs * out->opts; i++) {
        rc = describe(&out->cell[i], e);
    }
    for (size_t i = 0; rc == 0 && i < out->envs; i++) {
        set_scale(out, i);
        rc = score_runs(out, i, e);
        rc = rc != 0 ? rc : rank_means(out, i, e);
    }
    rc = rc != 0 ? rc : score_optimizers(out, e);
    rc = rc != 0 ? rc : choose_reference(out, reference, e);
    for (size_t i = 0; rc == 0 && i < out->envs; i++) {
        rc = compare_with_reference(out, i, e);
    }
    rc = rc != 0 ? rc : improve_on_reference(out, e);
    if (rc != 0) {
        ds_report_clear(out);
    }
    return rc;
}

void ds_report_clear(ds_report *r)
{
    for (size_t i = 0; r->cell != NULL && i < r->envs * r->opts; i++) {
        for (size_t j = 0; j < r->cell[i].runs; j++) {
            ds_curve_clear(&r->cell[i].run[j].curve);
        }
        free(r->cell[i].run);
        free(r->cell[i].final);
    }
    free(r->env);
    free(r->opt);
    free(r->cell);
    free(r->open);
    ds_results_clear(&r->results);
    memset(r, 0, sizeof *r);
}
