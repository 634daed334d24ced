/* SPDX-License-Identifier: Apache-2.0 */
/* vec3.h - three-vectors of the renderers, in addition to those of kit/algebra/mat3.h. */
#ifndef DS_ENGINES_RENDER_VEC3_H
#define DS_ENGINES_RENDER_VEC3_H

#include "engines/kit/algebra/mat3.h"

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

/* Normalises a and returns its former length; a = 0 stays 0. */
static inline double vec3_unit(double a[3])
{
    double length = sqrt(vec3_dot(a, a));
    for (int i = 0; i < 3; i++) {
        a[i] = length > 0 ? a[i] / length : 0;
    }
    return length;
}

/* out = the derivatives by a vector, from the derivatives `bar` by its unit vector; also the change of the
 * unit vector along `bar`. Length > 0. */
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
