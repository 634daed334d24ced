/* SPDX-License-Identifier: Apache-2.0 */
/* report_make.c - reads runs, groups them by environment and optimizer, and computes the statistics of a
 * report (see report.h). */
#include "config.h"

#include "base/log.h"
#include "base/text.h"
#include "report/report.h"
#include "results/run_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading runs of folders and tables ---- */

static int same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A table or folder that is named twice is read once. */
static int is_repeated(const ds_report_choice *from, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (same_file(from->source[i], from->source[k])) {
            return 1;
        }
    }
    return 0;
}

static int read_tables(const ds_report_choice *from, ds_run_results *tables, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->sources; i++) {
        if (ds_run_table_is(from->source[i]) && !is_repeated(from, i)) {
            rc = ds_run_table_read(from->source[i], tables, e);
        }
    }
    return rc;
}

static int read_folders(const ds_report_choice *from, ds_run_results *out, ds_error *e)
{
    const char **folder = calloc(from->sources + 1, sizeof *folder);
    size_t n = 0;
    if (folder == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < from->sources; i++) {
        if (!ds_run_table_is(from->source[i])) {
            folder[n++] = from->source[i];
        }
    }
    int rc = n > 0 ? ds_results_read(folder, n, out, e) : 0;
    free(folder);
    return rc;
}

static int read_all(const ds_report_choice *from, ds_run_results *out, ds_run_results *tables, ds_error *e)
{
    int rc = read_tables(from, tables, e); /* faster than folders */
    rc = rc != 0 ? rc : read_folders(from, out, e);
    if (rc == 0 && out->count + tables->count == 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%.300s%s holds no run", from->source[0],
                     from->sources > 1 ? ", ..." : "");
    }
    return rc == 0 && from->only != NULL
               ? ds_run_table_only((ds_run_results *const[]){out, tables}, 2, from->only, e)
               : rc;
}

static void tell_unchecked(const ds_run_results *r)
{
    const ds_result *first = NULL;
    const size_t count = ds_results_unchecked(r, &first);
    if (count > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%zu of %zu records have no checksums (store format 1, the first is %s): damage to their "
               "numbers would go unnoticed",
               count, ds_report_records(r), first->folder);
    }
}

size_t ds_report_records(const ds_run_results *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        count += r->item[i].table == NULL;
    }
    return count;
}

/* Reads all runs of the sources, each once, under distinct names, with warnings. After a failure nothing
 * needs to be cleared. */
static int report_read(const ds_report_choice *from, ds_run_results *out, ds_error *e)
{
    ds_run_results tables = {NULL, 0, 0};
    *out = (ds_run_results){NULL, 0, 0};
    int rc = read_all(from, out, &tables, e);
    if (rc == 0) {
        ds_results_take_unfinished(out);
        rc = ds_results_disambiguate((ds_run_results *const[]){out}, 1, from->any_version, e);
    }
    rc = rc != 0 ? rc : ds_run_table_join(out, &tables, from->any_version, e);
    if (rc == 0) {
        ds_results_warn_mixed((ds_run_results *const[]){out}, 1);
        tell_unchecked(out);
    }
    if (rc == 0 && from->pool != NULL) {
        rc = ds_results_pool(out, from->pool, e);
        /* Pooled environments with table rows may differ in more than the pooled key. */
        rc = rc != 0 ? rc : ds_results_tell_apart((ds_run_results *const[]){out}, 1, from->any_version, e);
    }
    rc = rc != 0 ? rc : ds_run_table_settle(out, e);
    rc = rc == 0 && from->pool != NULL ? ds_results_balance(out, from->pool, e) : rc;
    ds_results_clear(&tables);
    if (rc != 0) {
        ds_results_clear(out);
    }
    return rc;
}

const double ds_report_score[DS_REPORT_SCORES] = {0.5, 0.9, 0.99};
const char *const ds_report_references[] = {"boleap", "rand", "cmaes", NULL};

/* ---- grouping ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Distinct names of the runs that count, sorted; to be freed. NULL without memory. */
static const char **names(const ds_run_results *all, int of_env, size_t *count)
{
    const char **name = calloc(all->count + 1, sizeof *name);
    size_t n = 0, runs = 0;
    for (size_t i = 0; name != NULL && i < all->count; i++) {
        if (ds_result_counts(&all->item[i])) {
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

/* Sets what a summary would say, for an unfinished run. */
static void complete(ds_result *r, const ds_curve *c)
{
    r->evaluations = c->evaluations;
    r->best_id = c->count > 0 ? c->id[c->count - 1] : 0;
    r->best_loss = c->count > 0 ? c->loss[c->count - 1] : (double)INFINITY;
    r->cost_steps = c->all_cost_steps;
    r->evaluation_s = r->wall_s = c->all_wall;
}

/* The sums of a table row, as a curve without steps. */
static ds_curve sums_of(const ds_result *row)
{
    return (ds_curve){
        .evaluations = row->evaluations, .all_cost_steps = row->cost_steps, .all_wall = row->evaluation_s};
}

/* Reads the curves of all runs that count. A run with a broken store counts as failed; the others continue.
 */
static ds_curve *read_curves(ds_run_results *all, ds_error *e)
{
    ds_curve *curve = calloc(all->count + 1, sizeof *curve);
    int rc = curve == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        ds_error why = {0, ""};
        if (!ds_result_counts(&all->item[i])) {
            continue;
        }
        if (all->item[i].table != NULL) {
            curve[i] = sums_of(&all->item[i]);
        } else if (ds_curve_read(all->item[i].folder, &curve[i], &why) != 0) {
            ds_log(DS_LOG_WARNING, NULL, "left out: %s", why.text);
            rc = why.status == DS_EXIT_MEMORY ? ds_no_memory(e)
                                              : ds_result_damaged(&all->item[i], why.text, e);
            all->damaged++;
            all->item[i].partial = 0;
        } else if (all->item[i].partial) {
            complete(&all->item[i], &curve[i]);
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

/* The cell takes over the curve. */
static int add_run(ds_report *r, size_t env, size_t opt, const ds_result *result, ds_curve *curve,
                   ds_error *e)
{
    ds_report_cell *cell = &r->cell[env * r->opts + opt];
    const size_t row = result->table != NULL;
    ds_report_run *run = realloc(cell->run, (cell->runs + cell->repeated + 1) * sizeof *run);
    if (run == NULL) {
        return ds_no_memory(e);
    }
    cell->run = run;
    const ds_report_run added = {.result = result, .curve = *curve, .compared = *curve};
    size_t same = 0;
    while (same < cell->runs && !ds_results_identical(run[same].result, result)) {
        same++;
    }
    if (same < cell->runs) {
        run[cell->runs + cell->repeated++] = added;
    } else {
        memmove(run + cell->runs + 1, run + cell->runs, cell->repeated * sizeof *run);
        run[cell->runs++] = added;
    }
    cell->unfinished |= result->partial;
    cell->rows += row;
    r->env[env].rows += row;
    r->opt[opt].rows += row;
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
    r->order = calloc(r->opts + 1, sizeof *r->order);
    if (env == NULL || opt == NULL || r->env == NULL || r->opt == NULL || r->cell == NULL ||
        r->open == NULL || r->order == NULL) {
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
        if (ds_result_counts(item)) {
            size_t row = index_of(env, r->envs, item->env), column = index_of(opt, r->opts, item->opt);
            rc = add_run(r, row, column, item, &curve[i], e);
        } else {
            r->open[r->open_count++] = item;
        }
    }
    if (rc == 0 && r->envs == 0) {
        rc = ds_fail(e, DS_EXIT_IO, "no run counts; the first of %zu, %.200s: %.100s", r->open_count,
                     ds_result_where(r->open[0]), ds_result_open_reason(r->open[0]));
    }
    for (size_t i = 0; i < r->results.count; i++) {
        ds_curve_clear(&curve[i]);
    }
    free(curve);
    free(env);
    free(opt);
    return rc;
}

/* With unfinished runs on an environment, all are compared after the evaluations that all have made. */
static int find_common(ds_report *r, size_t i, ds_error *e)
{
    uint64_t least = UINT64_MAX;
    int open = 0;
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        open |= c->unfinished;
        for (size_t j = 0; j < c->runs + c->repeated; j++) {
            least = c->run[j].curve.evaluations < least ? c->run[j].curve.evaluations : least;
        }
    }
    r->env[i].common = open ? least : 0;
    int rc = 0;
    for (size_t k = 0; open && k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; rc == 0 && j < c->runs + c->repeated; j++) {
            rc = ds_curve_until(c->run[j].result->folder, &c->run[j].curve, least, &c->run[j].compared, e);
        }
    }
    return rc;
}

size_t ds_report_first(const ds_report_cell *c, size_t j)
{
    size_t k = 0;
    while (k + 1 < c->runs && !ds_results_identical(c->run[k].result, c->run[j].result)) {
        k++;
    }
    return k;
}

/* ---- one cell ---- */

/* Under noise the lowest loss is the luckiest draw. If all runs of an environment recommend a point, its mean
 * over fixed noise keys is used; scores before the end of a run are then unknown. */
static void note_recommended(ds_report *r, size_t i)
{
    size_t with = 0, runs = 0;
    const ds_result *without = NULL;
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            const int has = isfinite(c->run[j].result->recommended);
            with += (size_t)has;
            without = has ? without : c->run[j].result;
            runs++;
        }
    }
    if (with > 0 && with < runs) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s is noisy, and %zu of %zu runs recommend no point (the first is %s): all are ranked by "
               "their lowest loss, which is the luckiest draw; `dshost resume` of a finished run adds its "
               "recommendation",
               r->env[i].name, runs - with, runs, ds_result_where(without));
    }
    r->env[i].recommended = with > 0 && with == runs && r->env[i].common == 0;
}

static double best_of(const ds_report_run *run, int recommended)
{
    if (recommended) {
        return run->result->recommended;
    }
    const ds_curve *c = &run->compared;
    return run->result->table != NULL ? run->result->best_loss
           : c->count > 0             ? c->loss[c->count - 1]
                                      : (double)INFINITY;
}

static int describe(ds_report_cell *c, int recommended, unsigned skip, ds_error *e)
{
    static const double level[2] = {0.9, 0.95};
    ds_interval mean[2];
    c->mean = c->sd = c->median = c->q1 = c->q3 = c->least = c->most = c->rank = c->p_holm = c->least_p = NAN;
    c->p_alone = c->least_alone = NAN;
    c->area[0] = c->area[1] = NAN;
    c->evaluations = c->cost_steps = c->wall_s = NAN;
    c->mean90 = c->mean95 = (ds_interval){NAN, NAN};
    c->test = (ds_mann_whitney){NAN, NAN, NAN, 0};
    for (int t = 0; t < DS_REPORT_SCORES; t++) {
        c->expected[0][t] = c->expected[1][t] = NAN;
    }
    const size_t n = c->runs;
    if (n == 0) {
        return 0;
    }
    c->final = calloc(3 * n, sizeof *c->final);
    double *sorted = malloc(n * sizeof *sorted);
    if (c->final == NULL || sorted == NULL) {
        free(sorted);
        return ds_no_memory(e);
    }
    c->score = c->final + n;
    c->ranked = c->score + n;
    c->evaluations = c->cost_steps = c->wall_s = 0;
    for (size_t i = 0; i < n; i++) {
        const ds_curve *curve = &c->run[i].curve;
        c->final[i] = best_of(&c->run[i], recommended);
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
    free(sorted);
    if ((skip & DS_REPORT_NO_INTERVALS) != 0) {
        return 0;
    }
    if (ds_mean_intervals(c->final, n, DS_REPORT_SEED, DS_REPORT_RESAMPLES, level, 2, mean) != 0) {
        return ds_no_memory(e);
    }
    c->mean90 = mean[0];
    c->mean95 = mean[1];
    return 0;
}

/* ---- one environment ---- */

static void set_scale(ds_report *r, size_t i)
{
    ds_report_env *env = &r->env[i];
    double worst_mean = -(double)INFINITY, worst = -(double)INFINITY, random = NAN;
    double record = (double)INFINITY;
    env->best = env->least_mean = (double)INFINITY;
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            const ds_result *result = c->run[j].result;
            if (c->final[j] < env->best) {
                env->best = c->final[j];
                env->best_run = result;
            }
            if (result->table == NULL && c->final[j] < record) {
                record = c->final[j];
                env->best_record = result;
            }
            worst = isfinite(c->final[j]) ? fmax(worst, c->final[j]) : worst;
            env->least_n = env->most_n == 0 || result->n < env->least_n ? result->n : env->least_n;
            env->most_n = result->n > env->most_n ? result->n : env->most_n;
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

/* ---- which losses are equal ---- */

/* Distance between the loss of an ordinary point and the lowest loss. */
static double range_of(const ds_report *r, size_t i, ds_error *e)
{
    size_t runs = 0, firsts = 0;
    double random = NAN, highest = -(double)INFINITY;
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        runs += c->runs;
        highest = c->runs > 0 && isfinite(c->median) ? fmax(highest, c->median) : highest;
        random = c->runs > 0 && strcmp(r->opt[k].name, "rand") == 0 ? c->median : random;
    }
    double *first = malloc((runs + 1) * sizeof *first);
    if (first == NULL) {
        ds_no_memory(e);
        return NAN;
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            if (isfinite(c->run[j].result->first_loss)) {
                first[firsts++] = c->run[j].result->first_loss;
            }
        }
    }
    ds_sample_sort(first, firsts);
    const double from = isfinite(random) ? random
                        : firsts > 0     ? ds_sorted_quantile(first, firsts, 0.5)
                                         : highest;
    free(first);
    return isfinite(from) && isfinite(r->env[i].best) ? fmax(0, from - r->env[i].best) : 0;
}

/* Replaces equal losses of an environment by one value. */
static int set_ranked(ds_report *r, size_t i, double tolerance, ds_error *e)
{
    ds_report_env *env = &r->env[i];
    size_t n = 0;
    double inexact = 0;
    for (size_t k = 0; k < r->opts; k++) {
        n += ds_report_at(r, i, k)->runs;
        for (size_t j = 0; j < ds_report_at(r, i, k)->runs; j++) {
            inexact = fmax(inexact, ds_report_at(r, i, k)->run[j].result->inexact);
        }
    }
    double *value = malloc((n + 1) * sizeof *value);
    if (value == NULL) {
        return ds_no_memory(e);
    }
    n = 0;
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            value[n++] = c->final[j];
        }
    }
    env->range = isnan(tolerance) ? range_of(r, i, e) : 0;
    env->tolerance = isnan(tolerance) ? DS_REPORT_TOLERANCE * env->range : tolerance;
    if (isnan(tolerance) && inexact > 0 && isfinite(env->best)) {
        env->tolerance = fmax(env->tolerance, inexact * fabs(env->best));
    }
    const size_t groups = ds_equal_groups(value, n, env->tolerance);
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        for (size_t j = 0; j < c->runs; j++) {
            c->ranked[j] = ds_equal_value(value, groups, c->final[j]);
        }
    }
    free(value);
    return isnan(env->tolerance) ? e->status : 0;
}

/* Cost of a run at each step of its curve, and in total: evaluations or simulation steps. */
static const uint64_t *costs_of(const ds_curve *c, int steps, uint64_t *all)
{
    *all = steps ? c->all_cost_steps : c->evaluations;
    return steps ? c->cost_steps : c->id;
}

/* Running times of a cell until each score. */
static int expect(ds_report_cell *c, const ds_report_env *env, int steps, ds_error *e)
{
    double target[DS_REPORT_SCORES];
    ds_hits *run = calloc(c->runs + 1, sizeof *run);
    uint64_t(*hit)[DS_REPORT_SCORES] = calloc(c->runs + 1, sizeof *hit);
    int rc = run == NULL || hit == NULL ? ds_no_memory(e) : 0;
    uint64_t most = 0; /* 0 steps: no simulation counted any */
    for (int t = 0; t < DS_REPORT_SCORES; t++) {
        target[t] = env->random - ds_report_score[t] * (env->random - env->best);
    }
    for (size_t j = 0; rc == 0 && j < c->runs; j++) {
        const ds_curve *curve = &c->run[j].compared;
        const uint64_t *cost = costs_of(curve, steps, &run[j].spent);
        most = run[j].spent > most ? run[j].spent : most;
        ds_target_hits(cost, curve->loss, curve->count, target, DS_REPORT_SCORES, hit[j]);
        run[j].hit = hit[j];
    }
    for (size_t t = 0; rc == 0 && most > 0 && t < DS_REPORT_SCORES; t++) {
        c->expected[steps][t] = ds_expected_running_time(run, c->runs, t);
    }
    free(run);
    free(hit);
    return rc;
}

/* Areas under the scores up to the budget; for different budgets and for simulation steps up to the longest
 * run. */
static void measure_areas(ds_report *r, size_t i, int steps)
{
    const ds_report_env *env = &r->env[i];
    uint64_t all;
    double end = steps ? 0 : (double)(env->common > 0 ? env->common : env->budget);
    const int longest = !(end > 0);
    for (size_t k = 0; longest && k < r->opts; k++) {
        const ds_report_cell *c = ds_report_at(r, i, k);
        for (size_t j = 0; j < c->runs; j++) {
            costs_of(&c->run[j].compared, steps, &all);
            end = fmax(end, (double)all);
        }
    }
    if (steps && !(end > 0)) {
        return;
    }
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        for (size_t j = 0; c->rows == 0 && j < c->runs; j++) {
            const ds_curve *curve = &c->run[j].compared;
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
            c->score[j] = ds_normal_score(c->final[j], env->random, env->best);
        }
        for (int steps = 0; rc == 0 && c->rows == 0 && steps < 2; steps++) {
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
            mean[n++] = ds_report_mean(r, i, k);
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

static int is_tested(const ds_report *r, size_t i, size_t k)
{
    return k != r->reference && ds_report_at(r, i, k)->runs > 0 && ds_report_at(r, i, r->reference)->runs > 0;
}

static int compare_with_reference(ds_report *r, size_t i, ds_error *e)
{
    double *p = calloc(2 * r->opts + 1, sizeof *p), *least = p + r->opts;
    size_t n = 0;
    const ds_report_cell *reference = ds_report_at(r, i, r->reference);
    if (p == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        if (is_tested(r, i, k)) {
            c->test = ds_mann_whitney_test(c->ranked, c->runs, reference->ranked, reference->runs);
            least[n] = ds_mann_whitney_least_p(c->runs, reference->runs);
            p[n++] = c->test.p;
        }
    }
    r->env[i].tests = n;
    ds_holm(p, n);
    ds_holm(least, n);
    n = 0;
    for (size_t k = 0; k < r->opts; k++) {
        ds_report_cell *c = &r->cell[i * r->opts + k];
        if (is_tested(r, i, k)) {
            c->least_p = least[n];
            c->p_holm = p[n++];
            r->opt[k].better += ds_report_verdict(c) > 0;
            r->opt[k].worse += ds_report_verdict(c) < 0;
        }
    }
    free(p);
    return 0;
}

int ds_report_can_decide(const ds_report *r, size_t env, size_t *needed)
{
    int can = 0;
    for (size_t k = 0; k < r->opts; k++) {
        can |= is_tested(r, env, k) && ds_report_at(r, env, k)->least_p < 0.05;
    }
    *needed = r->env[env].tests > 0 ? ds_runs_needed(r->env[env].tests, 0.05) : 0;
    return can;
}

/* The first of the fixed list, else the first by name of those that ran on the most environments. */
static size_t default_reference(const ds_report *r)
{
    size_t best = 0;
    for (const char *const *name = ds_report_references; *name != NULL; name++) {
        for (size_t k = 0; k < r->opts; k++) {
            if (strcmp(r->opt[k].name, *name) == 0) {
                return k;
            }
        }
    }
    for (size_t k = 1; k < r->opts; k++) { /* a reference with few environments allows few comparisons */
        best = r->opt[k].envs > r->opt[best].envs ? k : best;
    }
    return best;
}

static int choose_reference(ds_report *r, const char *reference, ds_error *e)
{
    const char **name = calloc(r->opts, sizeof *name);
    if (name == NULL) {
        return ds_no_memory(e);
    }
    int rc = 0;
    size_t at = reference != NULL ? r->opts : default_reference(r);
    for (size_t k = 0; k < r->opts; k++) {
        name[k] = r->opt[k].name;
        at = reference != NULL && strcmp(name[k], reference) == 0 ? k : at;
    }
    if (at == r->opts) {
        const char *near = ds_nearest(reference, name, r->opts);
        rc = ds_fail(e, DS_EXIT_USAGE, "--reference %.60s: there are no runs of it; %s %.60s", reference,
                     near != NULL ? "nearest is" : "there are runs of", near != NULL ? near : name[0]);
    }
    r->reference = at < r->opts ? at : 0;
    free(name);
    return rc;
}

int ds_report_make(const ds_report_choice *choice, ds_report *out, ds_error *e)
{
    memset(out, 0, sizeof *out);
    int rc = report_read(choice, &out->results, e);
    if (rc != 0) {
        return rc;
    }
    rc = group(out, e);
    for (size_t i = 0; rc == 0 && i < out->envs; i++) {
        rc = find_common(out, i, e);
        note_recommended(out, i);
    }
    for (size_t i = 0; rc == 0 && i < out->envs * out->opts; i++) {
        rc = describe(&out->cell[i], out->env[i / out->opts].recommended, choice->skip, e);
    }
    for (size_t i = 0; rc == 0 && i < out->envs; i++) {
        set_scale(out, i);
        rc = set_ranked(out, i, choice->tolerance, e);
        rc = rc != 0 ? rc : score_runs(out, i, e);
        rc = rc != 0 ? rc : rank_means(out, i, e);
    }
    rc = rc != 0 ? rc : ds_report_score_all(out, choice->skip, e);
    rc = rc != 0 ? rc : choose_reference(out, choice->reference, e);
    for (size_t i = 0; rc == 0 && i < out->envs; i++) {
        rc = compare_with_reference(out, i, e);
    }
    rc = rc != 0 ? rc : ds_report_judge_all(out, choice->skip, e);
    if (rc != 0) {
        ds_report_clear(out);
    }
    return rc;
}

void ds_report_clear(ds_report *r)
{
    for (size_t i = 0; r->cell != NULL && i < r->envs * r->opts; i++) {
        for (size_t j = 0; j < r->cell[i].runs + r->cell[i].repeated; j++) {
            ds_curve_clear(&r->cell[i].run[j].curve);
            free(r->cell[i].run[j].metric);
        }
        free(r->cell[i].run);
        free(r->cell[i].final);
    }
    free(r->env);
    free(r->opt);
    free(r->cell);
    free(r->open);
    free(r->order);
    ds_results_clear(&r->results);
    memset(r, 0, sizeof *r);
}
