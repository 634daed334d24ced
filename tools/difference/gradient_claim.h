/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_claim.h - the slopes that a gradient claims and their precision, scaled by the width of the box so
 * that components of different units compare; and seams, where the gradient itself jumps. */
#ifndef DS_DIFFERENCE_GRADIENT_CLAIM_H
#define DS_DIFFERENCE_GRADIENT_CLAIM_H

#include "difference/finite_difference.h"

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

/* The gradient is `off` by this much along a direction. Returns 1 for a seam: it jumps by a part of that
 * within 1e-7 of the box (six points are tried), or, for one variable at its bound, it is right where the
 * other variables are elsewhere. Moving variables at a bound stay there: an error at a bound is an error next
 * to it. */
int ds_on_seam(const ds_seam_test *b, const ds_direction *along, double off);

#endif
