/* SPDX-License-Identifier: Apache-2.0 */
/* slope_fit.h - the slope at 0 of values with noise: a polynomial through many of them, by least squares.
 * Many values at large steps know a slope better than two at a small one. */
#ifndef DS_DIFFERENCE_SLOPE_FIT_H
#define DS_DIFFERENCE_SLOPE_FIT_H

#include <stddef.h>

/* Fewer values than these make no fit. */
enum { DS_FIT_LEAST = 14, DS_FIT_MOST = 64 };

typedef struct ds_slope_fit {
    double slope;
    double error; /* standard error by what is left over, and what two more orders change */
    double noise; /* what is left over: root mean square of one value */
} ds_slope_fit;

/* `count` values f at t, |t| <= width; 1 = there is a fit. Of order 5, held against order 7. */
int ds_slope_fit_make(size_t count, const double *t, const double *f, double width, ds_slope_fit *fit);

#endif
