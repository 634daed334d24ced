/* SPDX-License-Identifier: Apache-2.0 */
/* sliding_box.h - a box falls on the ground, tips and slides in the plane, by semi-implicit steps
 *
 *     v' = v + h (F(q, v)/m - g),   q' = q + h v',   q = x, height, tilt
 *
 * with contact at a point, at all corners, or by a pressure field (R. Elandt et al., IROS 2019). Where the
 * normal force per area, or of a corner, is P, contact adds
 *
 *     N = P max(0, 1 - damping v_n),   F_t = -mu N v_t / sqrt(v_t^2 + slip^2)
 *
 * (Hunt and Crossley; Coulomb, regularized). A box that lies flat and d deep has N = stiffness d in all
 * three, to first order in d. */
#ifndef DS_ENGINES_SLIDING_BOX_H
#define DS_ENGINES_SLIDING_BOX_H

#include <stdint.h>

enum { SLIDING_FIELD, SLIDING_POINT, SLIDING_CORNERS };
enum { SLIDING_X, SLIDING_Y, SLIDING_TILT, SLIDING_VX, SLIDING_VY, SLIDING_RATE, SLIDING_STATE };

typedef struct sliding_box {
    double a, b, mass; /* half width, half height, m; kg, uniform */
    double gravity, stiffness, damping, mu, slip;
    double h; /* s */
    int contact;
} sliding_box;

/* Force (x, y) and torque of contact in a state, and their derivatives by height, tilt, the three velocities
 * and mu. */
typedef struct sliding_wrench {
    double force[3], by[3][6];
} sliding_wrench;

sliding_wrench sliding_contact(const sliding_box *s, const double state[SLIDING_STATE]);

/* One step, in place of the state; and its reverse: bar, in: derivatives by the state after a step from
 * `state`; out: by the state before it. Adds to mu_bar. */
void sliding_step(const sliding_box *s, double state[SLIDING_STATE]);
void sliding_back(const sliding_box *s, const double state[SLIDING_STATE], double bar[SLIDING_STATE],
                  double *mu_bar);

#endif
