/* SPDX-License-Identifier: Apache-2.0 */
/* ball_lanes.h - kernels for the flights of balls side by side, one in each lane of a vector
 * (engines/kit/lanes.h); their impacts are those of ball.c, one after the other. */
#ifndef DS_ENGINES_BALL_LANES_H
#define DS_ENGINES_BALL_LANES_H

#include "shape.h"

#include <stdint.h>

typedef struct ball ball; /* ball.h */

typedef struct ball_course {
    double h, fall;    /* change of the velocity in a step */
    double radius;     /* m */
    double edges[4];   /* of the centre: x at the left and right wall, y at the bottom and top one */
    int semi;          /* BALL_SEMI_IMPLICIT */
    uint64_t n, steps; /* boxes */
    const shape_box *box;
} ball_course;

/* Step t of a ball that touches something, or may do so: as in ball_simulate(). */
typedef void ball_impact(ball *b, uint64_t t, double q[2], double v[2]);

typedef struct ball_lanes {
    const char *isa;
    uint64_t width;
    /* state, in and out: x, y, vx, vy (`width` each). turn: cosine and sine of each box (`width` each). */
    void (*simulate)(const ball_course *c, const double *turn, ball *const *lane, ball_impact *impact,
                     double *state);
} ball_lanes;

/* The kernels of this machine. */
const ball_lanes *ball_lanes_find(void);

#endif
