/* SPDX-License-Identifier: Apache-2.0 */
/* balance_step.h - one push, written once for one episode and for several side by side. The file that
 * includes it defines
 *     real, real_mask    a double and an int, or vectors with one episode in each lane
 *     real_sincos(), real_choose(mask, a, b), real_abs()
 * of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_BALANCE_STEP_H
#define DS_ENGINES_BALANCE_STEP_H

/* Constants of CartPole-v1. */
#define BALANCE_GRAVITY 9.8                    /* m/s^2 */
#define BALANCE_MASS (1.0 + 0.1)               /* kg, of cart and pole */
#define BALANCE_POLE 0.1                       /* kg */
#define BALANCE_HALF 0.5                       /* m, half length of the pole */
#define BALANCE_PUSH 10.0                      /* N */
#define BALANCE_DT 0.02                        /* s */
#define BALANCE_X_LIMIT 2.4                    /* m, to each side */
#define BALANCE_THETA_LIMIT 0.2094395102393195 /* rad = 12 degrees */

/* The force of a push: the sign of the action is its direction. */
static inline __attribute__((always_inline)) real balance_force(real action)
{
    const real right = (real){0} + BALANCE_PUSH;
    return real_choose((real_mask)(action > 0), right, -right);
}

/* Explicit Euler, as Gymnasium's default integrator. s: x, v, theta, omega. */
static inline __attribute__((always_inline)) void balance_move(real s[4], real force)
{
    const double moment = BALANCE_POLE * BALANCE_HALF;
    real sine, c;
    real_sincos(s[2], &sine, &c);
    /* Acceleration of the cart as if the pole did not push back. */
    const real cart_acc = (force + moment * s[3] * s[3] * sine) / BALANCE_MASS;
    const real theta_acc = (BALANCE_GRAVITY * sine - c * cart_acc) /
                           (BALANCE_HALF * (4.0 / 3.0 - BALANCE_POLE * c * c / BALANCE_MASS));
    const real x_acc = cart_acc - moment * theta_acc * c / BALANCE_MASS;
    s[0] += BALANCE_DT * s[1];
    s[1] += BALANCE_DT * x_acc;
    s[2] += BALANCE_DT * s[3];
    s[3] += BALANCE_DT * theta_acc;
}

static inline __attribute__((always_inline)) void balance_push(real s[4], real action)
{
    balance_move(s, balance_force(action));
}

/* Whether the pole still stands and the cart is on its rail. */
static inline __attribute__((always_inline)) real_mask balance_stands(const real s[4])
{
    return (real_mask)(real_abs(s[0]) <= BALANCE_X_LIMIT) &
           (real_mask)(real_abs(s[2]) <= BALANCE_THETA_LIMIT);
}

#endif
