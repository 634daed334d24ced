/* SPDX-License-Identifier: Apache-2.0 */
/* levenberg.h - the Levenberg-Marquardt method for least squares in a box, driven by its caller: it returns
 * what to evaluate next. K. Levenberg 1944, D. Marquardt 1963; damping as in K. Madsen, H. Nielsen, O.
 * Tingleff, "Methods for non-linear least squares problems", 2004, with the constants of the library Ceres.
 *
 * Minimises L(x) = |r(x)|^2 / 2. With D = max(diag J^T J, 1e-6 of its largest component at the start) and the
 * trust radius mu a step p minimises |J p + r|^2 + p^T D p / mu over the free variables: those that are not
 * at a bound towards which L falls; steps out of the box are clamped.
 *
 * LM_DAMPED_BOUNDS adds |g_i| / v_i to D_ii / mu, g the gradient of L and v_i the distance to the bound
 * towards which L falls: the scaling of T. Coleman, Y. Li, "An interior trust region approach for nonlinear
 * minimization subject to bounds" (1996). A step towards a near bound gets short, so that a few bad steps do
 * not end in a corner. At a minimum the term is 0: inside because g is, at a bound because the variable is
 * not free. */
#ifndef DS_METHODS_LEVENBERG_H
#define DS_METHODS_LEVENBERG_H

#include <stddef.h>

enum { LM_CLAMPED_BOUNDS, LM_DAMPED_BOUNDS };

typedef struct lm_options {
    double radius;     /* mu at the start, 1e4 */
    size_t iterations; /* most trial steps, rejected ones included, 50 */
    double accept;     /* least ratio of actual to predicted decrease, 1e-3 */
    double ftol;       /* ends when a step lowers L by less than ftol L, 1e-6 */
    double xtol;       /* ends when |p| < xtol (|x| + xtol), 1e-8 */
    double
        gtol;   /* ends when no component of the projected gradient of L exceeds this share of the largest one
                          at the start, 1e-10 */
    int bounds; /* LM_*_BOUNDS */
} lm_options;

typedef struct lm lm;

/* n variables, m residuals. The options are copied. NULL without memory. */
lm *lm_create(size_t n, size_t m, const double *lower, const double *upper, const lm_options *options);
void lm_destroy(lm *s);

/* What comes next. */
enum {
    LM_RESIDUALS, /* r at lm_point() is wanted */
    LM_JACOBIAN,  /* J at lm_point() is needed, where r was passed last */
    LM_DONE
};

/* Begins a search at a point of the box (clamped): LM_RESIDUALS. */
int lm_start(lm *s, const double *x);

/* The point at which something is wanted; after LM_DONE the best one. n values, owned by s. */
const double *lm_point(const lm *s);

/* Takes r[m]; NULL = there is none here: a trial step is taken back, a search that begins there ends. */
int lm_tell_residuals(lm *s, const double *r);

/* Takes J, m x n, column by column. */
int lm_tell_jacobian(lm *s, const double *j);

/* L at the best point so far; +INFINITY where there is none. */
double lm_cost(const lm *s);

#endif
