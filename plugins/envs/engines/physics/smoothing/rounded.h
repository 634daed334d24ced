/* SPDX-License-Identifier: Apache-2.0 */
/* rounded.h - distance of a point to a box with round or sharp corners in the plane, with its normal and
 * curvature. */
#ifndef DS_ENGINES_ROUNDED_H
#define DS_ENGINES_ROUNDED_H

#include <math.h>

/* Distance, negative inside; unit normal n (the derivative of the distance); dn = curvature (I - n n') dp. */
typedef struct rounded {
    double distance, n[2], curvature;
} rounded;

/* p counts from the middle; the box has half sizes a, b and is grown by `radius` all around: with round
 * corners, or as a larger box. */
static inline rounded rounded_box(const double p[2], double a, double b, double radius, int round)
{
    const double x = fabs(p[0]) - a, y = fabs(p[1]) - b, sx = copysign(1, p[0]), sy = copysign(1, p[1]);
    if (round && x > 0 && y > 0) {
        const double far = hypot(x, y);
        return (rounded){far - radius, {sx * x / far, sy * y / far}, 1 / far};
    }
    return x > y ? (rounded){x - radius, {sx, 0}, 0} : (rounded){y - radius, {0, sy}, 0};
}

#endif
