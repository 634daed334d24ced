/* SPDX-License-Identifier: Apache-2.0 */
/* report_overall.c - scores, order and tests over all environments (see report.h). */
#include "config.h"

#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCORE_RESAMPLES = 50000, RANK_DRAWS = 99999 };
static const uint64_t SEED = 1; /* reports are reproducible */

double ds_report_mean(const ds_report *r, size_t i, size_t opt)
{
    const double own = ds_report_at(r, i, opt)->mean;
    double low = own, next = -(double)INFINITY;
    if (!isfinite(own)) {
        return own;
    }
    do { /* groups from the lowest mean up, like those of losses */
        const double above = next;
        low = isfinite(above) ? above : low;
        next = (double)INFINITY;
        for (size_t k = 0; k < r->opts; k++) {
            const ds_report_cell *c = ds_report_at(r, i, k);
            const int outside = !isfinite(above) || c->mean > above + r->env[i].tolerance;
            next = c->runs > 0 && outside && c->mean < next ? c->mean : next;
        }
    } while (isfinite(next) && next <= own);
    return low;
}

/* Scores of an optimizer per environment; with `pairs` losses paired with the reference. */
static size_t collect(const ds_report *r, size_t k, int pairs, ds_runs *own, ds_runs *other)
{
    size_t n = 0;
    for (size_t i = 0; i < r->envs; i++) {
        const ds_report_cell *c = ds_report_at(r, i, k), *b = ds_report_at(r, i, r->reference);
        if (c->runs > 0 && (!pairs || b->runs > 0)) {
            own[n] = (ds_runs){pairs ? c->ranked : c->score, c->runs};
            other[n++] = (ds_runs){b->ranked, b->runs};
        }
    }
    return n;
}

static int score_optimizers(ds_report *r, unsigned skip, ds_error *e)
{
    ds_runs *own = calloc(2 * r->envs + 1, sizeof *own), *other = own + r->envs;
    int failed = own == NULL;
    for (size_t k = 0; k < r->opts && !failed; k++) {
        ds_report_opt *o = &r->opt[k];
        o->score = NAN;
        o->score95 = (ds_interval){NAN, NAN};
        o->envs = collect(r, k, 0, own, other);
        if (o->envs > 0 && (skip & DS_REPORT_NO_SCORES) == 0) {
            failed = ds_interquartile_mean(own, o->envs, SCORE_RESAMPLES, SEED, 0.95, &o->score, &o->score95);
        }
        for (size_t i = 0; i < r->envs; i++) {
            o->rank += ds_report_at(r, i, k)->runs > 0 ? ds_report_at(r, i, k)->rank / (double)o->envs : 0;
        }
    }
    free(own);
    return failed ? ds_no_memory(e) : 0;
}

/* Does optimizer a come before b? */
static int is_ahead(const ds_report *r, size_t a, size_t b)
{
    const ds_report_opt *x = &r->opt[a], *y = &r->opt[b];
    return x->envs != y->envs ? x->envs > y->envs : x->score != y->score ? x->score > y->score : a < b;
}

static void order_by_merit(ds_report *r)
{
    for (size_t k = 0; k < r->opts; k++) {
        size_t at = k;
        for (; at > 0 && is_ahead(r, k, r->order[at - 1]); at--) {
            r->order[at] = r->order[at - 1];
        }
        r->order[at] = k;
    }
}

int ds_report_score_all(ds_report *r, unsigned skip, ds_error *e)
{
    int rc = score_optimizers(r, skip, e);
    order_by_merit(r);
    return rc;
}

size_t ds_report_order_on(const ds_report *r, size_t env, size_t *order)
{
    size_t n = 0;
    for (size_t j = 0; j < r->opts; j++) {
        const ds_report_cell *c = ds_report_at(r, env, r->order[j]);
        size_t at = n;
        if (c->runs == 0) {
            continue;
        }
        for (; at > 0 && c->mean < ds_report_at(r, env, order[at - 1])->mean; at--) {
            order[at] = order[at - 1];
        }
        order[at] = r->order[j];
        n++;
    }
    return n;
}

static int improve_on_reference(ds_report *r, ds_error *e)
{
    ds_runs *own = calloc(2 * r->envs + 1, sizeof *own), *other = own + r->envs;
    double *p = calloc(2 * r->opts + 1, sizeof *p), *least = p + r->opts;
    size_t tests = 0;
    int rc = own == NULL || p == NULL ? ds_no_memory(e) : 0;
    for (size_t k = 0; k < r->opts && rc == 0; k++) {
        ds_report_opt *o = &r->opt[k];
        o->improvement = o->p = o->p_holm = o->least_p = NAN;
        o->improvement95 = (ds_interval){NAN, NAN};
        size_t n = k != r->reference ? collect(r, k, 1, own, other) : 0;
        if (n > 0) {
            const ds_stratified t = ds_stratified_test(own, other, n);
            ds_probability_of_improvement(own, other, n, 0.95, &o->improvement, &o->improvement95);
            o->p = t.p;
            p[tests] = t.p;
            least[tests++] = t.least_p;
        }
    }
    if (rc == 0) {
        ds_holm(p, tests);
        ds_holm(least, tests);
    }
    for (size_t k = 0, n = 0; rc == 0 && k < r->opts; k++) {
        if (!isnan(r->opt[k].p)) {
            r->opt[k].least_p = least[n];
            r->opt[k].p_holm = p[n++];
        }
    }
    free(own);
    free(p);
    return rc;
}

/* Tests each optimizer alone against the reference, for a single planned comparison: the family of tests is
 * the set of environments, as in `dshost compare`. */
static int judge_alone(ds_report *r, ds_error *e)
{
    double *p = calloc(2 * r->envs + 1, sizeof *p), *least = p + r->envs;
    if (p == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        size_t n = 0;
        for (size_t i = 0; i < r->envs; i++) {
            const ds_report_cell *c = ds_report_at(r, i, k);
            if (!isnan(c->test.p)) {
                least[n] = ds_mann_whitney_least_p(c->runs, ds_report_at(r, i, r->reference)->runs);
                p[n++] = c->test.p;
            }
        }
        ds_holm(p, n);
        ds_holm(least, n);
        n = 0;
        for (size_t i = 0; i < r->envs; i++) {
            ds_report_cell *c = &r->cell[i * r->opts + k];
            if (!isnan(c->test.p)) {
                c->least_alone = least[n];
                c->p_alone = p[n++];
                r->opt[k].alone_open += !(c->least_alone < 0.05);
                r->opt[k].alone_better += c->p_alone < 0.05 && c->test.a12 > 0.5;
                r->opt[k].alone_worse += c->p_alone < 0.05 && c->test.a12 < 0.5;
            }
        }
    }
    free(p);
    return 0;
}

/* ---- all optimizers at once ---- */

static int has_all(const ds_report *r, size_t env)
{
    for (size_t k = 0; k < r->opts; k++) {
        if (r->opt[k].in_test && ds_report_at(r, env, k)->runs == 0) {
            return 0;
        }
    }
    return 1;
}

static int test_all(ds_report *r, ds_error *e)
{
    ds_report_overall *o = &r->overall;
    const size_t most = r->opt[r->order[0]].envs;
    double *mean = calloc(r->envs * r->opts + r->opts + 1, sizeof *mean), *rank = mean + r->envs * r->opts;
    if (mean == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        r->opt[k].in_test = r->opt[k].envs == most;
        r->opt[k].test_rank = NAN;
        o->opts += (size_t)r->opt[k].in_test;
    }
    for (size_t i = 0, n = 0; i < r->envs; i++) {
        if (has_all(r, i)) {
            o->envs++;
            for (size_t k = 0; k < r->opts; k++) {
                if (r->opt[k].in_test) {
                    mean[n++] = ds_report_mean(r, i, k);
                }
            }
        }
    }
    int rc = 0;
    if (o->envs > 1 && o->opts > 1) {
        rc = ds_friedman_test(mean, o->envs, o->opts, RANK_DRAWS, SEED, rank, &o->test) != 0 ? ds_no_memory(e)
                                                                                             : 0;
        for (size_t k = 0, n = 0; rc == 0 && k < r->opts; k++) {
            r->opt[k].test_rank = r->opt[k].in_test ? rank[n++] : (double)NAN;
        }
    }
    free(mean);
    return rc;
}

int ds_report_judge_all(ds_report *r, unsigned skip, ds_error *e)
{
    const int overall = (skip & DS_REPORT_NO_OVERALL) == 0;
    int rc = overall ? improve_on_reference(r, e) : 0;
    rc = rc != 0 ? rc : judge_alone(r, e);
    return rc != 0 || !overall ? rc : test_all(r, e);
}
