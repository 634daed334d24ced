/* SPDX-License-Identifier: Apache-2.0 */
/* finite_difference.h - the slope of a function along a direction, from differences at many step sizes: its
 * error, the slopes on both sides, and whether a claimed slope is correct.
 *
 * Steps are 4^-2, 4^-3, ... 4^-17 (6e-11) of the direction. Over three neighbouring steps the truncation
 * error of a smooth function falls, and round-off grows, in a known way; the steps where both are least give
 * the slope and its error. A kink at x shows as different slopes on the two sides, a switch near x as slopes
 * that agree at fine steps only, a jump or noise as slopes that never agree. Where round-off limits the
 * slope, as in single precision, a polynomial fitted to many values at large steps is more exact. */
#ifndef DS_DIFFERENCE_FINITE_DIFFERENCE_H
#define DS_DIFFERENCE_FINITE_DIFFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Returns f(x); sets *failed where there is no value. */
typedef double ds_function(void *ctx, const double *x, int *failed);

/* A function and the point to look at. */
typedef struct ds_around {
    ds_function *f;
    void *ctx;
    uint64_t n;
    double *x; /* n values; changed while f is called, and restored */
    const double *lower, *upper;
    double f_at_x;
    double noise; /* bound on how far f may be from a smooth function; 0 = round-off alone */
    /* f is costly: use about 15 values instead of 40, and more only to confirm that a claim is wrong */
    int brief;
} ds_around;

/* A direction: `d` for variables first, first + 1, ..., in units of x and about as long as the box is wide.
 * The other variables stay. */
typedef struct ds_direction {
    const double *d;
    uint64_t first, count;
} ds_direction;

/* A claimed slope. */
typedef struct ds_claim {
    double slope;     /* NaN = no claim */
    double tolerance; /* absolute error allowed */
    double scale;     /* size of the whole gradient in the same units; components far below it count as 0 */
    double precision; /* relative precision of its scale, for values of f exact up to round-off */
} ds_claim;

/* The verdict about a claim. */
enum {
    DS_SLOPE_AGREES,
    DS_SLOPE_KINK,    /* the sides differ, and the claim equals one of them or lies between */
    DS_SLOPE_UNKNOWN, /* undecided: jumps, noise or failures hide the slope */
    DS_SLOPE_WRONG
};

typedef struct ds_quotient {
    double value;       /* the slope; NaN where no quotient could be formed */
    double spread;      /* an estimate of its error; INFINITY = unknown */
    double step;        /* the step size of `value`, relative to the direction */
    double left, right; /* slope on either side; NaN where there is no room */
    double left_spread, right_spread;
    double seen; /* claims that are off by more than this are noticed */
    int agreed;  /* `value` is good to 1e-6 of itself, or to the round-off of f */
    int kink;    /* left and right differ by more than their errors */
    int verdict; /* DS_SLOPE_*; DS_SLOPE_UNKNOWN without a claim */
    int seam;    /* DS_SEAM_*, set by callers that find that the gradient jumps at x (ds_on_seam()) */
} ds_quotient;

/* Tries two steps first, and all of them where those do not settle it. */
ds_quotient ds_difference(const ds_around *a, const ds_direction *along, const ds_claim *claim);

/* The same along variable i with the width of the box as direction; slopes are in units of f per unit of x_i.
 * `claim` (may be NULL) is in units of f, for a box of width 1. */
ds_quotient ds_difference_component(const ds_around *a, uint64_t i, const ds_claim *claim);

/* The same with all steps, without the shortcut of two: for claims that need the most thorough comparison. */
ds_quotient ds_difference_component_again(const ds_around *a, uint64_t i, const ds_claim *claim);

/* "agrees", "kink", "undecided", "wrong". */
const char *ds_slope_name(int verdict);

/* ---- the slope at 0 of noisy values: a least-squares polynomial ---- */

/* Fewer values than DS_FIT_LEAST are not fitted. */
enum { DS_FIT_LEAST = 14, DS_FIT_MOST = 64 };

typedef struct ds_slope_fit {
    double slope;
    double error; /* standard error from the residual, plus the change by two more orders */
    double noise; /* residual: root mean square of one value */
} ds_slope_fit;

/* Fits `count` values f at t, |t| <= width, with order 5, compared with order 7. Returns 1, or 0 where there
 * is no fit. */
int ds_slope_fit_make(size_t count, const double *t, const double *f, double width, ds_slope_fit *fit);

/* ---- claims of a gradient ---- */

/* The slopes that a gradient claims and their precision, scaled by the width of the box so
 * that components of different units compare; and seams, where the gradient itself jumps. */

typedef struct ds_gradient_claim {
    const double *grad;
    double scale;     /* largest component */
    double relative;  /* precision of a component relative to itself, */
    double precision; /* and relative to the scale */
    int single;       /* all components are single-precision numbers */
} ds_gradient_claim;

/* `kind` is a DS_GRAD_*; `tolerance` is that of an inexact environment, else 0. Gradients in single precision
 * or from finite differences are held to less. */
ds_gradient_claim ds_gradient_claim_make(uint64_t n, const double *grad, const double *lower,
                                         const double *upper, uint32_t kind, double tolerance);

/* The slope along a direction. */
ds_claim ds_gradient_claim_along(const ds_gradient_claim *g, const ds_direction *along);

/* The claim about component i, for ds_difference_component(). */
ds_claim ds_gradient_claim_of(const ds_gradient_claim *g, uint64_t i, double width);

/* Index of the first component that is not finite; n where all are. */
uint64_t ds_first_not_finite(uint64_t n, const double *grad);

/* ---- seams ---- */

/* A piecewise smooth loss has one gradient per piece. At ties of contacts, bodies at rest or clamps, a
 * program that takes one branch of each tie may return none of them, although no term is wrong: next to x its
 * gradient is right. */

/* Computes the n values of the gradient at x; 0 where there is none. */
typedef int ds_gradient_function(void *ctx, const double *x, double *grad);

typedef struct ds_seam_test {
    const ds_around *around;        /* its ctx is also that of `gradient` */
    const ds_gradient_claim *claim; /* the gradient at x */
    ds_gradient_function *gradient;
    double *room; /* 2 n numbers */
    uint64_t key; /* seed of the nearby points */
} ds_seam_test;

/* Why a gradient that disagrees is no error. */
enum {
    DS_SEAM_NONE, /* it is one */
    DS_SEAM_NEAR, /* the gradient jumps next to x */
    DS_SEAM_BOUND /* a kink at the bound of one variable: one step inside the gradient equals the quotient */
};

/* The quotient along a direction is `off` more than the gradient. Returns DS_SEAM_NEAR where that jumps by a
 * part of it within 1e-7 of the box (six points are tried), or, for one variable at its bound, where it is
 * right with the other variables elsewhere; moving variables at a bound stay there, since an error at a bound
 * is an error next to it. Returns DS_SEAM_BOUND for one variable whose derivative at the bound is not 0, as
 * that of a clamp would be, and equals the quotient one step inside, unless most other variables at their
 * bounds jump as well. */
int ds_on_seam(const ds_seam_test *b, const ds_direction *along, double off);

#endif
