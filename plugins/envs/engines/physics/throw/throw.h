/* SPDX-License-Identifier: Apache-2.0 */
/* throw.h - a cube with eight spheres at its corners is thrown onto the plane z = 0: contact by springs, with
 * derivatives, or by impulses that solve a complementarity problem. The cube of E. Heiden et al., "NeuralSim:
 * Augmenting differentiable simulators with neural networks" (ICRA 2021). z is up; SI units; the moment of
 * inertia is 1 kg m^2 about every axis.
 *
 * A step of h seconds with springs: velocities change by gravity and the contact forces of the step before;
 * contact forces follow from the pose and the new velocities; position and quaternion move with the new
 * velocities. With impulses, these change the new velocities instead. */
#ifndef DS_ENGINES_THROW_H
#define DS_ENGINES_THROW_H

#include "contact_law.h"
#include "throw_lanes.h"

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
    uint64_t steps; /* of a motion and its derivatives: at most those of throw_open() */
    /* Last motion: [steps + 1][THROW_KEPT], and all contacts, step by step. */
    double *kept;
    throw_contact *contact; /* [8] per step; pages that no motion has reached cost only addresses */
    uint64_t contacts;
    /* Motions side by side: kernels (NULL: none), memory, and the law of each. */
    const throw_lanes *lanes;
    throw_table table;
    double *lanes_law;
} throw_motion;

/* Takes memory for motions of `steps` steps. Returns 0 without memory. */
int throw_open(throw_motion *t, ds_memory *m, double h, uint64_t steps);
/* State after `step` steps. */
static inline const double *throw_state(const throw_motion *t, uint64_t step)
{
    return t->kept + step * THROW_KEPT;
}

/* Simulates with springs. Returns -1, or the first step after which the state is not finite. */
int64_t throw_simulate(throw_motion *t, const double *theta, const double start[THROW_STATES]);
/* Continues from the last state to the state after `until` steps, at most those of throw_open(); derivatives
 * stay those of the motion before. Returns the same. */
int64_t throw_go_on(throw_motion *t, uint64_t until);
/* The same with impulses: restitution 0, friction mu, each step corrects a hundredth of the penetration; 50
 * sweeps of projected Gauss-Seidel over normal impulses, then over those along the sliding of each sphere.
 * Writes states to out[steps + 1][THROW_STATES]. */
void throw_impulses(double h, uint64_t steps, double mu, const double start[THROW_STATES], double *out);

/* Adds the derivatives of a loss of the last motion to theta_bar; state_bar[steps + 1][THROW_STATES]:
 * derivatives by its states. Returns 0 if the result is not finite. */
int throw_adjoint(const throw_motion *t, const double *state_bar, double *theta_bar);
/* state_dot[steps + 1][THROW_STATES] = change of all states along theta_dot, with the start fixed. */
int throw_tangent(const throw_motion *t, const double *theta_dot, double *state_dot);

/* ---- motions side by side: the fitted ones, without other networks than that of the paper ---- */

/* Takes memory; to be called after the law is complete. Leaves t->lanes NULL where motions are too long. */
void throw_lanes_open(throw_motion *t, ds_memory *m);
/* Simulates t->lanes->width motions with theta[lane][LAW_CONSTANTS] and writes the loss of each as
 * throw_lanes.simulate(). */
void throw_lanes_simulate(throw_motion *t, const double *const *theta, const double *start,
                          const double *target, double *loss);
/* Adds the derivatives of that loss to theta_bar[lane][LAW_CONSTANTS], with the bits of throw_adjoint(). */
void throw_lanes_adjoint(throw_motion *t, const double *const *theta, double *const *theta_bar);

#endif
