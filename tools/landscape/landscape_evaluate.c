/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_evaluate.c - points of a slice as questions to the journal, which evaluates and records them,
 * or answers from the record what was asked before it was interrupted. */
#include "config.h"

#include <diffsim/helper/random.h>
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
    double *x, *c, *grad; /* points, and their record (landscape.h); derivatives and norm */
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
    ds_journal_request q = {.count = inside,
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
        ds_journal_execute(&l->session.journal, &q, &done);
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

/* Points that are asked for together. */
static uint64_t rows_of_chunk(const ds_landscape *l, uint64_t count)
{
    uint64_t rows = CHUNK_BYTES / (l->slice.n * sizeof(double));
    rows = rows > CHUNK_ROWS ? CHUNK_ROWS : rows < 64 ? 64 : rows;
    return rows > count ? count : rows;
}

int ds_landscape_ask(ds_landscape *l, uint64_t count, const double *c, int gradient, const char *tag,
                     ds_slice_value *out, ds_error *e)
{
    const uint64_t n = l->slice.n, rows = rows_of_chunk(l, count);
    chunk k = {0};
    int rc = open_chunk(&k, rows, n, e);
    for (uint64_t from = 0, to; rc == 0 && from < count; from = to) {
        to = count - from < rows ? count : from + rows;
        rc = evaluate(l, &k, from, to, c, gradient, tag, out, e);
    }
    close_chunk(&k);
    return rc;
}

/* Random points first .. first + count - 1 of the box. */
static void draw_points(const ds_landscape *l, uint64_t first, uint64_t count, chunk *k)
{
    const ds_slice *s = &l->slice;
    for (uint64_t i = 0; i < count; i++) {
        ds_random r = ds_random_open(l->session.options.seed, "landscape box", first + i);
        for (uint64_t d = 0; d < s->n; d++) {
            const double x = s->lower[d] + ds_random_uniform(&r) * (s->upper[d] - s->lower[d]);
            k->x[i * s->n + d] = fmin(x, s->upper[d]);
        }
        memcpy(k->c + 3 * i, (double[]){(double)(first + i), 0, 1}, 3 * sizeof *k->c);
    }
}

int ds_landscape_ask_box(ds_landscape *l, uint64_t count, ds_error *e)
{
    const uint64_t rows = rows_of_chunk(l, count);
    ds_box_measure *b = &l->measures.box;
    chunk k = {0};
    int rc = open_chunk(&k, rows, l->slice.n, e);
    for (uint64_t first = 0; rc == 0 && first < count; first += rows) {
        uint64_t done = 0;
        ds_journal_request q = {.count = count - first < rows ? count - first : rows,
                         .x = k.x,
                         .recorded = k.c,
                         .want = DS_WANT_GRAD,
                         .tag = "box",
                         .loss = k.loss,
                         .outcome = k.outcome,
                         .values = k.grad,
                         .condense = condense,
                         .ctx = &l->slice};
        draw_points(l, first, q.count, &k);
        ds_journal_execute(&l->session.journal, &q, &done);
        for (uint64_t i = 0; i < done; i++) {
            const int loss = k.outcome[i] <= DS_EVAL_BAD_GRAD && isfinite(k.loss[i]);
            b->points++;
            b->failed += !loss && k.outcome[i] != DS_EVAL_INFEASIBLE;
            b->with_loss += (uint64_t)loss;
            b->missing += loss && k.outcome[i] == DS_EVAL_BAD_GRAD;
        }
        rc = end_of(l, e);
    }
    close_chunk(&k);
    return rc;
}
