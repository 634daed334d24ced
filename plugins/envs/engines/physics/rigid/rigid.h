/* SPDX-License-Identifier: Apache-2.0 */
/* rigid.h - a rigid body with compliant contact against the ground y = 0: roll-out in equal steps, discrete
 * adjoint, tangent. Bodies do not meet: several bodies are several roll-outs.
 *
 * Newton and Euler with the gyroscopic term, semi-implicit (gradSim: Jatavallabhula et al., ICLR 2021, eq.
 * 2). A contact point whose lowest point r (from the centre of mass) is at height c < 0 and moves with u = v
 * + omega x r has the normal force N = -(ke c + kd min(u_y, 0)) and the friction -kf u_t, bounded by mu N
 * along x and along z separately (box friction in the axes of the world). One step:
 *     v' = v + h (F / m + g),                      x' = x + h v'
 *     W' = W + h I^-1 (R^T T - W x I W),           omega' = R W',   W = R^T omega
 *     q' = q + h/2 (0, omega') q, normalised
 * with F and T at the old state. SI units.
 *
 * rigid_soften() replaces the elastic part by ke times a ramp of -c, which also acts above the ground, with
 * its friction; damping acts only where c < 0. With contact_grad = distance the motion stays the same and
 * derivatives use the slope of another ramp. */
#ifndef DS_ENGINES_RIGID_H
#define DS_ENGINES_RIGID_H

#include "engines/physics/smoothing/softness.h"
#include "body.h"
#include "wrench_net.h"

#include <diffsim/helper/memory.h>

/* A state, derivatives of a loss by it (`bar`), or a direction (`dot`). Holds doubles only. */
typedef struct rigid_state {
    double x[3];     /* m, centre of mass */
    double q[4];     /* unit quaternion w x y z, from the frame of the body to the world */
    double v[3];     /* m/s */
    double omega[3]; /* rad/s, axes of the world */
} rigid_state;

/* Inputs of the motion; also derivatives by them. */
typedef struct rigid_body {
    double mass;       /* kg */
    double inertia[9]; /* kg m^2, in the frame of the body about its centre of mass, symmetric */
    double gravity[3]; /* m/s^2 */
    double force[3];   /* N, at the centre of mass, axes of the world */
    double torque[3];  /* N m, axes of the world */
    double ke;         /* N/m, stiffness of contact */
    double kd;         /* N s/m, damping while approaching */
    double kf;         /* N s/m, viscous friction */
    double mu;         /* Coulomb friction */
} rigid_body;

enum {
    RIGID_STATE_NUMBERS = sizeof(rigid_state) / sizeof(double),
    RIGID_BODY_NUMBERS = sizeof(rigid_body) / sizeof(double)
};

typedef struct rigid rigid;

/* Takes memory from `m` for roll-outs of up to `steps` steps and `points` contact points; NULL without
 * memory. */
rigid *rigid_create(ds_memory *m, size_t points, uint64_t steps);

/* Sets the networks of the following roll-outs and their derivatives; owned by the caller, NULL = none.
 * Inputs: position, velocity and angular velocity, 3 each, axes of the world. Outputs start as the known
 * force and torque of the body; contact forces are added afterwards. */
void rigid_networks(rigid *r, const wrench_net *net);

/* Sets the contact ramp of the following roll-outs and their derivatives; copied, NULL = hard. */
void rigid_soften(rigid *r, const softness *soft);

/* Simulates `steps` steps of h seconds and keeps all states. The quaternion of `start` may have any length
 * except 0. Returns -1, or the first step after which the state is not finite; the roll-out then ends before
 * that step and all kept states are finite. */
int64_t rigid_simulate(rigid *r, const rigid_body *body, size_t points, const rigid_point *point,
                       const rigid_state *start, double h, uint64_t steps);

/* Steps of the last roll-out; state before step t (t = steps: the final state). */
uint64_t rigid_steps(const rigid *r);
const rigid_state *rigid_at(const rigid *r, uint64_t t);

/* Reverse sweep over steps from .. to - 1 of the last roll-out. `bar`, in: derivatives of a loss by state
 * `to`; out: by state `from` (state 0: the start as it was given). Adds to body_bar and to point_bar unless
 * it is NULL. For a loss of several frames, sweep from frame to frame and add its derivatives in between.
 * Returns 0 if a result is not finite. */
int rigid_adjoint(const rigid *r, uint64_t from, uint64_t to, rigid_state *bar, rigid_body *body_bar,
                  rigid_point *point_bar);

/* Forward sweep. `dot`, in: direction of state `from`; out: of state `to`. body_dot and point_dot (may be
 * NULL) are directions of what the motion depends on. Returns 0 if the result is not finite. */
int rigid_tangent(const rigid *r, uint64_t from, uint64_t to, rigid_state *dot, const rigid_body *body_dot,
                  const rigid_point *point_dot);

/* A hash of the branches: which points touch in which step, approaching or not, sliding or not. Derivatives
 * are valid where it does not change. */
uint64_t rigid_branches(const rigid *r);

#endif
