/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_seam.h - where a gradient disagrees with differences: is it wrong, or does x lie on a seam? At
 * ties of contacts, of bodies at rest, of clamps a piecewise smooth loss has a gradient on every piece, and a
 * program that takes one branch of each tie may return none of them. That is no wrong term: beside x it is
 * right. */
#ifndef DS_DIFFERENCE_GRADIENT_SEAM_H
#define DS_DIFFERENCE_GRADIENT_SEAM_H

#include "difference/gradient_claim.h"

/* The gradient at x, n values; 0 where there is none. */
typedef int ds_gradient_function(void *ctx, const double *x, double *grad);

typedef struct ds_beside {
    const ds_around *around;        /* its ctx is also that of the gradient */
    const ds_gradient_claim *claim; /* the gradient at x */
    ds_gradient_function *gradient;
    double *room; /* 2 n numbers */
    uint64_t key; /* of the points beside x */
} ds_beside;

/* Along a direction the gradient is `off` by so much. Does it jump by a part of that within 1e-7 of the box
 * (six points are looked at), or, for one variable at its bound, is it right where the others are elsewhere?
 * Variables that the direction moves stay where they are at a bound: what is wrong at bounds is wrong beside
 * them, too. 1 = a seam. */
int ds_on_seam(const ds_beside *b, const ds_direction *along, double off);

#endif
