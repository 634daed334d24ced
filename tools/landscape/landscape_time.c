/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_time.c - the size of the gradient through the episode's time: how much the controls of each
 * moment matter at the end. Where variables belong to moments, gradients that explode or vanish show there.
 *
 * Variables are in the order of time where their number is a multiple of the number of output steps (controls
 * of every step), or of the environment's parameter `segments` (controls of every segment). A few points of
 * the slice are evaluated again for their whole gradients; as evaluations are pure, nothing is recorded.
 */
#include "config.h"

#include <diffsim/env.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_internal.h"

enum { POINTS = 10, BLOCKS_MAX = 100000 };

/* Moments that the variables belong to; 0 = the environment does not tell. */
static uint64_t count_blocks(const ds_landscape *l)
{
    uint64_t n = l->slice.n, steps = l->session.env->info.steps;
    int64_t segments = 0;
    if (steps > 1 && steps <= BLOCKS_MAX && n % steps == 0) {
        return steps;
    }
    return ds_params_int(l->session.env->params, "segments", &segments) == DS_OK && segments > 1 &&
                   n % (uint64_t)segments == 0
               ? (uint64_t)segments
               : 0;
}

typedef struct block_norms {
    ds_landscape *l;
    uint64_t blocks, points;
    double *norm; /* points x blocks */
} block_norms;

static int sink(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    block_norms *b = ctx;
    const ds_slice *s = &b->l->slice;
    uint64_t each = s->n / b->blocks;
    (void)i, (void)out;
    if (grad == NULL || a->grad_kind == DS_GRAD_NONE || !isfinite(a->loss)) {
        return 0;
    }
    for (uint64_t k = 0; k < b->blocks; k++) {
        double norm = 0;
        for (uint64_t j = k * each; j < (k + 1) * each; j++) {
            norm = hypot(norm, grad[j] * (s->upper[j] - s->lower[j]));
        }
        b->norm[b->points * b->blocks + k] = norm;
    }
    b->points++;
    return 0;
}

/* The centre, and points of the grid from all over. */
static uint64_t choose_points(const ds_landscape *l, double *x)
{
    const ds_slice *s = &l->slice;
    uint64_t points = ds_slice_points(s), n = 1;
    memcpy(x, s->center, s->n * sizeof *x);
    for (uint64_t m = 1; m < POINTS; m++) {
        double c[DS_SLICE_DIMS];
        /* Steps by the golden ratio: no two points alike. */
        double t = 0.61803398874989485 * (double)m;
        ds_slice_grid(s, (uint64_t)((t - floor(t)) * (double)points), c);
        n += (uint64_t)ds_slice_x(s, c, x + n * s->n);
    }
    return n;
}

static int summarise(block_norms *b, ds_time_measure *out, ds_error *e)
{
    double *column = malloc((b->points + 1) * sizeof *column);
    out->low = malloc(3 * b->blocks * sizeof *out->low);
    if (column == NULL || out->low == NULL) {
        free(column);
        return ds_no_memory(e);
    }
    out->median = out->low + b->blocks;
    out->high = out->median + b->blocks;
    out->blocks = b->blocks;
    out->points = b->points;
    out->growth = NAN;
    double first = 0, last = 0;
    uint64_t tenth = b->blocks / 10 > 0 ? b->blocks / 10 : 1;
    for (uint64_t k = 0; k < b->blocks; k++) {
        for (uint64_t i = 0; i < b->points; i++) {
            column[i] = b->norm[i * b->blocks + k];
        }
        ds_spread s = ds_spread_of(column, b->points);
        out->low[k] = s.min;
        out->median[k] = s.median;
        out->high[k] = s.max;
        first += k < tenth ? s.median : 0;
        last += k + tenth >= b->blocks ? s.median : 0;
    }
    out->growth = last > 0 ? first / last : (double)NAN;
    free(column);
    return 0;
}

int ds_landscape_time(ds_landscape *l, ds_error *e)
{
    block_norms b = {l, l->want_gradient ? count_blocks(l) : 0, 0, NULL};
    if (b.blocks == 0) {
        return 0;
    }
    double *x = malloc(POINTS * l->slice.n * sizeof *x);
    b.norm = malloc(POINTS * b.blocks * sizeof *b.norm);
    int rc = x == NULL || b.norm == NULL ? ds_no_memory(e) : 0;
    rc = rc != 0 ? rc
                 : ds_pool_evaluate(l->session.pool, choose_points(l, x), x, DS_WANT_GRAD,
                                    l->session.journal.statistics.count + 1, sink, &b, e);
    if (rc == 0 && b.points > 0) {
        rc = summarise(&b, &l->time, e);
    }
    free(x);
    free(b.norm);
    return rc;
}
