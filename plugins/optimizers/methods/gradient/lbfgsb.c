/* SPDX-License-Identifier: Apache-2.0 */
/* lbfgsb.c - L-BFGS-B: generalised Cauchy point, subspace minimisation, line search; see lbfgsb.h.
 *
 * The model Hessian is B = theta I - W M W^T with W = [Y, theta S] and M the inverse of the "middle matrix"
 * [[-D, L^T], [L, theta S^T S]] (Byrd et al. 1995, eq. 3.2 to 3.4). The middle matrix, of order at most 2
 * memory, is kept as its LU factors.
 */
#include "methods/gradient/lbfgsb.h"

#include "methods/base/blas.h"

#include <diffsim/helper/box.h>
#include <diffsim/helper/memory.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- line search: section and case numbers of More and Thuente (1994) ---- */

#define SHRINK 0.66     /* the interval must lose a third of its length in two trials */
#define EXTRAPOLATE 4.0 /* a trial beyond an interval that holds no minimiser yet */

/* Starts at phi(0) = f, phi'(0) = g < 0 with first trial `step` <= step_max. */
static void line_search_start(line_search *s, double f, double g, double step, double step_max)
{
    s->decrease = 1e-3;
    s->curvature = 0.9;
    s->width_tol = 0.1;
    s->step_min = 0.0;
    s->step_max = step_max;
    s->start = (line_point){0.0, f, g};
    s->best = s->start;
    s->other = s->start;
    s->trial_min = 0.0;
    s->trial_max = step + EXTRAPOLATE * step;
    s->width = step_max;
    s->width_before = 2.0 * step_max;
    s->bracketed = 0;
    s->auxiliary = 1;
}

/* Distance from b of the minimiser of the cubic through a and b, as a fraction of a.t - b.t. `middle` is the
 * weight of the slopes in the denominator that the four cases share. */
static double cubic_gamma(const line_point *a, const line_point *b, double *theta)
{
    *theta = 3.0 * (a->f - b->f) / (b->t - a->t) + a->g + b->g;
    double scale = fmax(fabs(*theta), fmax(fabs(a->g), fabs(b->g)));
    double inner = (*theta / scale) * (*theta / scale) - (a->g / scale) * (b->g / scale);
    return scale * sqrt(fmax(0.0, inner));
}

static double closer_to(double t, double a, double b)
{
    return fabs(a - t) < fabs(b - t) ? a : b;
}

/* Section 4: the next trial from the best point x, the other end y and the trial p just evaluated; then the
 * interval is updated. Values are those of phi or of the auxiliary function. */
static double interpolate(line_point *x, line_point *y, const line_point *p, int *bracketed, double tmin,
                          double tmax)
{
    double theta, gamma, next;
    double opposite = p->g * (x->g / fabs(x->g));
    if (p->f > x->f) { /* case 1: higher value */
        gamma = cubic_gamma(x, p, &theta);
        gamma = p->t < x->t ? -gamma : gamma;
        double r = ((gamma - x->g) + theta) / (((gamma - x->g) + gamma) + p->g);
        double cubic = x->t + r * (p->t - x->t);
        double secant = (x->f - p->f) / (p->t - x->t) + x->g;
        double quadratic = x->t + 0.5 * (x->g / secant) * (p->t - x->t);
        next = fabs(cubic - x->t) < fabs(quadratic - x->t) ? cubic : cubic + 0.5 * (quadratic - cubic);
        *bracketed = 1;
    } else if (opposite < 0.0) { /* case 2: lower value, slope of opposite sign */
        gamma = cubic_gamma(x, p, &theta);
        gamma = p->t > x->t ? -gamma : gamma;
        double r = ((gamma - p->g) + theta) / (((gamma - p->g) + gamma) + x->g);
        double cubic = p->t + r * (x->t - p->t);
        double quadratic = p->t + (p->g / (p->g - x->g)) * (x->t - p->t);
        next = fabs(cubic - p->t) > fabs(quadratic - p->t) ? cubic : quadratic;
        *bracketed = 1;
    } else if (fabs(p->g) < fabs(x->g)) { /* case 3: lower value, same sign, smaller slope */
        gamma = cubic_gamma(x, p, &theta);
        gamma = p->t > x->t ? -gamma : gamma;
        double r = ((gamma - p->g) + theta) / ((gamma + (x->g - p->g)) + gamma);
        double cubic = r < 0.0 && gamma != 0.0 ? p->t + r * (x->t - p->t) : (p->t > x->t ? tmax : tmin);
        double quadratic = p->t + (p->g / (p->g - x->g)) * (x->t - p->t);
        if (*bracketed) {
            double limit = p->t + SHRINK * (y->t - p->t);
            next = closer_to(p->t, cubic, quadratic);
            next = p->t > x->t ? fmin(limit, next) : fmax(limit, next);
        } else {
            next = fabs(cubic - p->t) > fabs(quadratic - p->t) ? cubic : quadratic;
            next = fmax(tmin, fmin(tmax, next));
        }
    } else if (*bracketed) { /* case 4: lower value, same sign, slope not smaller */
        gamma = cubic_gamma(p, y, &theta);
        gamma = p->t > y->t ? -gamma : gamma;
        double r = ((gamma - p->g) + theta) / (((gamma - p->g) + gamma) + y->g);
        next = p->t + r * (y->t - p->t);
    } else {
        next = p->t > x->t ? tmax : tmin;
    }
    if (p->f > x->f) {
        *y = *p;
    } else {
        if (opposite < 0.0) {
            *y = *x;
        }
        *x = *p;
    }
    return next;
}

/* Takes phi(*step) = f and phi'(*step) = g. LINE_DONE: *step is accepted (or no better one can be told apart
 * from it); LINE_EVALUATE: *step is the next trial. A non-finite f or g makes the step shorter. */
static int line_search_next(line_search *s, double f, double g, double *step)
{
    if (!isfinite(f) || !isfinite(g)) {
        /* never at the failed step again: an extrapolation would be cut to step_max */
        s->step_max = s->trial_max = s->best.t + 0.5 * (*step - s->best.t);
        *step = s->best.t + 0.2 * (*step - s->best.t);
        return LINE_EVALUATE;
    }
    double slope = s->decrease * s->start.g;
    double allowed = s->start.f + *step * slope;
    if (s->auxiliary && f <= allowed && g >= 0.0) {
        s->auxiliary = 0;
    }
    int narrow = s->bracketed && (*step <= s->trial_min || *step >= s->trial_max ||
                                  s->trial_max - s->trial_min <= s->width_tol * s->trial_max);
    int longest = *step == s->step_max && f <= allowed && g <= slope;
    if (narrow || longest || (f <= allowed && fabs(g) <= -s->curvature * s->start.g)) {
        return LINE_DONE;
    }
    line_point trial = {*step, f, g};
    if (s->auxiliary && f <= s->best.f && f > allowed) {
        line_point *ends[3] = {&s->best, &s->other, &trial};
        for (int i = 0; i < 3; i++) {
            ends[i]->f -= ends[i]->t * slope;
            ends[i]->g -= slope;
        }
        *step = interpolate(&s->best, &s->other, &trial, &s->bracketed, s->trial_min, s->trial_max);
        for (int i = 0; i < 2; i++) {
            ends[i]->f += ends[i]->t * slope;
            ends[i]->g += slope;
        }
    } else {
        *step = interpolate(&s->best, &s->other, &trial, &s->bracketed, s->trial_min, s->trial_max);
    }
    if (s->bracketed) {
        if (fabs(s->other.t - s->best.t) >= SHRINK * s->width_before) {
            *step = s->best.t + 0.5 * (s->other.t - s->best.t);
        }
        s->width_before = s->width;
        s->width = fabs(s->other.t - s->best.t);
        s->trial_min = fmin(s->best.t, s->other.t);
        s->trial_max = fmax(s->best.t, s->other.t);
    } else {
        s->trial_min = *step + 1.1 * (*step - s->best.t);
        s->trial_max = *step + EXTRAPOLATE * (*step - s->best.t);
    }
    *step = fmax(s->step_min, fmin(s->step_max, *step));
    if (s->bracketed && (*step <= s->trial_min || *step >= s->trial_max ||
                         s->trial_max - s->trial_min <= s->width_tol * s->trial_max)) {
        *step = s->best.t; /* no further progress possible: end at the best point */
    }
    return LINE_EVALUATE;
}

#define MAX_MEMORY 20
#define MAX_LINE_TRIALS 20
#define RECENT 10

struct lbfgsb {
    size_t n;
    ds_memory memory;
    lbfgsb_options opt;
    double *lower, *upper;
    int constrained, boxed; /* any bound; two bounds everywhere */

    double *x, *g, f;  /* accepted iterate */
    double *trial;     /* point being evaluated */
    double *direction; /* from x to the minimiser of the model */
    double *cauchy;    /* generalised Cauchy point, then the minimiser of the model */
    double *work, *breakpoint;
    size_t *heap;
    unsigned char *is_free;

    double *S, *Y; /* pairs, one row each, oldest first */
    int pairs;
    double theta;
    double SY[MAX_MEMORY][MAX_MEMORY], SS[MAX_MEMORY][MAX_MEMORY];
    double middle[4 * MAX_MEMORY * MAX_MEMORY]; /* LU factors, column-major, order 2 pairs */
    int pivot[2 * MAX_MEMORY];
    double c[2 * MAX_MEMORY]; /* W^T (cauchy - x) */

    line_search line;
    double step, slope; /* of the present trial, and g . direction at x */
    int trials;         /* of the present line search */
    int started;        /* the start point has been evaluated */
    int iterations, evaluations;
    double pg_norm;
    double past[RECENT]; /* f of the last iterates, a ring: that of iterate i in i % RECENT */
    double unit;         /* first_step > 0: largest component of g at the start; else 1 */
    double curvature;    /* of the last pair; 0 = none yet */
};

lbfgsb *lbfgsb_create(size_t n, const double *lower, const double *upper, const lbfgsb_options *options)
{
    lbfgsb *s = calloc(1, sizeof(*s));
    if (!s) {
        return NULL;
    }
    s->n = n;
    s->opt = *options;
    s->opt.memory = s->opt.memory < 1 ? 1 : (s->opt.memory > MAX_MEMORY ? MAX_MEMORY : s->opt.memory);
    size_t m = (size_t)s->opt.memory;
    ds_memory_each(&s->memory, n,
                   (double **const[]){&s->lower, &s->upper, &s->x, &s->g, &s->trial, &s->direction,
                                      &s->cauchy, &s->work, &s->breakpoint, NULL});
    ds_memory_each(&s->memory, m * n, (double **const[]){&s->S, &s->Y, NULL});
    s->heap = ds_memory_take(&s->memory, n, sizeof(*s->heap));
    s->is_free = ds_memory_take(&s->memory, n, 1);
    if (s->memory.failed) {
        lbfgsb_destroy(s);
        return NULL;
    }
    s->boxed = 1;
    for (size_t i = 0; i < n; i++) {
        s->lower[i] = lower[i];
        s->upper[i] = upper[i];
        s->constrained |= isfinite(lower[i]) || isfinite(upper[i]);
        s->boxed &= isfinite(lower[i]) && isfinite(upper[i]);
    }
    return s;
}

void lbfgsb_destroy(lbfgsb *s)
{
    if (s) {
        ds_memory_free(&s->memory);
        free(s);
    }
}

void lbfgsb_start(lbfgsb *s, const double *x0)
{
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = ds_box_clamp(x0[i], s->lower[i], s->upper[i]);
        s->trial[i] = s->x[i];
    }
    s->pairs = 0;
    s->theta = 1.0;
    s->started = 0;
    s->iterations = 0;
    s->evaluations = 0;
    s->f = INFINITY;
    s->pg_norm = INFINITY;
    s->unit = 1.0;
    s->curvature = 0.0;
}

void lbfgsb_start_again(lbfgsb *s, const double *x0)
{
    const double curvature = s->curvature;
    lbfgsb_start(s, x0);
    s->curvature = curvature;
}

const double *lbfgsb_point(const lbfgsb *s)
{
    return s->trial;
}

const double *lbfgsb_solution(const lbfgsb *s, double *f)
{
    if (f) {
        *f = s->f;
    }
    return s->x;
}

int lbfgsb_iterations(const lbfgsb *s)
{
    return s->iterations;
}

int lbfgsb_evaluations(const lbfgsb *s)
{
    return s->evaluations;
}

double lbfgsb_projected_gradient(const lbfgsb *s)
{
    return s->pg_norm;
}

/* Four partial sums: one would make every addition wait for the last. */
static double dot(size_t n, const double *a, const double *b)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0}, rest = 0.0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t j = 0; j < 4; j++) {
            sum[j] += a[i + j] * b[i + j];
        }
    }
    for (; i < n; i++) {
        rest += a[i] * b[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

static double largest_component(size_t n, const double *g)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(g[i]));
    }
    return largest;
}

static int is_relative(const lbfgsb *s)
{
    return s->opt.first_step > 0.0;
}

/* Drops the pairs: the model is theta I. */
static void forget_pairs(lbfgsb *s)
{
    const double largest = largest_component(s->n, s->g);
    s->pairs = 0;
    s->theta = !is_relative(s) || !(largest > 0.0) ? 1.0
               : s->curvature > 0.0                ? s->curvature
                                                   : largest / s->opt.first_step;
}

/* The fall over the last iterations, which do not remember from how high the search came. */
static double recent_fall(const lbfgsb *s)
{
    const int oldest = s->iterations < RECENT ? 0 : s->iterations % RECENT;
    return s->past[oldest] - s->f;
}

/* Is the projected gradient small? */
static int has_flat_gradient(const lbfgsb *s)
{
    const double fall = is_relative(s) ? fmin(1.0, recent_fall(s) / s->unit) : 1.0;
    return s->pg_norm <= s->opt.gtol * fall;
}

/* Largest component of P(x - g) - x, g in its unit. */
static double projected_gradient_norm(const lbfgsb *s)
{
    double norm = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        norm =
            fmax(norm, fabs(ds_box_clamp(s->x[i] - s->g[i] / s->unit, s->lower[i], s->upper[i]) - s->x[i]));
    }
    return norm;
}

/* out = W^T v over the variables of `only` (all where NULL). */
static void multiply_wt(const lbfgsb *s, const double *v, const unsigned char *only, double *out)
{
    for (int j = 0; j < s->pairs; j++) {
        const double *y = s->Y + (size_t)j * s->n, *p = s->S + (size_t)j * s->n;
        double sy = 0.0, ss = 0.0;
        if (!only) {
            sy = dot(s->n, y, v);
            ss = dot(s->n, p, v);
        }
        for (size_t i = 0; only && i < s->n; i++) {
            if (only[i]) {
                sy += y[i] * v[i];
                ss += p[i] * v[i];
            }
        }
        out[j] = sy;
        out[s->pairs + j] = s->theta * ss;
    }
}

/* Row i of W. */
static void row_of_w(const lbfgsb *s, size_t i, double *out)
{
    for (int j = 0; j < s->pairs; j++) {
        out[j] = s->Y[(size_t)j * s->n + i];
        out[s->pairs + j] = s->theta * s->S[(size_t)j * s->n + i];
    }
}

/* v <- M v. */
static void multiply_m(const lbfgsb *s, double *v)
{
    int order = 2 * s->pairs, one = 1, info;
    if (order > 0) {
        dgetrs_("N", &order, &one, s->middle, &order, s->pivot, v, &order, &info, 1);
    }
}

/* Factorises the middle matrix; 0 where it is singular. */
static int factor_middle(lbfgsb *s)
{
    int c = s->pairs, order = 2 * c, info;
    for (int j = 0; j < c; j++) {
        for (int i = 0; i < c; i++) {
            double lower_ij = i > j ? s->SY[i][j] : 0.0; /* L: strictly lower part of S^T Y */
            s->middle[i + j * order] = i == j ? -s->SY[i][i] : 0.0;
            s->middle[(c + i) + j * order] = lower_ij;
            s->middle[j + (c + i) * order] = lower_ij;
            s->middle[(c + i) + (c + j) * order] = s->theta * s->SS[i][j];
        }
    }
    dgetrf_(&order, &order, s->middle, &order, s->pivot, &info);
    return info == 0;
}

/* Restores the heap order of breakpoints below position `i`. */
static void sift_down(lbfgsb *s, size_t count, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= count) {
            return;
        }
        if (child + 1 < count && s->breakpoint[s->heap[child + 1]] < s->breakpoint[s->heap[child]]) {
            child++;
        }
        if (s->breakpoint[s->heap[i]] <= s->breakpoint[s->heap[child]]) {
            return;
        }
        size_t t = s->heap[i];
        s->heap[i] = s->heap[child];
        s->heap[child] = t;
        i = child;
    }
}

/* Steepest descent direction in s->work, the parameter t at which each variable meets its bound, and a heap
 * of the finite ones. Returns the size of the heap. */
static size_t find_breakpoints(lbfgsb *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++) {
        double g = s->g[i], t = INFINITY;
        if (g < 0.0) {
            t = (s->x[i] - s->upper[i]) / g;
        } else if (g > 0.0) {
            t = (s->x[i] - s->lower[i]) / g;
        }
        s->breakpoint[i] = t;
        s->is_free[i] = t > 0.0;
        s->work[i] = t > 0.0 ? -g : 0.0;
        s->cauchy[i] = s->x[i];
        if (t > 0.0 && isfinite(t)) {
            s->heap[count++] = i;
        }
    }
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(s, count, i);
    }
    return count;
}

/* Algorithm CP of Byrd et al.: the first local minimiser of the model along the projected steepest descent
 * path. Sets s->cauchy, s->c and s->is_free. */
static void cauchy_point(lbfgsb *s)
{
    int order = 2 * s->pairs;
    double p[2 * MAX_MEMORY], mp[2 * MAX_MEMORY], w[2 * MAX_MEMORY], mc[2 * MAX_MEMORY];
    size_t count = find_breakpoints(s);
    double *d = s->work;
    multiply_wt(s, d, NULL, p);
    memcpy(mp, p, sizeof(p));
    multiply_m(s, mp);
    memset(s->c, 0, sizeof(s->c));
    double f1 = -dot(s->n, d, d);
    double f2_first = -s->theta * f1, f2 = f2_first - dot((size_t)order, p, mp);
    double best = f1 < 0.0 ? -f1 / f2 : 0.0, t = 0.0;
    while (count > 0) {
        size_t b = s->heap[0];
        double dt = s->breakpoint[b] - t;
        if (best < dt) {
            break;
        }
        s->heap[0] = s->heap[--count];
        sift_down(s, count, 0);
        double g = s->g[b];
        s->cauchy[b] = d[b] > 0.0 ? s->upper[b] : s->lower[b];
        s->is_free[b] = 0;
        d[b] = 0.0;
        double z = s->cauchy[b] - s->x[b];
        for (int j = 0; j < order; j++) {
            s->c[j] += dt * p[j];
        }
        row_of_w(s, b, w);
        memcpy(mc, s->c, sizeof(mc));
        multiply_m(s, mc);
        f1 += dt * f2 + g * g + s->theta * g * z - g * dot((size_t)order, w, mc);
        double w_mp = dot((size_t)order, w, mp);
        memcpy(mc, w, sizeof(mc));
        multiply_m(s, mc);
        f2 -= s->theta * g * g + 2.0 * g * w_mp + g * g * dot((size_t)order, w, mc);
        f2 = fmax(DBL_EPSILON * f2_first, f2);
        for (int j = 0; j < order; j++) {
            p[j] += g * w[j];
            mp[j] += g * mc[j];
        }
        t += dt;
        best = -f1 / f2;
        if (count == 0 && dot(s->n, d, d) == 0.0) {
            best = 0.0;
        }
    }
    best = fmax(best, 0.0);
    for (size_t i = 0; i < s->n; i++) {
        if (d[i] != 0.0) {
            s->cauchy[i] = ds_box_clamp(s->x[i] + (t + best) * d[i], s->lower[i], s->upper[i]);
        }
    }
    for (int j = 0; j < order; j++) {
        s->c[j] += best * p[j];
    }
}

/* Inner matrix of the Sherman-Morrison-Woodbury formula, I - M W_F^T W_F / theta (F = free variables), and
 * v <- its inverse times M v. 0 where it is singular. */
static int solve_inner(const lbfgsb *s, double *v)
{
    double N[4 * MAX_MEMORY * MAX_MEMORY];
    int order = 2 * s->pairs, one = 1, info, pivot[2 * MAX_MEMORY];
    double *column = N;
    double *masked = s->work; /* free part of one column of W */
    for (int j = 0; j < order; j++, column += order) {
        int from_y = j < s->pairs;
        const double *source = (from_y ? s->Y : s->S) + (size_t)(from_y ? j : j - s->pairs) * s->n;
        double scale = (from_y ? 1.0 : s->theta) / s->theta;
        for (size_t i = 0; i < s->n; i++) {
            masked[i] = s->is_free[i] ? scale * source[i] : 0.0;
        }
        multiply_wt(s, masked, NULL, column);
    }
    dgetrs_("N", &order, &order, s->middle, &order, s->pivot, N, &order, &info, 1);
    for (int i = 0; i < order * order; i++) {
        N[i] = (i % (order + 1) == 0 ? 1.0 : 0.0) - N[i];
    }
    multiply_m(s, v);
    dgetrf_(&order, &order, N, &order, pivot, &info);
    if (info != 0) {
        return 0;
    }
    dgetrs_("N", &order, &one, N, &order, pivot, v, &order, &info, 1);
    return 1;
}

/* Direct primal method: the minimiser of the model over the variables that are free at the Cauchy point,
 * projected on the box, or where that is no descent direction cut back to it. Moves s->cauchy. */
static int subspace_minimum(lbfgsb *s)
{
    size_t n = s->n, free_count = 0;
    for (size_t i = 0; i < n; i++) {
        free_count += s->is_free[i];
    }
    if (free_count == 0 || s->pairs == 0) {
        return 1;
    }
    double mc[2 * MAX_MEMORY], v[2 * MAX_MEMORY], w[2 * MAX_MEMORY];
    int order = 2 * s->pairs;
    double *r = s->direction;
    memcpy(mc, s->c, sizeof(mc));
    multiply_m(s, mc);
    for (size_t i = 0; i < n; i++) {
        if (!s->is_free[i]) {
            r[i] = 0.0;
            continue;
        }
        row_of_w(s, i, w);
        r[i] = -(s->g[i] + s->theta * (s->cauchy[i] - s->x[i]) - dot((size_t)order, w, mc));
    }
    multiply_wt(s, r, s->is_free, v);
    if (!solve_inner(s, v)) {
        return 0;
    }
    double slope = 0.0, cut = 1.0;
    int clipped = 0;
    for (size_t i = 0; i < n; i++) {
        if (!s->is_free[i]) {
            s->work[i] = s->cauchy[i];
            slope += s->g[i] * (s->work[i] - s->x[i]);
            continue;
        }
        row_of_w(s, i, w);
        r[i] = (r[i] + dot((size_t)order, w, v) / s->theta) / s->theta;
        double target = s->cauchy[i] + r[i];
        s->work[i] = ds_box_clamp(target, s->lower[i], s->upper[i]);
        if (s->work[i] != target) {
            clipped = 1;
            cut = fmin(cut, (s->work[i] - s->cauchy[i]) / r[i]);
        }
        slope += s->g[i] * (s->work[i] - s->x[i]);
    }
    if (clipped && slope > 0.0) {
        for (size_t i = 0; i < n; i++) {
            s->work[i] = ds_box_clamp(s->cauchy[i] + cut * r[i], s->lower[i], s->upper[i]);
        }
    }
    memcpy(s->cauchy, s->work, n * sizeof(double));
    return 1;
}

/* Longest step along the direction inside the box. */
static double longest_step(const lbfgsb *s)
{
    double longest = 1e10;
    if (!s->constrained) {
        return longest;
    }
    if (s->iterations == 0) {
        return 1.0;
    }
    for (size_t i = 0; i < s->n; i++) {
        double d = s->direction[i];
        if (d < 0.0) {
            longest = fmin(longest, fmin(s->lower[i] - s->x[i], 0.0) / d);
        } else if (d > 0.0) {
            longest = fmin(longest, fmax(s->upper[i] - s->x[i], 0.0) / d);
        }
    }
    return longest;
}

static void set_trial(lbfgsb *s)
{
    for (size_t i = 0; i < s->n; i++) {
        double t = s->step == 1.0 ? s->cauchy[i] : s->x[i] + s->step * s->direction[i];
        s->trial[i] = ds_box_clamp(t, s->lower[i], s->upper[i]);
    }
}

/* Minimises the model at x and starts the line search. Without a descent direction the memory is dropped and
 * the model starts again from the gradient. */
static int begin_iteration(lbfgsb *s)
{
    for (;;) {
        int ok = 1;
        if (!s->constrained && s->pairs > 0) {
            memcpy(s->cauchy, s->x, s->n * sizeof(double));
            memset(s->c, 0, sizeof(s->c));
            memset(s->is_free, 1, s->n);
        } else {
            cauchy_point(s);
        }
        ok = subspace_minimum(s);
        double norm2 = 0.0;
        s->slope = 0.0;
        for (size_t i = 0; i < s->n; i++) {
            s->direction[i] = s->cauchy[i] - s->x[i];
            s->slope += s->g[i] * s->direction[i];
            norm2 += s->direction[i] * s->direction[i];
        }
        double longest = longest_step(s);
        if (ok && isfinite(norm2) && s->slope < 0.0 && longest > 0.0) {
            s->step = s->iterations == 0 && !s->boxed ? fmin(1.0 / sqrt(norm2), longest) : fmin(1.0, longest);
            s->trials = 0;
            line_search_start(&s->line, s->f, s->slope, s->step, longest);
            set_trial(s);
            return LBFGSB_EVALUATE;
        }
        if (s->pairs == 0) {
            return LBFGSB_STUCK;
        }
        forget_pairs(s);
    }
}

/* Adds the pair s = trial - x, y = gradient - g to the memory where its curvature is positive. */
static void remember_pair(lbfgsb *s, const double *gradient)
{
    size_t n = s->n;
    int m = s->opt.memory;
    double *step = s->work, *change = s->breakpoint;
    for (size_t i = 0; i < n; i++) {
        step[i] = s->trial[i] - s->x[i];
        change[i] = gradient[i] - s->g[i];
    }
    double sy = dot(n, step, change), yy = dot(n, change, change);
    if (!(sy > DBL_EPSILON * (is_relative(s) ? sqrt(yy) * sqrt(dot(n, step, step)) : yy))) {
        return;
    }
    if (s->pairs == m) {
        memmove(s->S, s->S + n, (size_t)(m - 1) * n * sizeof(double));
        memmove(s->Y, s->Y + n, (size_t)(m - 1) * n * sizeof(double));
        for (int i = 1; i < m; i++) {
            memmove(s->SY[i - 1], s->SY[i] + 1, (size_t)(m - 1) * sizeof(double));
            memmove(s->SS[i - 1], s->SS[i] + 1, (size_t)(m - 1) * sizeof(double));
        }
        s->pairs--;
    }
    int k = s->pairs++;
    memcpy(s->S + (size_t)k * n, step, n * sizeof(double));
    memcpy(s->Y + (size_t)k * n, change, n * sizeof(double));
    for (int j = 0; j <= k; j++) {
        s->SY[k][j] = dot(n, step, s->Y + (size_t)j * n);
        s->SY[j][k] = dot(n, s->S + (size_t)j * n, change);
        s->SS[k][j] = s->SS[j][k] = dot(n, step, s->S + (size_t)j * n);
    }
    s->theta = s->curvature = yy / sy;
    if (!factor_middle(s)) {
        forget_pairs(s);
    }
}

/* The line search has ended at the trial: make it the iterate, test for convergence, go on. */
static int accept_trial(lbfgsb *s, double f, const double *gradient)
{
    double f_before = s->f;
    remember_pair(s, gradient);
    memcpy(s->x, s->trial, s->n * sizeof(double));
    memcpy(s->g, gradient, s->n * sizeof(double));
    s->f = f;
    s->iterations++;
    s->pg_norm = projected_gradient_norm(s);
    if (has_flat_gradient(s)) {
        return LBFGSB_CONVERGED_G;
    }
    const double size = is_relative(s) ? recent_fall(s) : fmax(fmax(fabs(f_before), fabs(f)), 1.0);
    if (f_before - f <= s->opt.ftol * size) {
        return LBFGSB_CONVERGED_F;
    }
    s->past[s->iterations % RECENT] = f;
    if (s->iterations >= s->opt.max_iterations) {
        return LBFGSB_LIMIT;
    }
    return begin_iteration(s);
}

int lbfgsb_tell(lbfgsb *s, double f, const double *gradient)
{
    s->evaluations++;
    int finite = isfinite(f) != 0;
    for (size_t i = 0; i < s->n && finite; i++) {
        finite = isfinite(gradient[i]) != 0;
    }
    if (!s->started) {
        if (!finite) {
            return LBFGSB_NONFINITE;
        }
        s->started = 1;
        s->f = s->past[0] = f;
        memcpy(s->g, gradient, s->n * sizeof(double));
        const double largest = largest_component(s->n, gradient);
        s->unit = is_relative(s) && largest > 0.0 ? largest : 1.0;
        s->pg_norm = projected_gradient_norm(s);
        if (has_flat_gradient(s)) {
            return LBFGSB_CONVERGED_G;
        }
        forget_pairs(s);
        return s->opt.max_iterations > 0 ? begin_iteration(s) : LBFGSB_LIMIT;
    }
    s->trials++;
    double slope = finite ? dot(s->n, gradient, s->direction) : 0.0;
    if (line_search_next(&s->line, finite ? f : (double)INFINITY, slope, &s->step) == LINE_DONE) {
        if (f <= s->f && s->step > 0.0) {
            return accept_trial(s, f, gradient);
        }
        s->trials = MAX_LINE_TRIALS; /* ended without decrease: rounding has the upper hand */
    }
    if (s->evaluations >= s->opt.max_evaluations) {
        return LBFGSB_LIMIT;
    }
    if (s->trials >= MAX_LINE_TRIALS) {
        if (s->pairs == 0) {
            return LBFGSB_STUCK;
        }
        forget_pairs(s);
        return begin_iteration(s);
    }
    set_trial(s);
    return LBFGSB_EVALUATE;
}
