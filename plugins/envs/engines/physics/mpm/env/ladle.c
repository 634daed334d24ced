/* SPDX-License-Identifier: Apache-2.0 */
/* ladle.c - see ladle.h. */
#include "engines/physics/mpm/env/ladle.h"

#include <math.h>
#include <string.h>

enum { RINGS = MPM_LADLE_RINGS, SECTORS = MPM_LADLE_SECTORS };

void mpm_ladle_mesh(double radius, double half, double *point, uint32_t *index)
{
    const double pi = acos(-1.0);
    for (int r = 0; r < RINGS; r++) {
        double at = 10.0 * r / (RINGS - 1) - 5.0; /* -5 .. -1 outside, 1 .. 5 inside */
        double side = at < 0.0 ? 1.0 : -1.0;
        double turn = 0.5 * pi * (5.0 - fabs(at)) / 4.0, lip = 0.5 * pi * (1.0 + at);
        double own = radius + side * half;
        double x = fmax(own * sin(turn), 1e-4), y = -own * cos(turn);
        if (fabs(at) < 1.0) {
            x = radius + half * cos(lip);
            y = half * sin(lip);
        }
        for (int s = 0; s < SECTORS; s++) {
            double *v = point + 3 * (r * SECTORS + s);
            v[0] = x * cos(2.0 * pi * s / SECTORS);
            v[1] = y;
            v[2] = x * sin(2.0 * pi * s / SECTORS);
        }
    }
    for (uint32_t r = 0; r + 1 < RINGS; r++) {
        for (uint32_t s = 0; s < SECTORS; s++) {
            uint32_t a = r * SECTORS + s, b = r * SECTORS + (s + 1) % SECTORS;
            const uint32_t quad[6] = {a, a + SECTORS, b, b, a + SECTORS, b + SECTORS};
            memcpy(index, quad, sizeof quad);
            index += 6;
        }
    }
}
