/* SPDX-License-Identifier: Apache-2.0 */
/* vec3.h - what the renderers need of three-vectors. */
#ifndef DS_ENGINES_RENDER_VEC3_H
#define DS_ENGINES_RENDER_VEC3_H

#include <math.h>

static inline double vec3_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void vec3_cross(const double a[3], const double b[3], double out[3])
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

/* to += scale a */
static inline void vec3_add(double to[3], double scale, const double a[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] += scale * a[i];
    }
}

static inline void vec3_add_cross(double to[3], double scale, const double a[3], const double b[3])
{
    double c[3];
    vec3_cross(a, b, c);
    vec3_add(to, scale, c);
}

static inline void vec3_minus(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = a[i] - b[i];
    }
}

/* Makes `a` a unit vector and returns the length that it had; a stays 0 where that is 0. */
static inline double vec3_unit(double a[3])
{
    double length = sqrt(vec3_dot(a, a));
    for (int i = 0; i < 3; i++) {
        a[i] = length > 0 ? a[i] / length : 0;
    }
    return length;
}

/* out = the derivatives by a vector of what has the derivatives `bar` by its unit vector; also the change of
 * the unit vector along `bar`. Length > 0. */
static inline void vec3_unit_adjoint(const double unit[3], double length, const double bar[3], double out[3])
{
    double along = vec3_dot(unit, bar);
    for (int i = 0; i < 3; i++) {
        out[i] = (bar[i] - along * unit[i]) / length;
    }
}

static inline int vec3_finite(const double a[3])
{
    return isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
}

#endif
