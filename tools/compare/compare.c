/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - two sets of runs (see compare.h). */
#include "config.h"

#include "compare/compare.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/text.h"
#include "tables/run_table.h"

enum { RESAMPLES = 10000 };
static const double LEVEL = 0.05;
static const uint64_t SEED = 1;

static int exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

/* Splits FOLDER:OPT where there is no such folder or file, at the last colon behind one that there is. To be
 * freed; *opt points into it or is NULL. */
static char *split(const char *set, const char **opt)
{
    char *path = strdup(set), *last = path != NULL ? strrchr(path, ':') : NULL, *colon = last;
    *opt = NULL;
    if (colon == NULL || exists(set)) {
        return path;
    }
    for (*colon = '\0'; colon != NULL && !exists(path);) {
        char *before = strrchr(path, ':');
        *colon = ':';
        colon = before;
        if (colon != NULL) {
            *colon = '\0';
        }
    }
    if (colon == NULL) { /* neither is there: the message is about what is before the last one */
        colon = last;
        *colon = '\0';
    }
    *opt = colon + 1;
    return path;
}

/* The optimizers of finished runs, each once; to be freed. */
static const char **optimizers_of(const ds_run_results *r, size_t *count)
{
    const char **opt = calloc(r->count + 1, sizeof *opt);
    *count = 0;
    for (size_t i = 0; opt != NULL && i < r->count; i++) {
        size_t k = 0;
        while (k < *count && strcmp(opt[k], r->item[i].opt) != 0) {
            k++;
        }
        if (k == *count && ds_result_is_finished(&r->item[i])) {
            opt[(*count)++] = r->item[i].opt;
        }
    }
    return opt;
}

/* The first of `count` names that begins with NAME@: what it was kept apart as. */
static const char *kept_apart(const char *name, const char *const *known, size_t count)
{
    const size_t n = strlen(name);
    for (size_t k = 0; k < count; k++) {
        if (strncmp(known[k], name, n) == 0 && known[k][n] == '@') {
            return known[k];
        }
    }
    return NULL;
}

/* Is `opt` one that can be compared, or is there only one? */
static int check_optimizer(const char *set, const char *folder, const char *opt, const ds_run_results *r,
                           ds_error *e)
{
    size_t count = 0, at = 0;
    const char **known = optimizers_of(r, &count);
    int rc = 0;
    if (known == NULL) {
        return ds_no_memory(e);
    }
    while (opt != NULL && at < count && strcmp(known[at], opt) != 0) {
        at++;
    }
    if (count == 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%.200s holds no finished run; the first of %zu, %.200s: %.100s", folder,
                     r->count, ds_result_where(&r->item[0]), ds_result_open_reason(&r->item[0]));
    } else if (opt == NULL && count > 1) {
        rc = ds_fail(e, DS_EXIT_USAGE, "%.200s holds runs of %zu optimizers: choose one, say %.200s:%.90s",
                     set, count, set, known[0]);
    } else if (opt != NULL && at == count) {
        const char *near = kept_apart(opt, known, count);
        near = near != NULL ? near : ds_nearest(opt, known, count);
        rc = ds_fail(e, DS_EXIT_IO, "%.200s holds no finished run of %.60s%s%.90s", folder, opt,
                     near != NULL ? "; nearest is " : "", near != NULL ? near : "");
    }
    free(known);
    return rc;
}

/* Keeps the finished runs of the optimizer of a set, and says of the first of the others why it is none. */
static int keep_set(const char *set, ds_run_results *r, size_t *open, ds_error *e)
{
    const char *opt;
    char *folder = split(set, &opt);
    int rc = folder == NULL ? ds_no_memory(e) : check_optimizer(set, folder, opt, r, e);
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        const ds_result *run = &r->item[i];
        if ((opt == NULL || strcmp(run->opt, opt) == 0) && !ds_result_is_finished(run)) {
            if ((*open)++ == 0 && !run->damaged) { /* which has its own warning */
                ds_log(DS_LOG_WARNING, NULL, "left out: %s: %s", ds_result_where(run),
                       ds_result_open_reason(run));
            }
        }
    }
    if (rc == 0) {
        ds_results_keep_finished(r, opt);
    }
    free(folder);
    return rc;
}

static int read_set(const char *set, ds_run_results *out, ds_error *e)
{
    const char *opt;
    char *path = split(set, &opt);
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && ds_run_table_is(path)) {
        rc = ds_run_table_read(path, out, e);
        if (rc == 0 && out->count == 0) {
            rc = ds_fail(e, DS_EXIT_IO, "%.300s holds no run", path);
        }
    } else if (rc == 0) {
        rc = ds_results_read((const char *const[]){path}, 1, out, e);
    }
    free(path);
    return rc;
}

/* Names that tell apart what is different: in folders first, whose settings are known. */
static int tell_apart(ds_comparison *c, int any_version, ds_error *e)
{
    ds_run_results *folders[2];
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        if (c->results[k].count > 0 && c->results[k].item[0].table == NULL) {
            folders[n++] = &c->results[k];
        }
    }
    int rc = ds_results_disambiguate(folders, n, any_version, e);
    return rc != 0 || n == 2
               ? rc
               : ds_results_tell_apart((ds_run_results *const[]){&c->results[0], &c->results[1]}, 2,
                                       any_version, e);
}

/* Both sets, with names that tell apart what is different in them. */
static int read_sets(const char *const set[2], int any_version, ds_comparison *c, ds_error *e)
{
    int rc = 0;
    for (int k = 0; k < 2 && rc == 0; k++) {
        rc = read_set(set[k], &c->results[k], e);
    }
    const char *opt_a, *opt_b;
    char *folder_a = split(set[0], &opt_a), *folder_b = split(set[1], &opt_b);
    const int same = folder_a != NULL && folder_b != NULL && strcmp(folder_a, folder_b) == 0;
    c->damaged = c->results[0].damaged + (same ? 0 : c->results[1].damaged);
    free(folder_a);
    free(folder_b);
    rc = rc != 0 ? rc : tell_apart(c, any_version, e);
    for (int k = 0; k < 2 && rc == 0; k++) {
        rc = keep_set(set[k], &c->results[k], &c->open[k], e);
        rc = rc != 0 ? rc : ds_run_table_settle(&c->results[k], e);
    }
    if (rc == 0) {
        ds_results_warn_mixed((ds_run_results *const[]){&c->results[0], &c->results[1]}, 2);
    }
    return rc;
}

/* ---- one environment ---- */

/* Does every run recommend a point, as under noise? */
static int all_recommend(const ds_comparison *c, const char *env)
{
    size_t with = 0, runs = 0;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < c->results[k].count; i++) {
            const int own = strcmp(c->results[k].item[i].env, env) == 0;
            runs += (size_t)own;
            with += (size_t)(own && isfinite(c->results[k].item[i].recommended));
        }
    }
    if (with > 0 && with < runs) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s is noisy, and %zu of %zu runs recommend no point: all are ranked by their lowest loss, "
               "which is the "
               "luckiest draw; `dshost resume` of a finished run makes up for it",
               env, runs - with, runs);
    }
    return with > 0 && with == runs;
}

static int fill_side(const ds_run_results *r, const char *env, int recommended, ds_side *s, ds_error *e)
{
    s->value = calloc(2 * r->count + 1, sizeof *s->value);
    s->ranked = s->value + r->count;
    s->seed = calloc(r->count + 1, sizeof *s->seed);
    double *sorted = calloc(r->count + 1, sizeof *sorted);
    if (s->value == NULL || s->seed == NULL || sorted == NULL) {
        free(sorted);
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < r->count; i++) { /* results are sorted by environment, optimizer, seed */
        if (strcmp(r->item[i].env, env) == 0) {
            const ds_result *run = &r->item[i];
            const int first = s->runs == 0;
            s->least = first || run->evaluations < s->least ? run->evaluations : s->least;
            s->most = first || run->evaluations > s->most ? run->evaluations : s->most;
            s->budget = first || run->budget < s->budget ? run->budget : s->budget;
            s->budget_most = first || run->budget > s->budget_most ? run->budget : s->budget_most;
            int same = 0;
            for (size_t j = i; run->losses != 0 && !same && j-- > 0 && strcmp(r->item[j].env, env) == 0 &&
                               strcmp(r->item[j].opt, run->opt) == 0;) {
                same = ds_results_identical(&r->item[j], run);
            }
            if (same) {
                s->repeated++;
                continue;
            }
            s->cost_steps += (double)run->cost_steps;
            s->value[s->runs] = recommended ? run->recommended : run->best_loss;
            s->seed[s->runs++] = run->seed;
        }
    }
    s->cost_steps /= (double)s->runs;
    memcpy(sorted, s->value, s->runs * sizeof *sorted);
    ds_sample_sort(sorted, s->runs);
    s->mean = ds_sample_mean(s->value, s->runs);
    s->median = ds_sorted_quantile(sorted, s->runs, 0.5);
    free(sorted);
    return ds_mean_intervals(s->value, s->runs, SEED, RESAMPLES, (const double[]){0.9}, 1, &s->mean90) != 0
               ? ds_no_memory(e)
               : 0;
}

static double mean_of_resample(const ds_side *s, ds_random *r)
{
    double sum = 0;
    for (size_t i = 0; i < s->runs; i++) {
        sum += s->value[ds_random_below(r, s->runs)];
    }
    return sum / (double)s->runs;
}

/* Levels are expanded as for the mean of the smaller set, which is the less known one. */
static int differ(ds_versus *v, ds_error *e)
{
    const size_t runs = v->a.runs < v->b.runs ? v->a.runs : v->b.runs;
    double *drawn = malloc(RESAMPLES * sizeof *drawn);
    ds_random r = ds_random_open(SEED, "difference of means", 0);
    if (drawn == NULL) {
        return ds_no_memory(e);
    }
    v->difference = v->b.mean - v->a.mean;
    v->difference95 = (ds_interval){NAN, NAN};
    for (size_t k = 0; k < RESAMPLES; k++) {
        drawn[k] = mean_of_resample(&v->b, &r) - mean_of_resample(&v->a, &r);
    }
    if (isfinite(v->difference) && v->a.runs > 1 && v->b.runs > 1) {
        v->difference95 = ds_percentile_interval(drawn, RESAMPLES, ds_expanded_level(runs, 0.95));
    }
    free(drawn);
    return 0;
}

/* The default tolerance, see ds_compare(). */
static int default_tolerance(const ds_comparison *c, ds_versus *v, ds_error *e)
{
    double *first = malloc((c->results[0].count + c->results[1].count + 1) * sizeof *first);
    double lowest = (double)INFINITY, inexact = 0;
    size_t n = 0;
    if (first == NULL) {
        return ds_no_memory(e);
    }
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < c->results[k].count; i++) {
            const ds_result *run = &c->results[k].item[i];
            if (strcmp(run->env, v->env) == 0) {
                lowest = fmin(lowest, run->best_loss);
                inexact = fmax(inexact, run->inexact);
                first[n] = run->first_loss;
                n += isfinite(run->first_loss);
            }
        }
    }
    ds_sample_sort(first, n);
    const double from = n > 0 ? ds_sorted_quantile(first, n, 0.5) : fmax(v->a.median, v->b.median);
    v->tolerance = isfinite(from) && isfinite(lowest)
                       ? fmax(DS_COMPARE_TOLERANCE * fmax(0, from - lowest), inexact * fabs(lowest))
                       : 0;
    free(first);
    return 0;
}

/* Losses within the tolerance become equal. */
static int set_ranked(ds_versus *v, ds_error *e)
{
    const size_t n = v->a.runs, m = v->b.runs;
    double *value = malloc((n + m + 1) * sizeof *value);
    if (value == NULL) {
        return ds_no_memory(e);
    }
    memcpy(value, v->a.value, n * sizeof *value);
    memcpy(value + n, v->b.value, m * sizeof *value);
    const size_t groups = ds_equal_groups(value, n + m, v->tolerance);
    for (size_t i = 0; i < n + m; i++) {
        ds_side *s = i < n ? &v->a : &v->b;
        const size_t k = i < n ? i : i - n;
        s->ranked[k] = ds_equal_value(value, groups, s->value[k]);
    }
    free(value);
    return 0;
}

static int test_env(const ds_comparison *c, ds_versus *v, double tolerance, ds_error *e)
{
    v->recommended = all_recommend(c, v->env);
    int rc = fill_side(&c->results[0], v->env, v->recommended, &v->a, e);
    rc = rc != 0 ? rc : fill_side(&c->results[1], v->env, v->recommended, &v->b, e);
    rc = rc != 0 ? rc : differ(v, e);
    v->tolerance = tolerance;
    rc = rc == 0 && isnan(tolerance) ? default_tolerance(c, v, e) : rc;
    rc = rc != 0 ? rc : set_ranked(v, e);
    if (rc != 0) {
        return rc;
    }
    v->same_budget =
        v->a.budget == v->a.budget_most && v->b.budget == v->b.budget_most && v->a.budget == v->b.budget;
    v->test = ds_mann_whitney_test(v->a.ranked, v->a.runs, v->b.ranked, v->b.runs);
    v->paired = v->a.runs == v->b.runs && memcmp(v->a.seed, v->b.seed, v->a.runs * sizeof *v->a.seed) == 0;
    for (size_t i = 1; i < v->a.runs; i++) {
        v->paired = v->paired && v->a.seed[i] != v->a.seed[i - 1];
    }
    if (v->paired) {
        v->pairs = ds_wilcoxon_test(v->a.ranked, v->b.ranked, v->a.runs);
    }
    return 0;
}

int ds_versus_verdict(const ds_versus *v)
{
    return v->p_holm < LEVEL && v->test.a12 > 0.5   ? DS_VERSUS_A
           : v->p_holm < LEVEL && v->test.a12 < 0.5 ? DS_VERSUS_B
           : v->least_p < LEVEL                     ? DS_VERSUS_OPEN
                                                    : DS_VERSUS_TOO_FEW;
}

/* ---- all ---- */

static int has_env(const ds_run_results *r, const char *env)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->item[i].env, env) == 0) {
            return 1;
        }
    }
    return 0;
}

static int first_of_env(const ds_run_results *r, size_t i)
{
    return i == 0 || strcmp(r->item[i - 1].env, r->item[i].env) != 0;
}

static int compare_all(ds_comparison *c, double tolerance, ds_error *e)
{
    ds_runs *a = calloc(2 * c->count + 1, sizeof *a), *b = a + c->count;
    double *p = calloc(2 * c->count + 1, sizeof *p), *least = p + c->count;
    int rc = a == NULL || p == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0; rc == 0 && i < c->count; i++) {
        rc = test_env(c, &c->item[i], tolerance, e);
        a[i] = (ds_runs){c->item[i].a.ranked, c->item[i].a.runs};
        b[i] = (ds_runs){c->item[i].b.ranked, c->item[i].b.runs};
        p[i] = c->item[i].test.p;
        least[i] = ds_mann_whitney_least_p(c->item[i].a.runs, c->item[i].b.runs);
    }
    if (rc == 0) {
        ds_holm(p, c->count);
        ds_holm(least, c->count);
        for (size_t i = 0; i < c->count; i++) {
            c->item[i].p_holm = p[i];
            c->item[i].least_p = least[i];
            c->item[i].a12_95 =
                c->item[i].a.runs > 1 && c->item[i].b.runs > 1
                    ? ds_probability_interval(c->item[i].test.a12, c->item[i].a.runs, c->item[i].b.runs, 0.95)
                    : (ds_interval){NAN, NAN};
        }
        ds_probability_of_improvement(a, b, c->count, 0.95, &c->improvement, &c->improvement95);
        c->overall = ds_stratified_test(a, b, c->count);
        c->runs_needed = ds_runs_needed(c->count, LEVEL);
    }
    free(a);
    free(p);
    return rc;
}

int ds_compare(const char *const set[2], int any_version, double tolerance, ds_comparison *out, ds_error *e)
{
    memset(out, 0, sizeof *out);
    int rc = read_sets(set, any_version, out, e);
    const ds_run_results *a = &out->results[0], *b = &out->results[1];
    out->item = rc == 0 ? calloc(a->count + 1, sizeof *out->item) : NULL;
    if (rc == 0 && out->item == NULL) {
        rc = ds_no_memory(e);
    }
    for (size_t i = 0; rc == 0 && i < a->count; i++) {
        if (first_of_env(a, i) && has_env(b, a->item[i].env)) {
            out->item[out->count++].env = a->item[i].env;
        } else {
            out->only[0] += (size_t)first_of_env(a, i);
        }
    }
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        out->only[1] += first_of_env(b, i) && !has_env(a, b->item[i].env);
    }
    if (rc == 0 && out->count == 0) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "the sets have no environment in common: the first has %.90s, the second %.90s",
                     a->item[0].env, b->item[0].env);
    }
    rc = rc != 0 ? rc : compare_all(out, tolerance, e);
    if (rc != 0) {
        ds_comparison_clear(out);
    }
    return rc;
}

void ds_comparison_clear(ds_comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->item[i].a.value);
        free(c->item[i].a.seed);
        free(c->item[i].b.value);
        free(c->item[i].b.seed);
    }
    free(c->item);
    ds_results_clear(&c->results[0]);
    ds_results_clear(&c->results[1]);
    memset(c, 0, sizeof *c);
}
