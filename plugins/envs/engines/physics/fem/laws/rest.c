/* SPDX-License-Identifier: Apache-2.0 */
/* rest.c - see rest.h. Gradients of linear shape functions: the rows of the inverse of the edge matrix. */
#include "rest.h"

#include "engines/physics/fem/laws/vec3.h"

#include <math.h>

/* Sizes relative to the edges, below which rounding decides. */
static const double flat = 1e-12;

double fem_rest_triangle(const double *q0, const double *q1, const double *q2, double inverse[4])
{
    const vec3 a = v3_minus(v3(q1), v3(q0)), b = v3_minus(v3(q2), v3(q0)), n = v3_cross(a, b);
    const double twice = v3_length(n), along = v3_length(a);
    if (!(twice > flat * along * v3_length(b)) || !isfinite(twice)) {
        return 0;
    }
    /* in the basis e1 along a, e2 = n x e1: a = (along, 0), b = (b.e1, twice / along) */
    const double bx = v3_dot(a, b) / along, by = twice / along;
    inverse[0] = 1 / along;
    inverse[1] = -bx / (along * by);
    inverse[2] = 0;
    inverse[3] = 1 / by;
    return twice / 2;
}

double fem_rest_tet(const double *q0, const double *q1, const double *q2, const double *q3, double inverse[9])
{
    const vec3 a = v3_minus(v3(q1), v3(q0)), b = v3_minus(v3(q2), v3(q0)), c = v3_minus(v3(q3), v3(q0));
    const vec3 row[3] = {v3_cross(b, c), v3_cross(c, a), v3_cross(a, b)};
    const double six = v3_dot(a, row[0]);
    if (!(six > flat * v3_length(a) * v3_length(b) * v3_length(c)) || !isfinite(six)) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        inverse[3 * i] = row[i].x / six;
        inverse[3 * i + 1] = row[i].y / six;
        inverse[3 * i + 2] = row[i].z / six;
    }
    return six / 6;
}

double fem_rest_edge(const double *p1, const double *p2, const double *p3, const double *p4, double *angle)
{
    const vec3 x1 = v3(p1), x2 = v3(p2), x3 = v3(p3), x4 = v3(p4), e = v3_minus(x4, x3);
    const vec3 a = v3_minus(x3, x1), b = v3_minus(x4, x1), c = v3_minus(x4, x2), d = v3_minus(x3, x2);
    const vec3 n1 = v3_cross(a, b), n2 = v3_cross(c, d);
    const double length = v3_length(e);
    if (!(v3_length(n1) > flat * v3_length(a) * v3_length(b) &&
          v3_length(n2) > flat * v3_length(c) * v3_length(d) && length > 0 && isfinite(length))) {
        return 0;
    }
    *angle = atan2(v3_dot(v3_cross(n2, n1), e) / length, v3_dot(n1, n2));
    return length;
}
