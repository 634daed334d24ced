/* SPDX-License-Identifier: Apache-2.0 */
/* levenberg.c - the Levenberg-Marquardt method in a box, see levenberg.h. */
#include "methods/squares/levenberg.h"

#include "methods/base/blas.h"

#include <diffsim/helper/box.h>
#include <diffsim/helper/memory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double damping_min = 1e-6, /* of the largest component at the start */
    near_max = 1e32, radius_min = 1e-32, radius_max = 1e16;

struct lm {
    size_t n, m;
    lm_options options;
    double *lower, *upper;
    double *x, *trial;   /* accepted point, and the one in question */
    double *r;           /* at x */
    double *j;           /* m x n at x */
    double *g, *damping; /* J^T r, D */
    double *near;        /* added to D/mu; 0 with LM_CLAMPED_BOUNDS */
    double *step;        /* trial - x */
    double cost, radius, factor, predicted;
    double square; /* largest component of diag J^T J at the start; 0 = not known yet */
    size_t iterations;
    size_t *free, frees; /* variables that may move */
    double *stack, *rhs; /* (m + n) min(m, n), and m + n: the system of a step, by columns */
    double *work;
    int lwork;
    int started; /* r at x is known */
    ds_memory memory;
};

lm *lm_create(size_t n, size_t m, const double *lower, const double *upper, const lm_options *options)
{
    lm *s = calloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    size_t least = m < n ? m : n;
    int rows = (int)(m < n ? m : m + n), columns = (int)(m < n ? m + n : n), longest = (int)(m + n);
    int one = 1, info = 0, query = -1;
    double size = 0;
    s->n = n;
    s->m = m;
    s->options = *options;
    dgels_("N", &rows, &columns, &one, NULL, &rows, NULL, &longest, &size, &query, &info, 1);
    s->lwork = (int)size;
    ds_memory *own = &s->memory;
    ds_memory_each(own, n,
                   (double **const[]){&s->lower, &s->upper, &s->x, &s->trial, &s->g, &s->damping, &s->near,
                                      &s->step, NULL});
    s->r = ds_memory_doubles(own, m);
    s->j = ds_memory_doubles(own, m * n);
    s->free = ds_memory_take(own, n, sizeof(*s->free));
    s->stack = ds_memory_doubles(own, (m + n) * least);
    s->rhs = ds_memory_doubles(own, m + n);
    s->work = ds_memory_doubles(own, (size_t)s->lwork);
    if (own->failed) {
        lm_destroy(s);
        return NULL;
    }
    memcpy(s->lower, lower, n * sizeof(double));
    memcpy(s->upper, upper, n * sizeof(double));
    return s;
}

void lm_destroy(lm *s)
{
    if (s) {
        ds_memory_free(&s->memory);
        free(s);
    }
}

int lm_start(lm *s, const double *x)
{
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = s->trial[i] = ds_box_clamp(x[i], s->lower[i], s->upper[i]);
    }
    s->radius = s->options.radius;
    s->factor = 2;
    s->cost = INFINITY;
    s->square = 0;
    s->iterations = 0;
    s->started = 0;
    return LM_RESIDUALS;
}

const double *lm_point(const lm *s)
{
    return s->trial;
}

double lm_cost(const lm *s)
{
    return s->cost;
}

static int done(lm *s)
{
    memcpy(s->trial, s->x, s->n * sizeof(double));
    return LM_DONE;
}

/* Lists the variables that may move; returns the largest component of the projected gradient, g in units of
 * L. */
static double choose_free(lm *s)
{
    double largest = 0;
    s->frees = 0;
    for (size_t i = 0; i < s->n; i++) {
        const int is_free = s->g[i] > 0 ? s->x[i] > s->lower[i] : s->g[i] < 0 && s->x[i] < s->upper[i];
        if (is_free) {
            double moved = ds_box_clamp(s->x[i] - s->g[i] / s->cost, s->lower[i], s->upper[i]) - s->x[i];
            s->free[s->frees++] = i;
            largest = fmax(largest, fabs(moved));
        }
    }
    return largest;
}

/* sqrt(D/mu + near) of a variable. */
static double root_of_damping(const lm *s, size_t i)
{
    return sqrt(s->damping[i] / s->radius + s->near[i]);
}

/* The system of solve() by columns: as many rows as residuals and free variables, J over sqrt(D/mu). */
static int fill_tall(lm *s)
{
    size_t height = s->m + s->frees;
    for (size_t k = 0; k < s->frees; k++) {
        double *column = s->stack + k * height;
        memcpy(column, s->j + s->free[k] * s->m, s->m * sizeof(double));
        memset(column + s->m, 0, s->frees * sizeof(double));
        column[s->m + k] = root_of_damping(s, s->free[k]);
    }
    return (int)height;
}

/* The same with q = sqrt(D/mu) p and the residual left over, e = -(J p + r), as unknowns of least length:
 * fewer numbers where there are fewer residuals than variables. */
static int fill_wide(lm *s)
{
    for (size_t k = 0; k < s->frees; k++) {
        double root = root_of_damping(s, s->free[k]);
        for (size_t i = 0; i < s->m; i++) {
            s->stack[k * s->m + i] = s->j[s->free[k] * s->m + i] / root;
        }
    }
    memset(s->stack + s->frees * s->m, 0, s->m * s->m * sizeof(double));
    for (size_t i = 0; i < s->m; i++) {
        s->stack[(s->frees + i) * s->m + i] = 1;
    }
    return (int)s->m;
}

/* min |J p + r|^2 + p^T D p / mu over the free variables, by orthogonal factorisation. 0 where that fails. */
static int solve(lm *s)
{
    int wide = s->m < s->frees, one = 1, info = 0;
    int rows = wide ? fill_wide(s) : fill_tall(s), columns = (int)(wide ? s->frees + s->m : s->frees);
    int longest = (int)(s->m + s->frees);
    memset(s->step, 0, s->n * sizeof(double));
    memset(s->rhs, 0, (size_t)longest * sizeof(double));
    for (size_t i = 0; i < s->m; i++) {
        s->rhs[i] = -s->r[i];
    }
    dgels_("N", &rows, &columns, &one, s->stack, &rows, s->rhs, &longest, s->work, &s->lwork, &info, 1);
    for (size_t k = 0; k < s->frees; k++) {
        size_t i = s->free[k];
        s->step[i] = wide ? s->rhs[k] / root_of_damping(s, i) : s->rhs[k];
        if (!isfinite(s->step[i])) {
            return 0;
        }
    }
    return info == 0;
}

/* -(g . p) - |J p|^2 / 2 for the step as it is after the projection. */
static double predict(lm *s)
{
    double slope = 0, square = 0;
    cblas_dgemv(CblasColMajor, CblasNoTrans, (int)s->m, (int)s->n, 1, s->j, (int)s->m, s->step, 1, 0, s->rhs,
                1);
    for (size_t i = 0; i < s->n; i++) {
        slope += s->g[i] * s->step[i];
    }
    for (size_t i = 0; i < s->m; i++) {
        square += s->rhs[i] * s->rhs[i];
    }
    return -slope - 0.5 * square;
}

static void shrink(lm *s)
{
    s->radius /= s->factor;
    s->factor *= 2;
}

/* The next trial step from x; shortens steps that predict no gain after the projection at once. */
static int propose(lm *s)
{
    while (s->iterations < s->options.iterations && s->radius > radius_min) {
        double length = 0, size = 0;
        s->iterations++;
        if (solve(s)) {
            for (size_t i = 0; i < s->n; i++) {
                s->trial[i] = ds_box_clamp(s->x[i] + s->step[i], s->lower[i], s->upper[i]);
                s->step[i] = s->trial[i] - s->x[i];
                length += s->step[i] * s->step[i];
                size += s->x[i] * s->x[i];
            }
            if (sqrt(length) < s->options.xtol * (sqrt(size) + s->options.xtol)) {
                return done(s);
            }
            s->predicted = predict(s);
            if (s->predicted > 0) {
                return LM_RESIDUALS;
            }
        }
        shrink(s);
    }
    return done(s);
}

int lm_tell_residuals(lm *s, const double *r)
{
    double cost = r ? 0 : (double)INFINITY;
    for (size_t i = 0; r && i < s->m; i++) {
        cost += 0.5 * r[i] * r[i];
    }
    int usable = isfinite(cost);
    if (!s->started) {
        s->started = usable;
        if (!usable) {
            return done(s);
        }
    } else {
        double gain = s->cost - cost, ratio = gain / s->predicted;
        if (!usable || !(ratio > s->options.accept)) {
            shrink(s);
            return propose(s);
        }
        double t = 2 * ratio - 1;
        s->radius = fmin(s->radius / fmax(1.0 / 3, 1 - t * t * t), radius_max);
        s->factor = 2;
        if (gain < s->options.ftol * s->cost || cost == 0) {
            s->cost = cost;
            memcpy(s->x, s->trial, s->n * sizeof(double));
            return done(s);
        }
    }
    s->cost = cost;
    memcpy(s->x, s->trial, s->n * sizeof(double));
    memcpy(s->r, r, s->m * sizeof(double));
    return cost == 0 ? done(s) : LM_JACOBIAN;
}

/* How near the bounds are to which L falls. */
static void damp_bounds(lm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double room = s->g[i] < 0 ? s->upper[i] - s->x[i] : s->x[i] - s->lower[i];
        s->near[i] = room > 0 ? fmin(fabs(s->g[i]) / room, near_max * s->square) : 0;
    }
}

int lm_tell_jacobian(lm *s, const double *j)
{
    double sum = 0, most = 0;
    memcpy(s->j, j, s->m * s->n * sizeof(double));
    for (size_t i = 0; i < s->n; i++) {
        const double *column = s->j + i * s->m;
        double square = 0;
        s->g[i] = 0;
        for (size_t k = 0; k < s->m; k++) {
            s->g[i] += column[k] * s->r[k];
            square += column[k] * column[k];
        }
        s->damping[i] = square;
        sum += fabs(s->g[i]) + square;
        most = fmax(most, square);
    }
    s->square = s->square > 0 ? s->square : most;
    for (size_t i = 0; i < s->n; i++) {
        s->damping[i] = fmax(s->damping[i], damping_min * s->square);
    }
    if (s->options.bounds == LM_DAMPED_BOUNDS) {
        damp_bounds(s);
    }
    if (!isfinite(sum) || choose_free(s) <= s->options.gtol) {
        return done(s);
    }
    return propose(s);
}
