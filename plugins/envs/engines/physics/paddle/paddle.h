/* SPDX-License-Identifier: Apache-2.0 */
/* paddle.h - a ball and a paddle that a linear policy moves, with impacts, as in figure 8 of H. J. T. Suh et
 * al., "Do differentiable simulators give better policy gradients?", ICML 2022: constants, and kernels for
 * many episodes side by side (engines/kit/lanes.h); paddle_step.h has the equations. */
#ifndef DS_ENGINES_PADDLE_H
#define DS_ENGINES_PADDLE_H

#include <stdint.h>

/* A state; a control is the velocity of the paddle: x, y, angle. */
enum {
    PADDLE_BX,
    PADDLE_BY,
    PADDLE_VX,
    PADDLE_VY,
    PADDLE_PX,
    PADDLE_PY,
    PADDLE_ANGLE,
    PADDLE_STATES,
    PADDLE_CONTROLS = 3,
    PADDLE_RECORD = PADDLE_STATES + PADDLE_CONTROLS /* vectors of a record: state, control */
};

typedef struct paddle_law {
    int has_toi;        /* an impact at its time within the step; 0: only the velocity is reflected */
    double h;           /* s */
    double half, pad;   /* m, half width and half height of the paddle */
    double radius;      /* m, of the ball */
    double keep;        /* share of the velocity that remains after a step */
    double restitution; /* of an impact */
} paddle_law;

/* The quadratic cost of an episode, as in struct rollout. */
typedef struct paddle_cost {
    uint64_t steps;
    const double *goal, *q, *qd, *r;
} paddle_cost;

typedef struct paddle_lanes {
    const char *isa;
    uint64_t width;
    /* Simulates `width` episodes with the policies gain[lane] (controls x states, row by row) and noise[lane]
     * on the controls (steps x controls). start: states x width. cost: width. tape: steps + 1 records, or
     * NULL. */
    void (*simulate)(const paddle_law *l, const paddle_cost *c, const double *const *gain,
                     const double *const *noise, const double *start, double *tape, double *cost);
    /* Writes the derivatives of the costs by the gains. */
    void (*adjoint)(const paddle_law *l, const paddle_cost *c, const double *const *gain, const double *tape,
                    double *const *grad);
} paddle_lanes;

/* The kernels of this machine. */
const paddle_lanes *paddle_lanes_find(void);

#endif
