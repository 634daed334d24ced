/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_claim.h - what a gradient says about slopes, and how exact it is meant to be. Everything is scaled
 * by the width of the box, so that components of different units compare. */
#ifndef DS_DIFFERENCE_GRADIENT_CLAIM_H
#define DS_DIFFERENCE_GRADIENT_CLAIM_H

#include "difference/finite_difference.h"

typedef struct ds_gradient_claim {
    const double *grad;
    double scale;     /* longest component */
    double relative;  /* how exact each of them is, relative to itself, */
    double precision; /* and relative to the scale */
    int single;       /* every component is a number of single precision */
} ds_gradient_claim;

/* `kind` is a DS_GRAD_*; `tolerance` that of an inexact environment, else 0. A gradient in single precision,
 * or one made by finite differences, is held to less. */
ds_gradient_claim ds_gradient_claim_make(uint64_t n, const double *grad, const double *lower,
                                         const double *upper, uint32_t kind, double tolerance);

/* The slope along a direction. */
ds_claim ds_gradient_claim_along(const ds_gradient_claim *g, const ds_direction *along);

/* The claim about component i, for ds_difference_component(). */
ds_claim ds_gradient_claim_of(const ds_gradient_claim *g, uint64_t i, double width);

/* The first component that is not finite; n where all are. */
uint64_t ds_gradient_wild(uint64_t n, const double *grad);

#endif
