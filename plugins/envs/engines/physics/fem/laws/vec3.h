/* SPDX-License-Identifier: Apache-2.0 */
/* vec3.h - vectors of three numbers for the scalar laws. */
#ifndef DS_ENGINES_FEM_VEC3_H
#define DS_ENGINES_FEM_VEC3_H

#include <math.h>

typedef struct vec3 {
    double x, y, z;
} vec3;

static inline vec3 v3(const double *p)
{
    return (vec3){p[0], p[1], p[2]};
}

static inline vec3 v3_plus(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline vec3 v3_minus(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec3 v3_times(double s, vec3 a)
{
    return (vec3){s * a.x, s * a.y, s * a.z};
}

/* a + s b */
static inline vec3 v3_along(vec3 a, double s, vec3 b)
{
    return (vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static inline double v3_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 v3_cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double v3_length(vec3 a)
{
    return sqrt(v3_dot(a, a));
}

#endif
