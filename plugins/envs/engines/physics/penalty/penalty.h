/* SPDX-License-Identifier: Apache-2.0 */
/* penalty.h - a particle under gravity against the ground and a wall, with the penalty contact of Warp's
 * integrator (warp.sim SemiImplicitIntegrator): an episode in equal steps and its adjoint.
 *
 * With penetration c < 0 along the normal n and velocity v: p = ke c + kd min(n.v, 0), F = -n p - v_t min(kf,
 * mu N/|v_t|), where v_t is the tangential velocity and N = -p on the ground, -ke c at the wall. v' = v + h
 * (F/m + g), x' = x + h v'.
 *
 * With a softened contact (soft.kernel) ke ramp(-c) replaces -ke c and acts at any distance; damping acts
 * only in contact. With soft.at_distance only the reverse sweep uses the slope of such a ramp. */
#ifndef DS_ENGINES_PENALTY_H
#define DS_ENGINES_PENALTY_H

#include "penalty_law.h"

#include <diffsim/helper/memory.h>

enum { PENALTY_GROUND = 1, PENALTY_WALL = 2 };

typedef struct penalty penalty;

/* Takes memory from `m` for episodes of up to `steps` steps; NULL without memory. */
penalty *penalty_create(ds_memory *m, const penalty_params *p, uint64_t steps);

/* Simulates `steps` steps. x and v, in: start state; out: final state. `keep`: keep the states of all steps.
 */
void penalty_simulate(penalty *s, double x[3], double v[3], uint64_t steps, int keep);

/* Sets the parameters of the networks and where the adjoint adds their derivatives (may be NULL); owned by
 * the caller. Required if there are networks. */
void penalty_weights(penalty *s, const double *w, double *w_bar);

/* x_bar and v_bar, in: derivatives of a loss by the final state; out: by the start state. */
void penalty_adjoint(const penalty *s, double x_bar[3], double v_bar[3]);

/* Particles side by side: lanes of one call of the following functions; 1: they cannot be called (networks,
 * softened contact, long episodes). */
uint64_t penalty_width(const penalty *s);

/* The same for penalty_width() particles, with the same bits; number i of lane k is at i penalty_width() + k.
 * Particles that do not stay finite may have other bits, also not finite. `keep`: the adjoint follows. */
void penalty_lanes_simulate(penalty *s, double *x, double *v, uint64_t steps, int keep);
void penalty_lanes_adjoint(const penalty *s, double *x_bar, double *v_bar);

/* State x, v before step t; requires a simulation with `keep`. */
const double *penalty_state(const penalty *s, uint64_t t);

/* Steps of the last simulation with a force of the ground or of the wall. */
uint64_t penalty_contacts(const penalty *s, int which);

/* A hash of the branches: which steps are in contact, approaching or not, sliding or not. The adjoint is
 * valid where it does not change. */
uint64_t penalty_branches(const penalty *s);

/* Contact force in a state; returns PENALTY_GROUND, PENALTY_WALL, their sum, or 0. */
int penalty_force(const penalty_params *p, const double x[3], const double v[3], double force[3]);

/* First step after which the state is not finite, or -1; requires a simulation with `keep`. */
int64_t penalty_bad_step(const penalty *s);

#endif
