/* SPDX-License-Identifier: Apache-2.0 */
/* box.h - the canonical coordinates of a box-bounded search.
 *
 * x are the decision variables in the units of the environment, in [lower, upper]. Elementwise,
 *     u = (x - lower) / (upper - lower) in [0, 1]     Gaussian process, acquisition, designs
 *     v = 2 u - 1                       in [-1, 1]    descents, populations
 * and d loss / d v = 0.5 (upper - lower) d loss / d x. A loss is the same function in either space.
 */
#ifndef DS_METHODS_BOX_H
#define DS_METHODS_BOX_H

#include <math.h>
#include <stddef.h>

static inline double box_clamp(double t, double lower, double upper)
{
    return t < lower ? lower : (t > upper ? upper : t);
}

static inline void box_u_from_v(size_t n, const double *v, double *u)
{
    for (size_t i = 0; i < n; i++) {
        u[i] = box_clamp(0.5 * (v[i] + 1.0), 0.0, 1.0);
    }
}

static inline void box_v_from_u(size_t n, const double *u, double *v)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = box_clamp(2.0 * u[i] - 1.0, -1.0, 1.0);
    }
}

/* The convex combination stays finite for every finite box; the clamp removes its rounding error
 * at the faces. */
static inline void box_x_from_v(size_t n, const double *lower, const double *upper, const double *v,
                                double *x)
{
    for (size_t i = 0; i < n; i++) {
        double u = 0.5 * (v[i] + 1.0);
        x[i] = box_clamp((1.0 - u) * lower[i] + u * upper[i], lower[i], upper[i]);
    }
}

static inline void box_v_from_x(size_t n, const double *lower, const double *upper, const double *x,
                                double *v)
{
    for (size_t i = 0; i < n; i++) {
        double half = 0.5 * upper[i] - 0.5 * lower[i];
        v[i] = box_clamp((x[i] - (0.5 * upper[i] + 0.5 * lower[i])) / half, -1.0, 1.0);
    }
}

/* In place: multiples of 2^-40, in [-1, 1] or [0, 1]. Where a search draws or fits anew from a point that
 * descents have found: in another unit of the loss such points differ in their last digits, and what begins
 * there would differ as a whole. */
static inline void box_snap(size_t n, double *v)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = rint(v[i] * 0x1p40) * 0x1p-40;
    }
}

/* In place: d/dx becomes d/dv. */
static inline void box_gradient_to_v(size_t n, const double *lower, const double *upper, double *gradient)
{
    for (size_t i = 0; i < n; i++) {
        gradient[i] *= 0.5 * upper[i] - 0.5 * lower[i];
    }
}

#endif
