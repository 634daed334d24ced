/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - three-vectors, and the pose of the thrown cube (see throw.h). */
#ifndef DS_ENGINES_THROW_VEC_H
#define DS_ENGINES_THROW_VEC_H

#include "state.h"

#include <math.h>

/* out += a x b */
static inline void add_cross(const double a[3], const double b[3], double out[3])
{
    out[0] += a[1] * b[2] - a[2] * b[1];
    out[1] += a[2] * b[0] - a[0] * b[2];
    out[2] += a[0] * b[1] - a[1] * b[0];
}

/* Corner 0 .. 7 in the body. */
static inline void throw_corner_of(int i, double c[3])
{
    for (int d = 0; d < 3; d++) {
        c[d] = i >> d & 1 ? throw_corner : -throw_corner;
    }
}

/* out = c turned by the unit quaternion q = (x, y, z, w). */
static inline void turn_vector(const double q[4], const double c[3], double out[3])
{
    double t[3] = {0, 0, 0}, s[3] = {0, 0, 0};
    add_cross(q, c, t);
    add_cross(q, t, s);
    for (int d = 0; d < 3; d++) {
        out[d] = c[d] + 2 * (q[3] * t[d] + s[d]);
    }
}

/* out = dq: the change of the quaternion in a time of 2 / h with angular velocity w, (w, 0) q. */
static inline void spin_quaternion(const double w[3], const double q[4], double out[4])
{
    out[0] = w[0] * q[3] + w[1] * q[2] - w[2] * q[1];
    out[1] = w[1] * q[3] + w[2] * q[0] - w[0] * q[2];
    out[2] = w[2] * q[3] + w[0] * q[1] - w[1] * q[0];
    out[3] = -w[0] * q[0] - w[1] * q[1] - w[2] * q[2];
}

/* Position and quaternion of the next state from this pose and the velocities there; returns the norm before
 * it is made 1. */
static inline double throw_move(double h, const double *at, double *next)
{
    double dq[4], q[4], square = 0;
    spin_quaternion(next + THROW_SPIN, at + THROW_TURN, dq);
    for (int i = 0; i < 4; i++) {
        q[i] = at[THROW_TURN + i] + 0.5 * h * dq[i];
        square += q[i] * q[i];
    }
    const double norm = sqrt(square);
    for (int i = 0; i < 4; i++) {
        next[THROW_TURN + i] = q[i] / norm;
    }
    for (int d = 0; d < 3; d++) {
        next[THROW_PLACE + d] = at[THROW_PLACE + d] + h * next[THROW_VELOCITY + d];
    }
    return norm;
}

/* Which spheres may meet the plane, a bit each: most are away from it, which the lowest row of the matrix
 * that the quaternion is tells of all at once. */
static inline unsigned throw_low(const double *pose)
{
    const double *q = pose + THROW_TURN, c = throw_corner, room = pose[THROW_PLACE + 2] - throw_radius - 1e-9;
    const double a = 2 * (q[0] * q[2] - q[1] * q[3]) * c, b = 2 * (q[1] * q[2] + q[0] * q[3]) * c,
                 d = (1 - 2 * (q[0] * q[0] + q[1] * q[1])) * c;
    unsigned low = 0;
    if (room > fabs(a) + fabs(b) + fabs(d)) {
        return 0;
    }
    for (unsigned i = 0; i < 8; i++) {
        low |= (unsigned)(room + (i & 1 ? a : -a) + (i & 2 ? b : -b) + (i & 4 ? d : -d) <= 0) << i;
    }
    return low;
}

/* A corner's sphere where it meets the plane: arm from the centre of the cube to its lowest point,
 * penetration (negative above the plane), velocity of that point. */
typedef struct touch {
    double c[3], arm[3], depth, v[3];
} touch;

static inline int throw_touch(const double *pose, const double *velocities, int corner, touch *t)
{
    const double *q = pose + THROW_TURN;
    throw_corner_of(corner, t->c);
    turn_vector(q, t->c, t->arm);
    t->arm[2] -= throw_radius;
    t->depth = -(pose[THROW_PLACE + 2] + t->arm[2]);
    if (!(t->depth > 0)) {
        return 0;
    }
    for (int d = 0; d < 3; d++) {
        t->v[d] = velocities[THROW_VELOCITY + d];
    }
    add_cross(velocities + THROW_SPIN, t->arm, t->v);
    return 1;
}

#endif
