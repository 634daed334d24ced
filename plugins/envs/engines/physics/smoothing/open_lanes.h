/* SPDX-License-Identifier: Apache-2.0 */
/* open_lanes.h - kernels for open-loop episodes (rollout.h) side by side, one in each lane of a vector
 * (engines/kit/lanes.h); open_step.h has the equations of their systems. */
#ifndef DS_ENGINES_OPEN_LANES_H
#define DS_ENGINES_OPEN_LANES_H

#include <stdint.h>

/* Systems with such kernels: two blocks with hard contact (blocks.h); a mass between springy walls; a point
 * that discs stop. */
enum { OPEN_OTHER = 0, OPEN_BLOCKS = 1, OPEN_WALLS = 2, OPEN_DISCS = 3 };
enum { OPEN_STATES = 4, OPEN_CONTROLS = 2 }; /* at most */

typedef struct open_law {
    int system;
    double h, rate;          /* s; h / mass */
    double k, d, keep;       /* stiffness, damping, share of a velocity that remains */
    double wall;             /* the walls start at -wall and wall */
    int ignored;             /* the control has no effect within a wall */
    const double (*disc)[3]; /* x, y, radius */
    uint64_t discs, states, steps;
    const double *start, *goal, *q, *qd, *r; /* as in struct rollout */
} open_law;

typedef struct open_lanes {
    const char *isa;
    uint64_t width;
    /* Episodes with controls u[lane]; cost: `width` numbers. tape: the states, (steps + 1) x states vectors,
     * or NULL. */
    void (*simulate)(const open_law *l, const double *const *u, double *tape, double *cost);
    void (*adjoint)(const open_law *l, const double *const *u, const double *tape, double *const *grad);
} open_lanes;

/* The kernels of this machine. */
const open_lanes *open_lanes_find(void);

#endif
