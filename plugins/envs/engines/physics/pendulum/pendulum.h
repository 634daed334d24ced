/* SPDX-License-Identifier: Apache-2.0 */
/* pendulum.h - the simple and the double pendulum with unknown lengths, masses, gravity and damping, as
 * right-hand sides for rk4.h. Angles are measured from the downward vertical, counter-clockwise; rods are
 * massless. SI units. */
#ifndef DS_ENGINES_PENDULUM_H
#define DS_ENGINES_PENDULUM_H

#include "rk4.h"

/* y = theta, omega:  omega' = -b/m omega - g/l sin theta + f/(m l) cos theta, f a constant horizontal force
 * on the bob in N. Here b/m is a rate in 1/s, as in gradSim's experiments (Jatavallabhula et al., ICLR 2021).
 */
enum { SIMPLE_LENGTH, SIMPLE_GRAVITY, SIMPLE_MASS, SIMPLE_DAMPING, SIMPLE_FORCE, SIMPLE_PARAMETERS };
enum { SIMPLE_ANGLE, SIMPLE_RATE, SIMPLE_STATES };
extern const rk4_law pendulum_simple;

/* y = theta1, omega1, theta2, omega2, both angles from the vertical. Damping in N m s/rad: DAMPING1 of the
 * pivot against omega1, DAMPING2 of the joint at the first bob against omega2 - omega1. FORCE: constant and
 * horizontal, on the second bob, N. */
enum {
    DOUBLE_LENGTH1,
    DOUBLE_LENGTH2,
    DOUBLE_MASS1,
    DOUBLE_MASS2,
    DOUBLE_GRAVITY,
    DOUBLE_DAMPING1,
    DOUBLE_DAMPING2,
    DOUBLE_FORCE,
    DOUBLE_PARAMETERS
};
enum { DOUBLE_ANGLE1, DOUBLE_RATE1, DOUBLE_ANGLE2, DOUBLE_RATE2, DOUBLE_STATES };
extern const rk4_law pendulum_double;

/* Angular accelerations of the double pendulum under generalised torques on its two angles (a joint torque t
 * between the rods counts -t on the first, +t on the second). theta: DOUBLE_PARAMETERS, damping not used. */
void double_pendulum_acceleration(const double *theta, const double y[4], const double torque[2],
                                  double acceleration[2]);

/* Kinetic plus potential energy, zero at the height of the pivot, J. */
double double_pendulum_energy(const double *theta, const double y[4]);

/* Positions of the bobs (x, y of the first, then of the second), with adjoint (adds) and tangent. */
void simple_pendulum_bob(const double *theta, const double y[2], double bob[2]);
void simple_pendulum_bob_adjoint(const double *theta, const double y[2], const double bob_bar[2],
                                 double y_bar[2], double *theta_bar);
void simple_pendulum_bob_tangent(const double *theta, const double y[2], const double *theta_dot,
                                 const double y_dot[2], double bob_dot[2]);
void double_pendulum_bobs(const double *theta, const double y[4], double bobs[4]);
void double_pendulum_bobs_adjoint(const double *theta, const double y[4], const double bobs_bar[4],
                                  double y_bar[4], double *theta_bar);
void double_pendulum_bobs_tangent(const double *theta, const double y[4], const double *theta_dot,
                                  const double y_dot[4], double bobs_dot[4]);

#endif
