/* SPDX-License-Identifier: Apache-2.0 */
/* finite_difference.h - the slope of a function along a direction, from differences at many step sizes: how
 * far it can be trusted, what it is on either side, and whether a claimed slope is the right one.
 *
 * Steps are 4^-2, 4^-3, ... 4^-17 (6e-11) of the direction. Over three neighbouring steps the truncation
 * error of a smooth function falls in a known way, and round-off grows in a known way; the steps at which
 * both are least give the slope and its error. A kink at x shows by slopes of the two sides that differ, a
 * switch near x by slopes that are good at finer steps only, a jump or noise by none that is good. Where
 * round-off is what limits the slope, as in single precision, a polynomial through many values at large steps
 * knows it better (slope_fit.h). */
#ifndef DS_DIFFERENCE_FINITE_DIFFERENCE_H
#define DS_DIFFERENCE_FINITE_DIFFERENCE_H

#include <stdint.h>

/* f(x); sets *failed where there is no value. */
typedef double ds_function(void *ctx, const double *x, int *failed);

/* A function and the point to look at. */
typedef struct ds_around {
    ds_function *f;
    void *ctx;
    uint64_t n;
    double *x; /* n values; changed while f is called, and restored */
    const double *lower, *upper;
    double f_at_x;
    double noise; /* values of f may be so far from those of a smooth function; 0 = round-off alone */
    int brief; /* f is costly: about 15 values of it, in place of 40; more to check that a claim is wrong */
} ds_around;

/* A direction: `d` for the variables first, first + 1, ..., in units of x, of about the size of the box in
 * those that move; the others stay. */
typedef struct ds_direction {
    const double *d;
    uint64_t first, count;
} ds_direction;

/* A slope that somebody claims. */
typedef struct ds_claim {
    double slope;     /* NaN = nobody claims anything */
    double tolerance; /* it may be so far off */
    double scale;     /* size of the whole gradient in these units: what is small beside it is 0 */
    double precision; /* how exact its scale is, relative, for values of f as exact as round-off */
} ds_claim;

/* What differences say about a claim. */
enum {
    DS_SLOPE_AGREES,
    DS_SLOPE_KINK,    /* the sides differ, and the claim is that of one of them, or lies between */
    DS_SLOPE_UNKNOWN, /* jumps, noise or failures hide it */
    DS_SLOPE_WRONG
};

typedef struct ds_quotient {
    double value;       /* the slope; NaN where no quotient could be formed */
    double spread;      /* an estimate of its error; INFINITY = unknown */
    double step;        /* the step size of `value`, relative to the direction */
    double left, right; /* on either side; NaN where there is no room */
    double left_spread, right_spread;
    double seen; /* a claim that is farther off than this is noticed */
    int agreed;  /* `value` is good to 1e-6 of itself, or to the round-off of f */
    int kink;    /* left and right differ by more than their errors */
    int verdict; /* DS_SLOPE_*; without a claim DS_SLOPE_UNKNOWN */
    int seam;    /* set by a caller that found the gradient to jump at x (gradient_seam.h) */
} ds_quotient;

/* Looks at two steps first, and at all of them where those do not settle it. */
ds_quotient ds_difference(const ds_around *a, const ds_direction *along, const ds_claim *claim);

/* The same along variable i, with the width of the box for d; slopes are in units of f per unit of x_i.
 * `claim` (NULL = none) is in units of f, as if the box were 1 wide. */
ds_quotient ds_difference_component(const ds_around *a, uint64_t i, const ds_claim *claim);

/* The same with all steps, where two of them may settle it too early: for a claim that is to be held against
 * as much as can be known. */
ds_quotient ds_difference_component_again(const ds_around *a, uint64_t i, const ds_claim *claim);

/* "agrees", "kink", "undecided", "wrong". */
const char *ds_slope_name(int verdict);

#endif
