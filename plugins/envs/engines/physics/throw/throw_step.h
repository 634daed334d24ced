/* SPDX-License-Identifier: Apache-2.0 */
/* throw_step.h - one step of the thrown cube without its contacts, and its reverse, written once for one
 * motion and for several side by side. The file that includes it defines
 *     real           a double, or a vector with one motion in each lane
 *     real_sqrt()    of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_THROW_STEP_H
#define DS_ENGINES_THROW_STEP_H

#include "throw_lanes.h"

#define THROW_INLINE static inline __attribute__((always_inline, unused))

/* out += a x b */
THROW_INLINE void add_cross(const real a[3], const real b[3], real out[3])
{
    out[0] += a[1] * b[2] - a[2] * b[1];
    out[1] += a[2] * b[0] - a[0] * b[2];
    out[2] += a[0] * b[1] - a[1] * b[0];
}

/* out = (w, 0) q: change of the quaternion with angular velocity w in a time of 2 / h. */
THROW_INLINE void spin_quaternion(const real w[3], const real q[4], real out[4])
{
    out[0] = w[0] * q[3] + w[1] * q[2] - w[2] * q[1];
    out[1] = w[1] * q[3] + w[2] * q[0] - w[0] * q[2];
    out[2] = w[2] * q[3] + w[0] * q[1] - w[1] * q[0];
    out[3] = -w[0] * q[0] - w[1] * q[1] - w[2] * q[2];
}

/* Sets position and quaternion of the next state from this pose and the next velocities; returns the norm
 * before normalisation. */
THROW_INLINE real throw_move(double h, const real *at, real *next)
{
    real dq[4], q[4], square = {0};
    spin_quaternion(next + THROW_SPIN, at + THROW_TURN, dq);
    for (int i = 0; i < 4; i++) {
        q[i] = at[THROW_TURN + i] + 0.5 * h * dq[i];
        square += q[i] * q[i];
    }
    const real norm = real_sqrt(square);
    for (int i = 0; i < 4; i++) {
        next[THROW_TURN + i] = q[i] / norm;
    }
    for (int d = 0; d < 3; d++) {
        next[THROW_PLACE + d] = at[THROW_PLACE + d] + h * next[THROW_VELOCITY + d];
    }
    return norm;
}

/* The half edges of the cube in the world; corner i is their sum with the signs of its bits. */
typedef struct edges {
    real e[3][3];
} edges;

THROW_INLINE void edges_of(const real *q, edges *out)
{
    const double c = throw_corner;
    const real x = q[0], y = q[1], z = q[2], w = q[3];
    *out = (edges){{{c * (1 - 2 * (y * y + z * z)), 2 * c * (x * y + w * z), 2 * c * (x * z - w * y)},
                    {2 * c * (x * y - w * z), c * (1 - 2 * (x * x + z * z)), 2 * c * (y * z + w * x)},
                    {2 * c * (x * z + w * y), 2 * c * (y * z - w * x), c * (1 - 2 * (x * x + y * y))}}};
}

/* Adds the derivatives by q to q_bar, from those by the edges. */
THROW_INLINE void edges_adjoint(const real *q, const edges *bar, real *q_bar)
{
    const double c = throw_corner;
    const real(*g)[3] = bar->e;
    const real all = g[0][0] + g[1][1] + g[2][2];
    const real turn[3] = {g[1][2] - g[2][1], g[2][0] - g[0][2], g[0][1] - g[1][0]};
    for (int k = 0; k < 3; k++) {
        real both = {0};
        for (int j = 0; j < 3; j++) {
            both += (g[k][j] + g[j][k]) * q[j];
        }
        q_bar[k] += 2 * c * (both + q[3] * turn[k] - 2 * all * q[k]);
    }
    q_bar[3] += 2 * c * (q[0] * turn[0] + q[1] * turn[1] + q[2] * turn[2]);
}

static const double sign[THROW_CORNERS][3] = {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1},
                                              {-1, -1, 1},  {1, -1, 1},  {-1, 1, 1},  {1, 1, 1}};

/* Coordinate d of a corner relative to the centre of the cube. */
THROW_INLINE real corner_of(const edges *e, uint64_t corner, int d)
{
    return sign[corner][0] * e->e[0][d] + sign[corner][1] * e->e[1][d] + sign[corner][2] * e->e[2][d];
}

/* Sets the velocities of the next state from gravity and the forces kept with this one. */
THROW_INLINE void accelerate(double h, const real *at, real *next)
{
    for (int d = 0; d < 3; d++) {
        next[THROW_VELOCITY + d] = at[THROW_VELOCITY + d] + h * at[THROW_FORCE + d] / throw_mass;
        next[THROW_SPIN + d] = at[THROW_SPIN + d] + h * at[THROW_TORQUE + d];
    }
    next[THROW_VELOCITY + 2] -= h * throw_gravity;
}

THROW_INLINE void move_adjoint(double h, const real *at, const real *next, const real *next_bar, real *at_bar,
                               real *velocity_bar)
{
    const real *q = at + THROW_TURN, *turned = next + THROW_TURN, *bar = next_bar + THROW_TURN;
    const real *w = next + THROW_SPIN, per_norm = 1 / next[THROW_NORM];
    real along = {0}, b[4];
    for (int i = 0; i < 4; i++) {
        along += turned[i] * bar[i];
    }
    for (int i = 0; i < 4; i++) {
        b[i] = (bar[i] - turned[i] * along) * per_norm;
        at_bar[THROW_TURN + i] += b[i];
        b[i] *= 0.5 * h;
    }
    at_bar[0] += b[1] * w[2] - b[2] * w[1] - b[3] * w[0];
    at_bar[1] += -b[0] * w[2] + b[2] * w[0] - b[3] * w[1];
    at_bar[2] += b[0] * w[1] - b[1] * w[0] - b[3] * w[2];
    at_bar[3] += b[0] * w[0] + b[1] * w[1] + b[2] * w[2];
    velocity_bar[THROW_SPIN] += b[0] * q[3] - b[1] * q[2] + b[2] * q[1] - b[3] * q[0];
    velocity_bar[THROW_SPIN + 1] += b[0] * q[2] + b[1] * q[3] - b[2] * q[0] - b[3] * q[1];
    velocity_bar[THROW_SPIN + 2] += -b[0] * q[1] + b[1] * q[0] + b[2] * q[3] - b[3] * q[2];
    for (int d = 0; d < 3; d++) {
        at_bar[THROW_PLACE + d] += next_bar[THROW_PLACE + d];
        velocity_bar[THROW_VELOCITY + d] += h * next_bar[THROW_PLACE + d];
    }
}

#endif
