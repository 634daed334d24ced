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

#include <diffsim/ext/channel.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/opt_kit.h>
#include <diffsim/helper/params.h>

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

/* ---- residuals and their Jacobian ---- */

/* Residuals and their Jacobian for a search in [-1, 1]^n, from what the environment offers.
 *
 *     vector       the residuals themselves (a channel of that role): 1 evaluation; their Jacobian: min(n, m)
 *                  products
 *     scalar       one residual, the loss above its floor, with its gradient as Jacobian: 1 evaluation for
 *                  both
 *     differences  the same where there is no gradient: forward differences, n evaluations
 *
 * A product or difference that fails leaves zeros: that variable stays. */

enum { LEAST_SQUARES_AUTO = 0, LEAST_SQUARES_VECTOR = 1, LEAST_SQUARES_SCALAR = 2 };

typedef struct least_squares {
    const ds_problem *problem;
    const ds_channel *vector; /* NULL = one residual */
    uint32_t channel;         /* its number */
    ds_evaluator *evaluator;  /* of the optimizer */
    ds_memory memory;
    size_t n, m, arms, chunk;      /* chunk: most rows of one request */
    double *v, *seed, *out, *loss; /* `chunk` rows of a request: points, seeds of products, products */
    uint32_t *outcome;
    double *last_loss, *last_gradient, *floor; /* of each arm: scalar */
    int *fresh;                                /* of each arm: its floor is not known yet */
    int *has_slopes; /* of each arm: last_gradient are the differences at the point of its last residual */
} least_squares;

/* Begins in run(): `wanted` is LEAST_SQUARES_*, `arms` the number of searches. After a failure the host has a
 * message. Call least_squares_free() in either case. */
ds_status least_squares_open(least_squares *q, ds_opt_kit *kit, int wanted, size_t arms);
void least_squares_free(least_squares *q);

/* A search of this arm begins. */
void least_squares_begin(least_squares *q, size_t arm);

/* r (count x m) and loss at points v (count x n) of the arms listed. Where a simulation fails the
 * loss is +INFINITY. */
ds_status least_squares_residuals(least_squares *q, ds_evaluator_label label, size_t count, const size_t *arm,
                                  const double *v, double *r, double *loss);

/* Evaluations that one Jacobian costs. */
size_t least_squares_cost(const least_squares *q);

/* J (m x n, column by column) with respect to v at the point where the residuals of the arm were last
 * computed. */
ds_status least_squares_jacobian(least_squares *q, ds_evaluator_label label, size_t arm, const double *v,
                                 double *j);

/* ---- parameters ---- */

#define LM_PARAMS                                                                                            \
    DS_ENUM("residuals", "auto", lm_residual_choices,                                                        \
            "vector = the residuals of the environment; scalar = one residual, the loss above its "          \
            "floor; auto = vector where the environment has them."),                                         \
        DS_INT("iterations", "50", 1, 1e6, "", "Most steps of a search, rejected ones included."),           \
        DS_REAL("radius", "1e4", 1e-16, 1e16, "", "Trust radius at the start: the damping is D/radius."),    \
        DS_REAL("ftol", "1e-6", 0, 1, "",                                                                    \
                "A search ends when a step lowers the loss by less than ftol times it."),                    \
        DS_REAL("xtol", "1e-8", 0, 1, "", "A search ends when a step is shorter than xtol (|x| + xtol)."),   \
        DS_REAL("gtol", "1e-10", 0, INFINITY, "",                                                            \
                "A search ends when no component of the projected gradient of the loss exceeds gtol times "  \
                "the loss, where the box is [-1, 1]."),                                                      \
        DS_ENUM("bounds", "clamp", lm_bounds_choices,                                                        \
                "clamp = a step is cut where it leaves the box; damp = besides, variables are damped the "   \
                "more, the nearer they are to the bound that the gradient leads to: fewer searches end in "  \
                "a corner.")

static const char *const lm_residual_choices[] = {"auto", "vector", "scalar", NULL};

static const char *const lm_bounds_choices[] = {"clamp", "damp", NULL};

static inline lm_options lm_read_options(ds_param_reader *in)
{
    return (lm_options){.radius = ds_param_real(in, "radius"),
                        .iterations = (size_t)ds_param_int(in, "iterations"),
                        .accept = 1e-3,
                        .ftol = ds_param_real(in, "ftol"),
                        .xtol = ds_param_real(in, "xtol"),
                        .gtol = ds_param_real(in, "gtol"),
                        .bounds = (int)ds_param_int(in, "bounds")};
}

#endif
