/* SPDX-License-Identifier: Apache-2.0 */
/* open_step.h - steps of small systems and their reverse, written once for one episode and for several side
 * by side. The file that includes it defines
 *     real, real_mask    a double and an int, or vectors with one episode in each lane
 *     real_choose(mask, a, b) */
#ifndef DS_ENGINES_OPEN_STEP_H
#define DS_ENGINES_OPEN_STEP_H

#include "open_lanes.h"

#define OPEN_INLINE static inline __attribute__((always_inline, unused))

/* ---- two blocks: x1, x2, v1, v2 ---- */

OPEN_INLINE real blocks_gap_of(const real *x)
{
    return x[1] - x[0] - 1;
}

/* `force` pushes the blocks apart. */
OPEN_INLINE void blocks_move(const open_law *l, const real *x, real u, real force, real *next)
{
    next[2] = l->keep * x[2] + l->rate * (u - force);
    next[3] = l->keep * x[3] + l->rate * force;
    next[0] = x[0] + l->h * next[2];
    next[1] = x[1] + l->h * next[3];
}

/* `pull`: derivative of force / k by the overlap. */
OPEN_INLINE void blocks_reverse(const open_law *l, real pull, const real *next_bar, real *x_bar, real *u_bar)
{
    const real v1_bar = next_bar[2] + l->h * next_bar[0], v2_bar = next_bar[3] + l->h * next_bar[1];
    const real gap_bar = -l->k * pull * l->rate * (v2_bar - v1_bar);
    x_bar[0] += next_bar[0] - gap_bar;
    x_bar[1] += next_bar[1] + gap_bar;
    x_bar[2] += l->keep * v1_bar;
    x_bar[3] += l->keep * v2_bar;
    *u_bar += l->rate * v1_bar;
}

/* ---- a mass between walls: x, v ---- */

/* Depth in the right (positive) or left wall. */
OPEN_INLINE real walls_depth(const open_law *l, real x)
{
    const real none = {0};
    return real_choose((real_mask)(x > l->wall), x - l->wall,
                       real_choose((real_mask)(x < -l->wall), x + l->wall, none));
}

OPEN_INLINE void walls_move(const open_law *l, const real *x, real u, real *next)
{
    const real in = walls_depth(l, x[0]), none = {0};
    const real_mask touches = (real_mask)(in != 0);
    const real push = l->ignored ? real_choose(touches, none, u) : u;
    const real force = push - real_choose(touches, l->k * in + l->d * x[1], none);
    next[1] = x[1] + l->rate * force;
    next[0] = x[0] + l->h * next[1];
}

OPEN_INLINE void walls_reverse(const open_law *l, const real *x, const real *next_bar, real *x_bar,
                               real *u_bar)
{
    const real none = {0};
    const real_mask touches = (real_mask)(walls_depth(l, x[0]) != 0);
    const real v_bar = next_bar[1] + l->h * next_bar[0], force_bar = l->rate * v_bar;
    x_bar[0] += next_bar[0] - real_choose(touches, l->k * force_bar, none);
    x_bar[1] += v_bar - real_choose(touches, l->d * force_bar, none);
    *u_bar += l->ignored ? real_choose(touches, none, force_bar) : force_bar;
}

/* ---- a point among discs: x, y; the controls are its velocity ---- */

/* Whether a step would end in a disc; `next`: its end. */
OPEN_INLINE real_mask discs_block(const open_law *l, const real *x, const real *u, real *next)
{
    next[0] = x[0] + l->h * u[0];
    next[1] = x[1] + l->h * u[1];
    real_mask in = {0};
    for (uint64_t k = 0; k < l->discs; k++) {
        const real dx = next[0] - l->disc[k][0], dy = next[1] - l->disc[k][1];
        in |= (real_mask)(dx * dx + dy * dy <= l->disc[k][2] * l->disc[k][2]);
    }
    return in;
}

OPEN_INLINE void discs_move(const open_law *l, const real *x, const real *u, real *next)
{
    const real_mask in = discs_block(l, x, u, next);
    next[0] = real_choose(in, x[0], next[0]);
    next[1] = real_choose(in, x[1], next[1]);
}

#endif
