/* SPDX-License-Identifier: Apache-2.0 */
/* lbfgsb.h - limited-memory BFGS in a box.
 *
 * R. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM
 * J. Sci. Comput. 16 (1995), with the projected subspace step of J. Morales and J. Nocedal, ACM Trans. Math.
 * Softw. 38 (2011), and the line search of More and Thuente. Deterministic. The caller evaluates, so that
 * several searches can advance in step and share one batch of evaluations:
 *
 *     lbfgsb_start(s, x0);
 *     do {
 *         f = objective(lbfgsb_point(s), g);
 *     } while (lbfgsb_tell(s, f, g) == LBFGSB_EVALUATE);
 *     x = lbfgsb_solution(s, &f);
 */
#ifndef DS_METHODS_LBFGSB_H
#define DS_METHODS_LBFGSB_H

#include <stddef.h>

/* ---- line search ---- */

/* The line search of J. More and D. Thuente, "Line search algorithms with guaranteed
 * sufficient decrease", ACM Trans. Math. Softw. 20 (1994), driven by its caller.
 *
 * It looks for a step t in (0, step_max] with phi(t) <= phi(0) + decrease t phi'(0) and |phi'(t)| <=
 * curvature |phi'(0)|, where phi(t) is the objective along a descent direction. */

/* One end of the interval that holds the minimiser: step, value and slope there. */
typedef struct line_point {
    double t, f, g;
} line_point;

typedef struct line_search {
    double decrease, curvature, width_tol; /* relative width of the interval at which the search gives up */
    double step_min, step_max;
    /* `best` has the least value so far; `other` is the far end of the interval */
    line_point start, best, other;
    double trial_min, trial_max; /* bounds of the next trial */
    double width, width_before;  /* of the interval, now and one step ago */
    int bracketed;               /* the interval holds a minimiser */
    int auxiliary;               /* still working on the auxiliary function phi - decrease phi'(0) t */
} line_search;

enum { LINE_EVALUATE, LINE_DONE };

typedef struct lbfgsb_options {
    int memory;  /* pairs (s, y) kept, 1 to 20; usual 10 */
    double ftol; /* stop when (f_k - f_{k+1}) <= ftol max(|f_k|, |f_{k+1}|, 1) */
    double gtol; /* stop when the largest component of the projected gradient is <= gtol */
    int max_iterations;
    int max_evaluations;
    /* 0: the first step is the gradient. Above 0, nothing depends on the unit or the zero of the objective:
     * the largest component of the first step is first_step, ftol is a share of the fall over the last 10
     * iterations, gtol of the first gradient, or of the gradient that loses that fall over a length of 1. */
    double first_step;
} lbfgsb_options;

#define LBFGSB_DEFAULTS                                                                                      \
    {                                                                                                        \
        10, 2.220446049250313e-9, 1e-5, 15000, 15000, 0                                                      \
    }

enum {
    LBFGSB_EVALUATE,    /* evaluate lbfgsb_point() next */
    LBFGSB_CONVERGED_G, /* projected gradient */
    LBFGSB_CONVERGED_F, /* relative decrease */
    LBFGSB_LIMIT,       /* iterations or evaluations */
    LBFGSB_STUCK,       /* the line search found no lower point along the projected gradient */
    LBFGSB_NONFINITE    /* value or gradient at the start is not finite */
};

typedef struct lbfgsb lbfgsb;

/* NULL without memory. Bounds are copied; -INFINITY and INFINITY stand for none. */
lbfgsb *lbfgsb_create(size_t n, const double *lower, const double *upper, const lbfgsb_options *options);
void lbfgsb_destroy(lbfgsb *s);

/* Begins at x0, clamped to the box. */
void lbfgsb_start(lbfgsb *s, const double *x0);

/* The same for another search of the same objective, with first_step > 0: its first step has the curvature of
 * the last model. */
void lbfgsb_start_again(lbfgsb *s, const double *x0);

/* The point to evaluate next, inside the box. */
const double *lbfgsb_point(const lbfgsb *s);

/* Takes the value and the gradient at lbfgsb_point(). */
int lbfgsb_tell(lbfgsb *s, double f, const double *gradient);

/* The last accepted point (the best one: accepted values decrease), its value, and its cost. */
const double *lbfgsb_solution(const lbfgsb *s, double *f);
int lbfgsb_iterations(const lbfgsb *s);
int lbfgsb_evaluations(const lbfgsb *s);
double lbfgsb_projected_gradient(const lbfgsb *s);

#endif
