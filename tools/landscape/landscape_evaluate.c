/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_evaluate.c - points of a slice as questions to the journal, which evaluates and records them,
 * or answers from the record what was asked before it was interrupted. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_internal.h"

enum {
    CHUNK_BYTES = 16 << 20, /* memory for points of one chunk, unless single points are larger */
    CHUNK_ROWS = 8192
};

/* The rows of one call that are asked for together, those inside of the box. */
typedef struct chunk {
    uint64_t *row;        /* number of each of them in the call */
    double *x, *c, *grad; /* points, and their record: two coordinates and 0; derivatives and norm */
    double *loss;
    uint32_t *outcome;
} chunk;

static int open_chunk(chunk *k, uint64_t rows, uint64_t n, ds_error *e)
{
    k->x = malloc((rows + 1) * (n + 7) * sizeof(double));
    k->row = malloc((rows + 1) * sizeof *k->row);
    k->outcome = malloc((rows + 1) * sizeof *k->outcome);
    if (k->x == NULL || k->row == NULL || k->outcome == NULL) {
        return ds_no_memory(e);
    }
    k->c = k->x + (rows + 1) * n;
    k->grad = k->c + 3 * (rows + 1);
    k->loss = k->grad + 3 * (rows + 1);
    return 0;
}

static void close_chunk(chunk *k)
{
    free(k->x);
    free(k->row);
    free(k->outcome);
}

/* What is recorded of a gradient: derivatives along the axes, and the norm of the whole where every
 * variable is measured in widths of its bounds. */
static void condense(const void *ctx, const double *grad, double *out)
{
    const ds_slice *s = ctx;
    double largest = 0, sum = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        largest = fmax(largest, fabs(grad[i]) * (s->upper[i] - s->lower[i]));
    }
    for (uint64_t i = 0; i < s->n && largest > 0; i++) {
        double g = grad[i] * (s->upper[i] - s->lower[i]) / largest;
        sum += g * g;
    }
    ds_slice_gradient(s, grad, out);
    out[2] = largest * sqrt(sum);
}

/* Why the journal has ended: 0 where it has not. */
static int end_of(const ds_landscape *l, ds_error *e)
{
    const ds_session *s = &l->session;
    const ds_journal *j = &s->journal;
    uint64_t broken = 0;
    switch (j->end) {
    case DS_END_NONE:
        return 0;
    case DS_END_ERROR:
        return ds_fail(e, j->error.status, "%s", j->error.text);
    case DS_END_FAILURES:
        for (uint32_t k = DS_EVAL_INVALID; k < DS_OUTCOMES; k++) {
            broken += j->statistics.outcome[k];
        }
        return ds_fail(e, DS_EXIT_ENV,
                       "%s: stopped: %llu of the first %llu evaluations failed (run.max_failed allows a "
                       "share of %g); the files %s/failure-*.ini repeat single ones",
                       s->spec.env.id, (unsigned long long)broken, (unsigned long long)j->statistics.count,
                       s->options.max_failed, s->folder);
    default:
        return DS_POOL_STOPPED;
    }
}

/* Asks for points from..to of the call. */
static int evaluate(ds_landscape *l, chunk *k, uint64_t from, uint64_t to, const double *c, int gradient,
                    const char *tag, ds_slice_value *out, ds_error *e)
{
    uint64_t inside = 0, done = 0;
    for (uint64_t i = from; i < to; i++) {
        out[i] = (ds_slice_value){NAN, {NAN, NAN}, NAN, DS_POINT_OUTSIDE};
        if (ds_slice_x(&l->slice, c + 2 * i, k->x + inside * l->slice.n)) {
            memcpy(k->c + 3 * inside, c + 2 * i, 2 * sizeof *c);
            k->c[3 * inside + 2] = 0;
            k->row[inside++] = i;
        }
    }
    ds_question q = {.count = inside,
                     .x = k->x,
                     .recorded = k->c,
                     .want = gradient ? DS_WANT_GRAD : 0,
                     .tag = tag,
                     .loss = k->loss,
                     .outcome = k->outcome,
                     .values = k->grad,
                     .condense = condense,
                     .ctx = &l->slice};
    if (inside > 0) {
        ds_journal_ask(&l->session.journal, &q, &done);
    }
    for (uint64_t i = 0; i < done; i++) {
        ds_slice_value *v = &out[k->row[i]];
        v->outcome = k->outcome[i];
        v->loss = isfinite(k->loss[i]) ? k->loss[i] : (double)NAN;
        if (gradient && k->outcome[i] == DS_EVAL_OK) {
            memcpy(v->grad, k->grad + 3 * i, sizeof v->grad);
            v->norm = k->grad[3 * i + 2];
        }
    }
    return end_of(l, e);
}

int ds_landscape_ask(ds_landscape *l, uint64_t count, const double *c, int gradient, const char *tag,
                     ds_slice_value *out, ds_error *e)
{
    uint64_t n = l->slice.n;
    uint64_t rows = CHUNK_BYTES / (n * sizeof(double));
    rows = rows > CHUNK_ROWS ? CHUNK_ROWS : rows < 64 ? 64 : rows;
    rows = rows > count ? count : rows;
    chunk k = {0};
    int rc = open_chunk(&k, rows, n, e);
    for (uint64_t from = 0, to; rc == 0 && from < count; from = to) {
        to = count - from < rows ? count : from + rows;
        rc = evaluate(l, &k, from, to, c, gradient, tag, out, e);
    }
    close_chunk(&k);
    return rc;
}
