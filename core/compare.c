/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - two sets of runs (see compare.h). */
#include "config.h"

#include "compare.h"

#include <diffsim/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RESAMPLES = 10000 };
static const uint64_t SEED = 1;

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

/* Splits FOLDER:OPT where there is no such folder. To be freed; *opt points into it or is NULL. */
static char *split(const char *set, const char **opt)
{
    struct stat s;
    char *folder = strdup(set), *colon = folder != NULL ? strrchr(folder, ':') : NULL;
    *opt = NULL;
    if (colon != NULL && stat(set, &s) != 0) {
        *colon = '\0';
        *opt = colon + 1;
    }
    return folder;
}

static int known_before(const ds_results *r, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(r->item[j].opt, r->item[i].opt) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Reads a set, keeps the finished runs of its optimizer. */
static int read_set(const char *set, ds_results *out, size_t *open, ds_error *e)
{
    const char *opt;
    char *folder = split(set, &opt);
    if (folder == NULL) {
        return no_memory(e);
    }
    int rc = ds_results_read((const char *const[]){folder}, 1, out, e);
    size_t kept = 0, optimizers = 0;
    for (size_t i = 0; rc == 0 && i < out->count; i++) {
        optimizers += !known_before(out, i);
    }
    if (rc == 0 && opt == NULL && optimizers > 1) {
        rc = ds_fail(e, DS_EXIT_USAGE, "%.200s holds runs of %zu optimizers: choose one, say %.200s:%.60s",
                     set, optimizers, set, out->item[0].opt);
        ds_results_clear(out);
    }
    for (size_t i = 0; rc == 0 && i < out->count; i++) {
        ds_result *r = &out->item[i];
        int wanted = opt == NULL || strcmp(r->opt, opt) == 0, done = r->error == NULL && ds_result_is_done(r);
        *open += wanted && !done;
        if (wanted && done) {
            ds_result swap = out->item[kept];
            out->item[kept++] = *r;
            *r = swap; /* freed below */
        }
    }
    if (rc == 0) {
        for (size_t i = kept; i < out->count; i++) {
            ds_result_clear(&out->item[i]);
        }
        out->count = kept;
        if (kept == 0) {
            rc = ds_fail(e, DS_EXIT_IO, "%.200s holds no finished run%s%.60s", folder,
                         opt != NULL ? " of " : "", opt != NULL ? opt : "");
            ds_results_clear(out);
        }
    }
    free(folder);
    return rc;
}

/* ---- one environment ---- */

static int fill_side(const ds_results *r, const char *env, ds_side *s, ds_error *e)
{
    s->value = calloc(r->count + 1, sizeof *s->value);
    s->seed = calloc(r->count + 1, sizeof *s->seed);
    double *sorted = calloc(r->count + 1, sizeof *sorted);
    if (s->value == NULL || s->seed == NULL || sorted == NULL) {
        free(sorted);
        return no_memory(e);
    }
    for (size_t i = 0; i < r->count; i++) { /* results are sorted by environment, optimizer, seed */
        if (strcmp(r->item[i].env, env) == 0) {
            s->value[s->runs] = r->item[i].best_loss;
            s->seed[s->runs++] = r->item[i].seed;
        }
    }
    memcpy(sorted, s->value, s->runs * sizeof *sorted);
    ds_sample_sort(sorted, s->runs);
    s->mean = ds_sample_mean(s->value, s->runs);
    s->median = ds_sorted_quantile(sorted, s->runs, 0.5);
    s->mean90 = ds_student_interval(s->value, s->runs, 0.9);
    free(sorted);
    return 0;
}

static double mean_of_resample(const ds_side *s, ds_random *r)
{
    double sum = 0;
    for (size_t i = 0; i < s->runs; i++) {
        sum += s->value[ds_random_below(r, s->runs)];
    }
    return sum / (double)s->runs;
}

static int differ(ds_versus *v, ds_error *e)
{
    double *drawn = malloc(RESAMPLES * sizeof *drawn);
    ds_random r = ds_random_open(SEED, "difference of means", 0);
    if (drawn == NULL) {
        return no_memory(e);
    }
    v->difference = v->b.mean - v->a.mean;
    v->difference95 = (ds_interval){NAN, NAN};
    for (size_t k = 0; k < RESAMPLES; k++) {
        drawn[k] = mean_of_resample(&v->b, &r) - mean_of_resample(&v->a, &r);
    }
    if (isfinite(v->difference)) {
        v->difference95 = ds_percentile_interval(drawn, RESAMPLES, 0.95);
    }
    free(drawn);
    return 0;
}

static int test_env(const ds_comparison *c, ds_versus *v, ds_error *e)
{
    int rc = fill_side(&c->results[0], v->env, &v->a, e);
    rc = rc != 0 ? rc : fill_side(&c->results[1], v->env, &v->b, e);
    rc = rc != 0 ? rc : differ(v, e);
    if (rc != 0) {
        return rc;
    }
    v->test = ds_mann_whitney_test(v->a.value, v->a.runs, v->b.value, v->b.runs);
    v->paired = v->a.runs == v->b.runs && memcmp(v->a.seed, v->b.seed, v->a.runs * sizeof *v->a.seed) == 0;
    for (size_t i = 1; i < v->a.runs; i++) {
        v->paired = v->paired && v->a.seed[i] != v->a.seed[i - 1];
    }
    if (v->paired) {
        v->pairs = ds_wilcoxon_test(v->a.value, v->b.value, v->a.runs);
    }
    return 0;
}

/* ---- all ---- */

static int has_env(const ds_results *r, const char *env)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->item[i].env, env) == 0) {
            return 1;
        }
    }
    return 0;
}

static int first_of_env(const ds_results *r, size_t i)
{
    return i == 0 || strcmp(r->item[i - 1].env, r->item[i].env) != 0;
}

static int compare_all(ds_comparison *c, ds_error *e)
{
    ds_runs *a = calloc(2 * c->count + 1, sizeof *a), *b = a + c->count;
    double *p = calloc(c->count + 1, sizeof *p);
    int rc = a == NULL || p == NULL ? no_memory(e) : 0;
    for (size_t i = 0; rc == 0 && i < c->count; i++) {
        rc = test_env(c, &c->item[i], e);
        a[i] = (ds_runs){c->item[i].a.value, c->item[i].a.runs};
        b[i] = (ds_runs){c->item[i].b.value, c->item[i].b.runs};
        p[i] = c->item[i].test.p;
    }
    if (rc == 0) {
        ds_holm(p, c->count);
        for (size_t i = 0; i < c->count; i++) {
            c->item[i].p_holm = p[i];
        }
        rc = ds_probability_of_improvement(a, b, c->count, RESAMPLES, SEED, 0.95, &c->improvement,
                                           &c->improvement95) != 0
                 ? no_memory(e)
                 : 0;
    }
    free(a);
    free(p);
    return rc;
}

int ds_compare(const char *const set[2], ds_comparison *out, ds_error *e)
{
    memset(out, 0, sizeof *out);
    int rc = 0;
    for (int k = 0; k < 2 && rc == 0; k++) {
        rc = read_set(set[k], &out->results[k], &out->open[k], e);
    }
    const ds_results *a = &out->results[0], *b = &out->results[1];
    out->item = rc == 0 ? calloc(a->count + 1, sizeof *out->item) : NULL;
    if (rc == 0 && out->item == NULL) {
        rc = no_memory(e);
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
                     "the sets have no environment in common: the first has %.60s, the second %.60s",
                     a->item[0].env, b->item[0].env);
    }
    rc = rc != 0 ? rc : compare_all(out, e);
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
