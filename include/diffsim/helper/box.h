/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/box.h - maps between the box of a search problem and coordinates without units.
 *
 * x are the decision variables in the units of the environment, lower <= x <= upper. Elementwise,
 *
 *     u = (x - lower) / (upper - lower) in [0, 1]     unit cube: designs, models
 *     v = 2 u - 1                       in [-1, 1]    canonical box: descents, populations
 *     d loss / d v = 0.5 (upper - lower) d loss / d x
 *
 * The loss at a point is the same number in all three. A search that works in u or v gives the same run in
 * every unit of the variables, and one length, 0.1 say, means the same share of the box for each of them.
 *
 * All functions are pure. n is the number of variables; arrays have n values and may be the same array where
 * input and output have the same meaning. The bounds are those of ds_problem: finite, lower < upper.
 *
 * Header only, in C11 and C++17; not part of the binary interface. [any]
 */
#ifndef DIFFSIM_HELPER_BOX_H
#define DIFFSIM_HELPER_BOX_H

#include <math.h>
#include <stddef.h>

/* t, or the nearer of the two bounds where t lies outside them. Returns NaN for NaN. */
static inline double ds_box_clamp(double t, double lower, double upper)
{
    return t < lower ? lower : (t > upper ? upper : t);
}

/* Half the width of an interval, d x / d v, in the unit of the bounds. Does not overflow. */
static inline double ds_box_half(double lower, double upper)
{
    return 0.5 * upper - 0.5 * lower;
}

/* Maps [-1, 1]^n to [0, 1]^n; clamps values outside. */
static inline void ds_box_u_from_v(size_t n, const double *v, double *u)
{
    for (size_t i = 0; i < n; i++) {
        u[i] = ds_box_clamp(0.5 * (v[i] + 1.0), 0.0, 1.0);
    }
}

/* Maps [0, 1]^n to [-1, 1]^n; clamps values outside. */
static inline void ds_box_v_from_u(size_t n, const double *u, double *v)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = ds_box_clamp(2.0 * u[i] - 1.0, -1.0, 1.0);
    }
}

/* Maps [-1, 1]^n to the units of the environment. The result lies inside the bounds, also after rounding. */
static inline void ds_box_x_from_v(size_t n, const double *lower, const double *upper, const double *v,
                                   double *x)
{
    for (size_t i = 0; i < n; i++) {
        double u = 0.5 * (v[i] + 1.0);
        /* The convex combination stays finite for every finite box. */
        x[i] = ds_box_clamp((1.0 - u) * lower[i] + u * upper[i], lower[i], upper[i]);
    }
}

/* Maps the units of the environment to [-1, 1]^n; clamps values outside the bounds. There and back changes
 * the last digits of x. */
static inline void ds_box_v_from_x(size_t n, const double *lower, const double *upper, const double *x,
                                   double *v)
{
    for (size_t i = 0; i < n; i++) {
        double half = ds_box_half(lower[i], upper[i]);
        v[i] = ds_box_clamp((x[i] - (0.5 * upper[i] + 0.5 * lower[i])) / half, -1.0, 1.0);
    }
}

/* Turns d loss / d x into d loss / d v, in place. */
static inline void ds_box_gradient_to_v(size_t n, const double *lower, const double *upper, double *gradient)
{
    for (size_t i = 0; i < n; i++) {
        gradient[i] *= ds_box_half(lower[i], upper[i]);
    }
}

/* Rounds a point of [-1, 1]^n or [0, 1]^n to multiples of 2^-40, in place. Use it where a search draws or
 * fits anew around a point that a descent found: in another unit of the loss the last digits of that point
 * differ, and without rounding the whole rest of the search would differ. */
static inline void ds_box_snap(size_t n, double *v)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = rint(v[i] * 0x1p40) * 0x1p-40;
    }
}

#endif
