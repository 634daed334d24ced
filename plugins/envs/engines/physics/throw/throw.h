/* SPDX-License-Identifier: Apache-2.0 */
/* throw.h - a cube with eight spheres at its corners is thrown onto the plane z = 0: with contact by springs
 * and its derivatives, or by impulses that solve a complementarity problem. The cube of E. Heiden et al.,
 * "NeuralSim: Augmenting differentiable simulators with neural networks" (ICRA 2021). z is up; SI units; the
 * moment of inertia is 1 kg m^2 about every axis.
 *
 * A step of h seconds with springs: velocities change by gravity and by the contact forces of the step
 * before; contact forces at the pose and the new velocities; position and quaternion move with the new
 * velocities. With impulses these change the new velocities instead. */
#ifndef DS_ENGINES_THROW_H
#define DS_ENGINES_THROW_H

#include "contact_law.h"
#include "state.h"

#include <diffsim/helper/memory.h>

/* A sphere that touches the plane in a step. */
typedef struct throw_contact {
    uint64_t step;
    uint64_t corner;
    double arm[3]; /* from the centre of the cube to the lowest point */
    contact_record law;
} throw_contact;

typedef struct throw_motion {
    contact_law law;
    double h;
    uint64_t steps; /* of a motion and its derivatives: those of throw_open(), or fewer */
    /* Of the last motion: [steps + 1][THROW_KEPT], and all contacts, step by step. */
    double *kept;
    throw_contact *contact; /* [8] for each step; pages that no motion has come to cost addresses alone */
    uint64_t contacts;
} throw_motion;

/* Memory for motions of so many steps; 0: there is none. */
int throw_open(throw_motion *t, ds_memory *m, double h, uint64_t steps);
/* State after so many steps. */
static inline const double *throw_state(const throw_motion *t, uint64_t step)
{
    return t->kept + step * THROW_KEPT;
}

/* From a start, with springs. Returns -1, or the first step after which the state is not finite. */
int64_t throw_simulate(throw_motion *t, const double *theta, const double start[THROW_STATES]);
/* Goes on from the last state to that after `until` steps, at most those of throw_open(); derivatives stay
 * those of the motion before. Returns the same. */
int64_t throw_go_on(throw_motion *t, uint64_t until);
/* The same with impulses: restitution 0, friction mu, a hundredth of the penetration mended in a step;
 * projected Gauss-Seidel of 50 sweeps over normal impulses, then over those along the sliding of each sphere.
 * States go to out[steps + 1][THROW_STATES]. */
void throw_impulses(double h, uint64_t steps, double mu, const double start[THROW_STATES], double *out);

/* Derivatives of a loss of the last motion: state_bar[steps + 1][THROW_STATES] by its states; adds to
 * theta_bar. Returns 0 where the result is not finite. */
int throw_adjoint(const throw_motion *t, const double *state_bar, double *theta_bar);
/* Change of all states along theta_dot, the start fixed: state_dot[steps + 1][THROW_STATES]. */
int throw_tangent(const throw_motion *t, const double *theta_dot, double *state_dot);

#endif
