/* SPDX-License-Identifier: Apache-2.0 */
/* penalty.h - a particle under gravity against the ground and a wall, with the penalty contact of Warp's
 * integrator (warp.sim SemiImplicitIntegrator): an episode of equal steps and its adjoint.
 *
 * With penetration c < 0 along the normal n and velocity v: p = ke c + kd min(n.v, 0), F = -n p - v_t min(kf,
 * mu N/|v_t|), where v_t is the tangential velocity and N = -p on the ground, -ke c at the wall. v' = v + h
 * (F/m + g), x' = x + h v'.
 *
 * With a softened contact (soft.kernel) ke ramp(-c) stands for -ke c and is felt at any distance; damping
 * acts in contact. With soft.at_distance the reverse sweep alone knows the slope of such a ramp.
 */
#ifndef DS_ENGINES_PENALTY_H
#define DS_ENGINES_PENALTY_H

#include "engines/physics/smoothing/softness.h"

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>

typedef struct penalty_params {
    double h;       /* s */
    double mass;    /* kg */
    double gravity; /* m/s^2, along -y */
    double radius;  /* m, distance at which contact begins */
    double ke;      /* N/m, stiffness */
    double kd;      /* N s/m, damping while approaching */
    double kf;      /* N s/m, viscous friction at low speed */
    double mu;      /* Coulomb friction */
    double wall;    /* m: the wall is the plane x = wall, seen from the left; infinite = none */
    softness soft;  /* ramps over the penetration, in m */
    /* Networks, NULL or without any: none. Inputs: position, velocity and contact force (3 each); outputs:
     * the force without gravity (3), which begins as that of contact. Asked at each step. */
    const ds_hybrid *hybrid;
} penalty_params;

enum { PENALTY_GROUND = 1, PENALTY_WALL = 2 };

typedef struct penalty penalty;

/* Memory for episodes of up to `steps` steps, taken of `m`; NULL where there is none. */
penalty *penalty_create(ds_memory *m, const penalty_params *p, uint64_t steps);

/* Simulates `steps` steps; x and v hold the state before and after. The states of all steps are
 * kept where `keep`. */
void penalty_simulate(penalty *s, double x[3], double v[3], uint64_t steps, int keep);

/* The parameters of the networks for what follows, and where the adjoint adds its derivatives by them (may be
 * NULL); both are the caller's. Needed where there are networks. */
void penalty_weights(penalty *s, const double *w, double *w_bar);

/* In: derivatives of a loss by the final state. Out: by the start state. */
void penalty_adjoint(const penalty *s, double x_bar[3], double v_bar[3]);

/* State x, v before step t; only after a simulation with `keep`. */
const double *penalty_state(const penalty *s, uint64_t t);

/* Steps of the last simulation with a force of the ground or of the wall. */
uint64_t penalty_contacts(const penalty *s, int which);

/* A number that tells apart episodes with different branches: steps in contact, approaching or not, sliding
 * or not. The adjoint holds between switches of it. */
uint64_t penalty_branches(const penalty *s);

/* Contact force in a state; returns PENALTY_GROUND, PENALTY_WALL, their sum, or 0. */
int penalty_force(const penalty_params *p, const double x[3], const double v[3], double force[3]);

/* First step after which the state is not finite, or -1; only after a simulation with `keep`. */
int64_t penalty_bad_step(const penalty *s);

#endif
