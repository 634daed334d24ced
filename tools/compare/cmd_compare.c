/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_compare.c - `dshost compare`: which of two sets of runs is better, by how much, how sure. */
#include "config.h"

#include <diffsim/helper/random.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "config/expect.h"
#include "results/results.h"
#include "stats/aggregate.h"
#include "stats/hypothesis.h"
#include "results/run_table.h"

#define COMPARE_TOLERANCE 1e-9

/* The runs of one set on one environment. */
typedef struct side {
    double *value;  /* best losses, ordered by seed; +INFINITY = none */
    double *ranked; /* the same for the tests: equal within the tolerance */
    uint64_t *seed;
    size_t runs;     /* samples: runs that are the same search under several seeds count as one */
    size_t repeated; /* the remaining ones of those */
    double mean, median;
    ds_interval mean90;           /* ds_mean_intervals(); NaN for one run */
    uint64_t least, most;         /* evaluations of its runs */
    uint64_t budget, budget_most; /* least and most evaluations planned */
    double cost_steps;            /* simulation steps, mean of its runs */
} side;

typedef struct versus {
    const char *env;
    side a, b;
    ds_mann_whitney test;     /* a against b */
    ds_interval a12_95;       /* ds_probability_interval(); NaN where a set has one run */
    double p_holm;            /* test.p, adjusted over the environments */
    double least_p;           /* the smallest p_holm that these numbers of runs can reach */
    int paired;               /* both sets have the same seeds, each once */
    ds_wilcoxon pairs;        /* where they have */
    double difference;        /* mean of b - mean of a */
    ds_interval difference95; /* bootstrap of both sets, percentile; NaN where one of them has one run */
    int same_budget;          /* of all runs of both */
    int recommended;          /* under noise, values are the means of the recommended points */
    double tolerance;         /* losses at most this far apart are equal */
} versus;

typedef struct comparison {
    ds_run_results results[2];
    versus *item; /* environments that both sets have, by name */
    size_t count;
    size_t only[2];     /* environments that one of them has alone */
    size_t open[2];     /* unfinished or unreadable runs, left out */
    size_t damaged;     /* unreadable runs of both sets */
    double improvement; /* probability that a run of a ends below one of b, mean over environments */
    ds_interval improvement95;
    ds_stratified overall; /* test of the hypothesis that it is one half */
    size_t runs_needed;    /* per set and environment, for p_holm < 0.05 to be possible */
} comparison;

/* -1: nothing is shown; 0: too few runs to show anything; 1: a is better; 2: b is better. */
enum { VERSUS_OPEN = -1, VERSUS_TOO_FEW = 0, VERSUS_A = 1, VERSUS_B = 2 };

enum { RESAMPLES = 10000 };
static const double LEVEL = 0.05;
static const uint64_t SEED = 1;

static int exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

/* Splits FOLDER:OPT, if there is no such folder or file, at the last colon after an existing one. To be
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
    if (colon == NULL) { /* neither exists: the message names the part before the last colon */
        colon = last;
        *colon = '\0';
    }
    *opt = colon + 1;
    return path;
}

/* The optimizers of finished runs, without duplicates; to be freed. */
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

/* The first of `count` names that begins with NAME@, the name of a variant. */
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

/* Can `opt` be compared, or is there only one optimizer? */
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

/* Keeps the finished runs of one optimizer, and reports the first run that is left out. */
static int keep_set(const char *set, ds_run_results *r, size_t *open, ds_error *e)
{
    const char *opt;
    char *folder = split(set, &opt);
    int rc = folder == NULL ? ds_no_memory(e) : check_optimizer(set, folder, opt, r, e);
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        const ds_result *run = &r->item[i];
        if ((opt == NULL || strcmp(run->opt, opt) == 0) && !ds_result_is_finished(run)) {
            if ((*open)++ == 0 && !run->damaged) { /* has its own warning */
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

/* Names that tell different settings apart: folders first, since their settings are known. */
static int distinguish(comparison *c, int any_version, ds_error *e)
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

/* Reads both sets, with names that tell different settings apart. */
static int read_sets(const char *const set[2], int any_version, comparison *c, ds_error *e)
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
    rc = rc != 0 ? rc : distinguish(c, any_version, e);
    for (int k = 0; k < 2 && rc == 0; k++) {
        rc = keep_set(set[k], &c->results[k], &c->open[k], e);
        rc = rc != 0 ? rc : ds_run_table_settle(&c->results[k], e);
    }
    if (rc == 0) {
        ds_results_warn_mixed((ds_run_results *const[]){&c->results[0], &c->results[1]}, 2);
    }
    return rc;
}

static void clear_comparison(comparison *c)
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

typedef struct request {
    const char *set[2];
    int json, any_version;
    double tolerance;
} request;

/* ---- one environment ---- */

/* Does every run recommend a point, as under noise? */
static int all_recommend(const comparison *c, const char *env)
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
        ds_log(
            DS_LOG_WARNING, NULL,
            "%s is noisy, and %zu of %zu runs recommend no point: all are ranked by their lowest loss, which "
            "is the luckiest draw; run `dshost resume` on the finished runs to add a recommended point",
            env, runs - with, runs);
    }
    return with > 0 && with == runs;
}

static int fill_side(const ds_run_results *r, const char *env, int recommended, side *s, ds_error *e)
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
            /* in episodes: an evaluation may be the mean of several */
            const uint64_t budget = run->budget * ds_expect_episodes(&run->settings);
            s->budget = first || budget < s->budget ? budget : s->budget;
            s->budget_most = first || budget > s->budget_most ? budget : s->budget_most;
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

static double mean_of_resample(const side *s, ds_random *r)
{
    double sum = 0;
    for (size_t i = 0; i < s->runs; i++) {
        sum += s->value[ds_random_below(r, s->runs)];
    }
    return sum / (double)s->runs;
}

/* Expands levels as for the mean of the smaller set, which is less certain. */
static int differ(versus *v, ds_error *e)
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

/* The default tolerance, see compare_sets(). */
static int default_tolerance(const comparison *c, versus *v, ds_error *e)
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
                       ? fmax(COMPARE_TOLERANCE * fmax(0, from - lowest), inexact * fabs(lowest))
                       : 0;
    free(first);
    return 0;
}

/* Losses within the tolerance become equal. */
static int set_ranked(versus *v, ds_error *e)
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
        side *s = i < n ? &v->a : &v->b;
        const size_t k = i < n ? i : i - n;
        s->ranked[k] = ds_equal_value(value, groups, s->value[k]);
    }
    free(value);
    return 0;
}

static int test_env(const comparison *c, versus *v, double tolerance, ds_error *e)
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

static int verdict_of(const versus *v)
{
    return v->p_holm < LEVEL && v->test.a12 > 0.5   ? VERSUS_A
           : v->p_holm < LEVEL && v->test.a12 < 0.5 ? VERSUS_B
           : v->least_p < LEVEL                     ? VERSUS_OPEN
                                                    : VERSUS_TOO_FEW;
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

static int compare_all(comparison *c, double tolerance, ds_error *e)
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

/* Compares two sets. A set is a folder or a table (tables/run_table.h), or FOLDER:OPT or TABLE:OPT for one of
 * its optimizers. Environments with different settings in the two sets are different environments (see
 * ds_results_disambiguate(), also for any_version); the settings of a table's runs are unknown. tolerance
 * NaN: 1e-9 of the way from the median first loss of the runs (for tables alone, the higher median) to the
 * lowest one, and what an inexact environment declares. On failure there is nothing to clear. */
static int compare_sets(const char *const set[2], int any_version, double tolerance, comparison *out,
                        ds_error *e)
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
        clear_comparison(out);
    }
    return rc;
}

static const char usage[] =
    "usage: dshost compare A B [OPTIONS]\n\nCompares the final losses of two sets of finished runs, "
    "environment by environment and over all of them, and reports\nwhere there are too few runs to decide. A "
    "set is a folder with runs or a RUNS.csv of dshost report, or FOLDER:OPT or\nRUNS.csv:OPT for the runs "
    "of one optimizer in it:\n\n  dshost compare results/fig2:boleap results/fig2:cmaes\n\n  --any-version  "
    "do not separate runs on different versions of an environment, if the change does not affect them\n  "
    "--tolerance T  treat losses that differ by at most T as equal; default: 1e-9 of the way from the first "
    "losses to the\n                 lowest one, and what an inexact environment declares\n  --json         "
    "print one JSON object with all numbers\n";

static int take_tolerance(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    (void)name;
    return ds_tolerance_read(value, &q->tolerance, e);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"json", .set = &q->json},
                             {"any-version", .set = &q->any_version},
                             {"tolerance", .take = take_tolerance},
                             {"help", .usage = usage},
                             {0}};
    q->tolerance = NAN;
    int rc = ds_arguments_read(argc, argv, "compare", flags, -1, q, e);
    if (rc != 0) {
        return rc;
    }
    if (argc - optind < 2) {
        return ds_fail(e, DS_EXIT_USAGE, "compare: name two sets of runs: dshost compare DIR1 DIR2");
    }
    q->set[0] = argv[optind++];
    q->set[1] = argv[optind++];
    return ds_arguments_end(argc, argv, "compare", e);
}

/* ---- text ---- */

static void print_side(const char *name, const side *s)
{
    printf("  %s  %zu run%s", name, s->runs + s->repeated, s->runs + s->repeated == 1 ? "" : "s");
    if (s->repeated > 0) {
        printf(" (%zu different: the search is deterministic, and the others repeat it bit for bit; they "
               "count as one)",
               s->runs);
    }
    printf(", mean %.6g", s->mean);
    if (s->runs > 1) {
        printf(" (90 %%: %.6g to %.6g)", s->mean90.low, s->mean90.high);
    }
    printf(", median %.6g; %" PRIu64, s->median, s->least);
    if (s->most > s->least) {
        printf(" to %" PRIu64, s->most);
    }
    printf(" evaluations, %.6g simulation steps\n", s->cost_steps);
}

/* One budget, or the range of several. */
static void print_budget(char set, const side *s)
{
    printf(" %c %" PRIu64, set, s->budget);
    if (s->budget_most > s->budget) {
        printf(" to %" PRIu64, s->budget_most);
    }
}

static void print_verdict(const versus *v, size_t envs, size_t needed)
{
    static const char *const text[] = {"undecidable", "A is better", "B is better"};
    const int verdict = verdict_of(v);
    printf("\n  => %s", verdict == VERSUS_OPEN ? "no significant difference" : text[verdict]);
    if (verdict == VERSUS_TOO_FEW) {
        printf(": with %zu and %zu runs no p below %.2g is possible%s; it needs %zu runs of each", v->a.runs,
               v->b.runs, v->least_p, envs > 1 ? " after the correction" : "", needed);
    }
    printf("\n");
}

static void print_environment(const versus *v, size_t envs, size_t needed)
{
    printf("%s%s\n", v->env,
           v->recommended ? " (noisy: mean losses of the recommended points over fixed noise keys)" : "");
    print_side("A", &v->a);
    print_side("B", &v->b);
    if (isfinite(v->difference)) {
        printf("  B - A = %.6g", v->difference);
        if (isfinite(v->difference95.low)) {
            printf(" (95 %%: %.6g to %.6g)", v->difference95.low, v->difference95.high);
        }
        printf("\n");
    }
    printf("  a run of A ends below one of B with probability %.3f", v->test.a12);
    if (v->a.runs > 1 && v->b.runs > 1) {
        printf(" (95 %%: %.3f to %.3f)", v->a12_95.low, v->a12_95.high);
    }
    printf("; Mann-Whitney p = %.3g", v->test.p);
    if (envs > 1) {
        printf(", %.3g after Holm's correction", v->p_holm);
    }
    if (v->paired && !isnan(v->pairs.p)) {
        printf("; paired by seed (Wilcoxon) p = %.3g", v->pairs.p);
    }
    if (v->tolerance > 0) {
        printf("; losses that differ by at most %.2g are equal", v->tolerance);
    }
    if (!v->same_budget) {
        printf("\n  different budgets:");
        print_budget('A', &v->a);
        printf(",");
        print_budget('B', &v->b);
        printf(" episodes: more of them alone find lower losses");
    }
    print_verdict(v, envs, needed);
}

static void print_overall(const request *q, const comparison *c)
{
    printf("A = %s\nB = %s\n\n", q->set[0], q->set[1]);
    for (size_t i = 0; i < c->count; i++) {
        print_environment(&c->item[i], c->count, c->runs_needed);
    }
    if (c->count > 1) {
        size_t count[3] = {0, 0, 0};
        for (size_t i = 0; i < c->count; i++) {
            const int verdict = verdict_of(&c->item[i]);
            count[verdict != VERSUS_OPEN ? verdict : VERSUS_TOO_FEW] += verdict != VERSUS_OPEN;
        }
        printf("\nover %zu environments: A is significantly better on %zu, B on %zu; a run of A ends below "
               "one of B with probability %.3f",
               c->count, count[VERSUS_A], count[VERSUS_B], c->improvement);
        if (isfinite(c->improvement95.low)) {
            printf(" (95 %%: %.3f to %.3f)", c->improvement95.low, c->improvement95.high);
        }
        printf("; all environments in one test (van Elteren) p = %.3g\n", c->overall.p);
        if (count[VERSUS_TOO_FEW] > 0) {
            printf("on %zu of them the runs are too few for any verdict after Holm's correction: it needs "
                   "%zu runs of each set on each environment\n",
                   count[VERSUS_TOO_FEW], c->runs_needed);
        }
        printf("=> %s\n", !(c->overall.p < 0.05) ? c->overall.least_p < 0.05
                                                       ? "over all environments: no significant difference"
                                                       : "over all environments: too few runs to decide"
                          : c->overall.a12 > 0.5 ? "over all environments: A is better"
                                                 : "over all environments: B is better");
    }
    for (int k = 0; k < 2; k++) {
        if (c->only[k] > 0 || c->open[k] > 0) {
            printf("left out of %c: %zu environment%s that the other set lacks, %zu unfinished run%s\n",
                   'A' + k, c->only[k], c->only[k] == 1 ? "" : "s", c->open[k], c->open[k] == 1 ? "" : "s");
        }
    }
}

/* ---- JSON ---- */

static json_t *interval(ds_interval i)
{
    const double ends[2] = {i.low, i.high};
    return ds_json_reals(ends, 2);
}

static json_t *counts(uint64_t first, uint64_t second)
{
    return json_pack("[I, I]", (json_int_t)first, (json_int_t)second);
}

static json_t *side_json(const side *s)
{
    json_t *o = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "runs",
                          (json_int_t)(s->runs + s->repeated), "samples", (json_int_t)s->runs, "values",
                          ds_json_reals(s->value, s->runs), "mean", ds_json_real(s->mean), "mean90",
                          interval(s->mean90), "median", ds_json_real(s->median), "evaluations",
                          counts(s->least, s->most), "budget", counts(s->budget, s->budget_most),
                          "cost_steps", ds_json_real(s->cost_steps));
    return o;
}

static json_t *object(const request *q, const comparison *c)
{
    static const char *const verdict[] = {"none", "too few runs", "a", "b"};
    json_t *o = json_object(), *envs = json_array();
    json_object_set_new(o, "a", ds_json_text(q->set[0]));
    json_object_set_new(o, "b", ds_json_text(q->set[1]));
    for (size_t i = 0; i < c->count; i++) {
        const versus *v = &c->item[i];
        json_t *env =
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:b, s:o, s:b, s:o}",
                      "env", ds_json_text(v->env), "a", side_json(&v->a), "b", side_json(&v->b), "difference",
                      ds_json_real(v->difference), "difference95", interval(v->difference95), "u",
                      ds_json_real(v->test.u), "a12", ds_json_real(v->test.a12), "a12_95",
                      interval(v->a12_95), "p", ds_json_real(v->test.p), "exact", v->test.exact, "p_holm",
                      ds_json_real(v->p_holm), "least_p_holm", ds_json_real(v->least_p), "p_paired",
                      v->paired ? ds_json_real(v->pairs.p) : json_null(), "same_budget", v->same_budget,
                      "verdict", json_string(verdict[1 + verdict_of(v)]), "recommended", v->recommended,
                      "tolerance", ds_json_real(v->tolerance));
        json_array_append_new(envs, env);
    }
    json_object_set_new(o, "envs", envs);
    json_object_set_new(o, "improvement", ds_json_real(c->improvement));
    json_object_set_new(o, "improvement95", interval(c->improvement95));
    json_object_set_new(o, "p_overall", ds_json_real(c->overall.p));
    json_object_set_new(o, "least_p_overall", ds_json_real(c->overall.least_p));
    json_object_set_new(o, "runs_needed", json_integer((json_int_t)c->runs_needed));
    json_object_set_new(o, "only", counts(c->only[0], c->only[1]));
    json_object_set_new(o, "open", counts(c->open[0], c->open[1]));
    return o;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    comparison c;
    int rc = parse(argc, argv, &q, e);
    rc = rc != 0 ? rc : compare_sets(q.set, q.any_version, q.tolerance, &c, e);
    if (rc == 0) {
        if (q.json) {
            json_t *o = object(&q, &c);
            rc = ds_json_write(o, stdout, "standard output", e);
            json_decref(o);
        } else {
            print_overall(&q, &c);
        }
        rc = rc != 0 ? rc : ds_results_left_out(c.damaged, e);
        clear_comparison(&c);
    }
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
