/* SPDX-License-Identifier: Apache-2.0 */
/* pan_shape.c - see pan_shape.h. */
#include "pan_shape.h"

#include <math.h>

enum { FLAT = 3 /* rings of the flat part */ };
static const double innermost = 0.001, turn_of_circle = 6.283185307179586; /* m, rad */

void pan_shape_triangles(uint32_t *triangle)
{
    for (uint32_t r = 0; r + 1 < PAN_RINGS; r++) {
        for (uint32_t s = 0; s < PAN_SECTORS; s++) {
            uint32_t a = r * PAN_SECTORS + s, b = r * PAN_SECTORS + (s + 1) % PAN_SECTORS;
            const uint32_t two[6] = {a, b, b + PAN_SECTORS, a, b + PAN_SECTORS, a + PAN_SECTORS};
            for (int k = 0; k < 6; k++) {
                *triangle++ = two[k];
            }
        }
    }
}

void pan_shape_points(const touch_pan *pan, const touch_pose *at, double *out)
{
    for (int r = 0; r < PAN_RINGS; r++) {
        double flat = pan->flat, rim = pan->radius - flat;
        double radius = r < FLAT ? innermost + 0.5 * r * (flat - innermost)
                                 : flat + rim * (r - FLAT + 1) / (PAN_RINGS - FLAT);
        double over = fmax(0, radius - flat), y = pan->curve * over * over;
        for (int s = 0; s < PAN_SECTORS; s++) {
            double turn = turn_of_circle * s / PAN_SECTORS, x = radius * cos(turn);
            *out++ = at->x + cos(at->tilt) * x - sin(at->tilt) * y;
            *out++ = at->y + sin(at->tilt) * x + cos(at->tilt) * y;
            *out++ = radius * sin(turn);
        }
    }
}
