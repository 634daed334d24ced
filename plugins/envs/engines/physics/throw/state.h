/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the numbers of the thrown cube, and its constants (see throw.h). */
#ifndef DS_ENGINES_THROW_STATE_H
#define DS_ENGINES_THROW_STATE_H

/* A state: quaternion x, y, z, w, position, angular velocity, velocity, all in the world. */
enum { THROW_TURN, THROW_PLACE = 4, THROW_SPIN = 7, THROW_VELOCITY = 10, THROW_STATES = 13 };
/* With it, force and torque of the contacts, for the next step, and the norm of the quaternion before it was
 * made 1. */
enum { THROW_FORCE = 13, THROW_TORQUE = 16, THROW_NORM = 19, THROW_KEPT = 20 };

static const double throw_mass = 10, throw_corner = 0.4, throw_radius = 0.1,
                    throw_gravity = 9.81; /* kg, m, m/s^2 */

#endif
