/* SPDX-License-Identifier: Apache-2.0 */
/* finite_difference.c - finite difference quotients with a step that is chosen by agreement. */
#include "config.h"

#include "difference/finite_difference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct probe {
    ds_function *f;
    void *ctx;
    uint64_t n;
    double *x;
    const double *lower, *upper, *d;
    double *saved;
} probe;

/* Is x + t d inside the box, and another point than x? */
static int inside(const probe *p, double t)
{
    int moved = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        double v = p->saved[i] + t * p->d[i];
        if (!(v >= p->lower[i] && v <= p->upper[i])) {
            return 0;
        }
        moved |= v != p->saved[i];
    }
    return moved;
}

static double value_at(const probe *p, double t, int *failed)
{
    for (uint64_t i = 0; i < p->n; i++) {
        p->x[i] = p->saved[i] + t * p->d[i];
    }
    double v = p->f(p->ctx, p->x, failed);
    memcpy(p->x, p->saved, p->n * sizeof *p->x);
    return v;
}

/* Derivative along d at step t; NaN where the box or the function does not allow it. */
static double quotient(const probe *p, double t, double f0)
{
    int failed = 0;
    double q = NAN;
    if (inside(p, t) && inside(p, -t)) {
        q = (value_at(p, t, &failed) - value_at(p, -t, &failed)) / (2 * t);
    } else {
        double s = inside(p, t) && inside(p, 2 * t) ? t : -t;
        if (!inside(p, s) || !inside(p, 2 * s)) {
            return NAN;
        }
        q = (4 * value_at(p, s, &failed) - value_at(p, 2 * s, &failed) - 3 * f0) / (2 * s);
    }
    return failed ? (double)NAN : q;
}

ds_quotient ds_difference(ds_function *f, void *ctx, uint64_t n, double *x, const double *lower,
                          const double *upper, const double *d, double f_at_x)
{
    static const double steps[] = {1e-4, 1e-5, 1e-6, 1e-7};
    ds_quotient best = {NAN, INFINITY, 0, 0};
    probe p = {f, ctx, n, x, lower, upper, d, malloc(n * sizeof *x)};
    double last = NAN;

    if (p.saved == NULL) {
        return best;
    }
    memcpy(p.saved, x, n * sizeof *x);
    for (int k = 0; k < 4 && !best.agreed; k++) {
        double h = steps[k], q = quotient(&p, h, f_at_x);
        double noise = 4 * DBL_EPSILON * fabs(f_at_x) / h;
        double spread = fabs(q - last);
        if (isnan(best.value)) {
            best.value = q;
            best.step = h;
        } else if (spread < best.spread) {
            /* The finer quotient has less truncation error, unless its round-off is larger than what that can
             * be. */
            int finer = noise < spread;
            best.value = finer ? q : last;
            best.step = finer ? h : steps[k - 1];
            best.spread = spread;
            best.agreed = spread <= 1e-6 * fmax(fabs(q), fabs(last)) + noise;
        }
        last = q;
    }
    free(p.saved);
    return best;
}

ds_quotient ds_difference_component(ds_function *f, void *ctx, uint64_t n, double *x, const double *lower,
                                    const double *upper, uint64_t i, double f_at_x)
{
    double *d = calloc(n, sizeof *d);
    ds_quotient q = {NAN, INFINITY, 0, 0};
    double range = upper[i] - lower[i];
    if (d != NULL) {
        d[i] = range;
        q = ds_difference(f, ctx, n, x, lower, upper, d, f_at_x);
        q.value /= range;
        q.spread /= range;
        q.step *= range;
        free(d);
    }
    return q;
}
