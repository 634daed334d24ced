/* SPDX-License-Identifier: Apache-2.0 */
/* box_field.h - the pressure field of a box along the ground: the depth of a point below the nearest of its
 * four sides, which is linear between the points where two sides are equally near. */
#ifndef DS_ENGINES_BOX_FIELD_H
#define DS_ENGINES_BOX_FIELD_H

#include <math.h>

/* Depth below a side of the box along the ground, at + along X, and the derivatives of both by height and
 * tilt. X is relative to the centre. */
typedef struct box_side {
    double at, along, at_bar[2], along_bar[2];
} box_side;

enum { BOX_SIDES = 4, BOX_CROSSINGS = 10 };

/* a -+ x_B and b -+ y_B with x_B = X cos - y sin, y_B = -X sin - y cos at height y. */
static inline void box_sides(double a, double b, double y, double tilt, box_side out[BOX_SIDES])
{
    const double c = cos(tilt), s = sin(tilt);
    for (int k = 0; k < BOX_SIDES; k++) {
        const double sign = k % 2 == 0 ? -1 : 1;
        out[k] = k < 2 ? (box_side){a - sign * s * y, sign * c, {-sign * s, -sign * c * y}, {0, -sign * s}}
                       : (box_side){b - sign * c * y, -sign * s, {-sign * c, sign * s * y}, {0, -sign * c}};
    }
}

/* Least depth at X, and the side it is of. */
static inline double box_depth(const box_side sides[BOX_SIDES], double x, int *which)
{
    double least = HUGE_VAL;
    for (int k = 0; k < BOX_SIDES; k++) {
        const double depth = sides[k].at + sides[k].along * x;
        if (depth < least) {
            least = depth;
            *which = k;
        }
    }
    return least;
}

/* Inserts x into the ascending numbers of `out`; returns their number. */
static inline int box_insert(double x, int count, double *out)
{
    int k = count++;
    for (; k > 0 && out[k - 1] > x; k--) {
        out[k] = out[k - 1];
    }
    out[k] = x;
    return count;
}

/* Writes, in order, the X where two sides are equally deep or one has depth 0. */
static inline int box_crossings(const box_side sides[BOX_SIDES], double out[BOX_CROSSINGS])
{
    int count = 0;
    for (int i = 0; i < BOX_SIDES; i++) {
        for (int j = i; j < BOX_SIDES; j++) {
            const double along = i == j ? sides[i].along : sides[i].along - sides[j].along;
            const double at = i == j ? sides[i].at : sides[i].at - sides[j].at, x = -at / along;
            if (fabs(along) > 0 && isfinite(x)) {
                count = box_insert(x, count, out);
            }
        }
    }
    return count;
}

/* Corner k of a tilted box relative to its centre, and its derivative by the tilt, which is (-y, x). */
static inline void box_corner(double a, double b, double tilt, int k, double out[2])
{
    const double px = k % 2 == 0 ? -a : a, py = k < 2 ? -b : b, c = cos(tilt), s = sin(tilt);
    out[0] = c * px - s * py;
    out[1] = s * px + c * py;
}

#endif
