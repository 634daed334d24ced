/* SPDX-License-Identifier: Apache-2.0 */
/* rod_step.h - one step of the rod and its reverse, written once for one episode and for several side by
 * side. The file that includes it defines
 *     real, real_mask    a double and an int, or vectors with one episode in each lane
 *     real_sincos(), real_choose(mask, a, b), real_abs(), real_sign(size, sign)
 *     real_wrapped()     an angle in [-pi, pi)
 * of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_ROD_STEP_H
#define DS_ENGINES_ROD_STEP_H

#include "rod.h"

#define ROD_INLINE static inline __attribute__((always_inline, unused))

#define ROD_PI 3.14159265358979323846

/* Cost of a step under torque u, from the state before it. gym: that of Pendulum-v1; track: from upright at
 * theta = 2 pi. */
ROD_INLINE real rod_cost(const rod_law *l, real theta, real omega, real u)
{
    if (l->cost == ROD_GYM) {
        const real angle = real_wrapped(theta);
        return angle * angle + 0.1 * omega * omega + 0.001 * u * u;
    }
    if (l->cost == ROD_TRACK) {
        const real angle = theta - 2 * ROD_PI;
        return angle * angle + omega * omega + u * u;
    }
    return l->effort * u * u;
}

/* Semi-implicit Euler: the angle moves with the new velocity. Returns where the speed limit acts. */
ROD_INLINE real_mask rod_move(const rod_law *l, real *theta, real *omega, real u, real *cosine)
{
    real sine;
    real_sincos(*theta, &sine, cosine);
    const real speed = *omega + (l->weight_rate * sine + l->torque_rate * u) * l->dt;
    const real limit = (real){0} + l->speed_limit;
    const real_mask at_limit = (real_mask)(real_abs(speed) > limit);
    *omega = real_choose(at_limit, real_sign(limit, speed), speed);
    *theta += *omega * l->dt;
    return at_limit;
}

/* Reverse of a step whose cost counts `weight` times. a, b: derivatives by angle and velocity, of the
 * state after it, then of that before it; returns the derivative by the torque. While the speed limit
 * acts, the new speed does not depend on anything (its derivative is taken as 0 there, as 1 up to and at
 * the limit); the wrapped angle has slope 1, also at its jump at pi. */
ROD_INLINE real rod_reverse(const rod_law *l, real theta, real omega, real u, real cosine, real_mask at_limit,
                            real weight, real *a, real *b)
{
    *b += l->dt * *a;
    *b = real_choose(at_limit, (real){0}, *b);
    const real by_torque = l->torque_rate * l->dt * *b;
    *a += l->weight_rate * l->dt * cosine * *b;
    if (l->cost == ROD_GYM) {
        *a += weight * 2 * real_wrapped(theta);
        *b += weight * 0.2 * omega;
        return by_torque + weight * 0.002 * u;
    }
    if (l->cost == ROD_TRACK) {
        *a += weight * 2 * (theta - 2 * ROD_PI);
        *b += weight * 2 * omega;
        return by_torque + weight * 2 * u;
    }
    return by_torque + weight * 2 * l->effort * u;
}

#endif
