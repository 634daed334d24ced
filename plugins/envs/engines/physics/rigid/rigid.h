/* SPDX-License-Identifier: Apache-2.0 */
/* rigid.h - a rigid body in space with compliant contact against the ground y = 0: a roll-out of equal
 * steps, its discrete adjoint and its tangent. Several bodies are several roll-outs: they do not meet.
 *
 * Newton and Euler with the gyroscopic term, semi-implicit (gradSim: Jatavallabhula et al., ICLR 2021, eq.
 * 2). A contact point whose lowest place r (from the centre of mass) is at height c < 0 and moves with u =
 * v + omega x r presses with N = -(ke c + kd min(u_y, 0)) and drags along x and z, each for itself, with
 * -kf u_t, at most mu N in size: box friction, whose axes are those of the world. One step:
 *     v' = v + h (F / m + g),                      x' = x + h v'
 *     W' = W + h I^-1 (R^T T - W x I W),           omega' = R W',   W = R^T omega
 *     q' = q + h/2 (0, omega') q, made a unit quaternion
 * with F and T at the old state. SI units.
 *
 * rigid_soften() makes ke times a ramp of -c of the elastic part, which acts above the ground, too, with its
 * friction; damping acts where c < 0 alone. With contact at a distance the motion is as it was, and
 * derivatives take the slope of another ramp. */
#ifndef DS_ENGINES_RIGID_H
#define DS_ENGINES_RIGID_H

#include "engines/physics/smoothing/softness.h"
#include "pose.h"
#include "wrench_net.h"

#include <diffsim/helper/memory.h>

/* A state, derivatives of a loss by it (`bar`), or a direction (`dot`): doubles only. */
typedef struct rigid_state {
    double x[3];     /* m, centre of mass */
    double q[4];     /* unit quaternion w x y z, from the frame of the body to the world */
    double v[3];     /* m/s */
    double omega[3]; /* rad/s, axes of the world */
} rigid_state;

/* What the motion depends on; likewise for derivatives. */
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

/* Memory for roll-outs of up to `steps` steps with up to `points` contact points, taken of `m`; NULL where
 * there is none. */
rigid *rigid_create(ds_memory *m, size_t points, uint64_t steps);

/* Networks for the roll-outs that follow and their derivatives, the caller's, or NULL. Inputs: position,
 * velocity and angular velocity, 3 each, axes of the world; outputs begin as the known force and torque of
 * the body. Contacts come on top of them. */
void rigid_networks(rigid *r, const wrench_net *net);

/* The ramp of the contact for the roll-outs that follow and their derivatives; copied, NULL = hard. */
void rigid_soften(rigid *r, const softness *soft);

/* Simulates `steps` steps of h seconds and keeps all states. The quaternion of `start` may have any length
 * but 0. Returns -1, or the first step after which the state is not finite: the roll-out ends before it,
 * and all states that it holds are finite. */
int64_t rigid_simulate(rigid *r, const rigid_body *body, size_t points, const rigid_point *point,
                       const rigid_state *start, double h, uint64_t steps);

/* Steps of the last roll-out; state before step t, t = steps: the final one. */
uint64_t rigid_steps(const rigid *r);
const rigid_state *rigid_at(const rigid *r, uint64_t t);

/* Reverse sweep over steps from .. to - 1 of the last roll-out. In: `bar`, the derivatives of a loss by
 * state `to`. Out: by state `from`, where 0 is the start as it was given. Adds to body_bar and, where it
 * is not NULL, to point_bar. A loss of several frames is swept from frame to frame, adding its derivatives
 * in between. Returns 0 where the results are not finite. */
int rigid_adjoint(const rigid *r, uint64_t from, uint64_t to, rigid_state *bar, rigid_body *body_bar,
                  rigid_point *point_bar);

/* Forward sweep: `dot`, in: the direction of state `from`, out: of state `to`; body_dot and point_dot (may be
 * NULL) are directions of what the motion depends on. Returns 0 where the result is not finite. */
int rigid_tangent(const rigid *r, uint64_t from, uint64_t to, rigid_state *dot, const rigid_body *body_dot,
                  const rigid_point *point_dot);

/* A number that tells apart roll-outs with other branches: which points touch when, approaching or not,
 * sliding or not. Derivatives hold between switches of it. */
uint64_t rigid_branches(const rigid *r);

#endif
