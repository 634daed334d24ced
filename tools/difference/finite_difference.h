/* SPDX-License-Identifier: Apache-2.0 */
/* finite_difference.h - finite differences that know how far they can be trusted: the step is chosen per
 * component. */
#ifndef DS_DIFFERENCE_FINITE_DIFFERENCE_H
#define DS_DIFFERENCE_FINITE_DIFFERENCE_H

#include <stdint.h>

/* f(x); sets *failed where there is no value. */
typedef double ds_function(void *ctx, const double *x, int *failed);

typedef struct ds_quotient {
    double value;  /* d f / d x_i, NaN where no quotient could be formed */
    double spread; /* disagreement of the two best step sizes: an estimate of the error */
    double step;   /* the step size of `value`, in units of x_i */
    int agreed;    /* the quotients of two step sizes agree to 1e-6 relative or to their round-off */
} ds_quotient;

/* The quotient along direction `d` (n values; in units of x, of about the size of the box in the components
 * that move). Central where the box allows it, else one-sided of second order. Steps 1e-4, 1e-5, 1e-6, 1e-7
 * times d are tried in this order until two neighbours agree; where none do, the pair that agrees best is
 * taken. `x` is restored. */
ds_quotient ds_difference(ds_function *f, void *ctx, uint64_t n, double *x, const double *lower,
                          const double *upper, const double *d, double f_at_x);

/* The same for component i, with d = (upper - lower) e_i; value in units of f per unit of x_i. */
ds_quotient ds_difference_component(ds_function *f, void *ctx, uint64_t n, double *x, const double *lower,
                                    const double *upper, uint64_t i, double f_at_x);

#endif
