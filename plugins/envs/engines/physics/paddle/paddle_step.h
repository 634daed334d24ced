/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_step.h - one step of ball and paddle and its reverse, written once for one episode and for several
 * side by side. The file that includes it defines
 *     real, real_mask    a double and an int, or vectors with one episode in each lane
 *     real_sincos(), real_choose(mask, a, b), real_any(mask), real_abs()
 * of which a lane has the bits of a double's. */
#ifndef DS_ENGINES_PADDLE_STEP_H
#define DS_ENGINES_PADDLE_STEP_H

#include "paddle.h"

#define PADDLE_INLINE static inline __attribute__((always_inline, unused))

/* out = R(angle) in, and the transpose. */
PADDLE_INLINE void turn(real c, real s, const real in[2], real out[2])
{
    out[0] = c * in[0] - s * in[1];
    out[1] = s * in[0] + c * in[1];
}

PADDLE_INLINE void turn_back(real c, real s, const real in[2], real out[2])
{
    out[0] = c * in[0] + s * in[1];
    out[1] = c * in[1] - s * in[0];
}

/* In the frame of the paddle with its new angle at its old place: the ball after the step, its velocity
 * before and after; whether it hits, and when in the step. The upper face is assumed to be hit. */
typedef struct impact {
    real c, s, at[2], w[2], after[2], v[2], toi;
    real_mask hit;
} impact;

PADDLE_INLINE impact meet(const paddle_law *e, const real *x, const real *u)
{
    const real angle = x[PADDLE_ANGLE] + e->h * u[2], zero = {0};
    const real from[2] = {x[PADDLE_BX] + e->h * x[PADDLE_VX] - x[PADDLE_PX],
                          x[PADDLE_BY] + e->h * x[PADDLE_VY] - x[PADDLE_PY]};
    impact m;
    real_sincos(angle, &m.s, &m.c);
    turn_back(m.c, m.s, from, m.at);
    turn_back(m.c, m.s, x + PADDLE_VX, m.w);
    m.hit = (real_mask)(real_abs(m.at[0]) <= e->half + e->radius) &
            (real_mask)(real_abs(m.at[1]) <= e->pad + e->radius);
    m.after[0] = e->keep * m.w[0];
    m.after[1] = real_choose(m.hit, -(zero + e->restitution), zero + e->keep) * m.w[1];
    turn(m.c, m.s, m.after, m.v);
    m.toi = zero;
    if (e->has_toi) {
        m.toi = e->h * (1 - (e->pad + e->radius - m.at[1]) / (1e-5 - e->h * m.w[1]));
    }
    return m;
}

PADDLE_INLINE void paddle_step(const paddle_law *e, const real *x, const real *u, real *next)
{
    const double h = e->h;
    const impact m = meet(e, x, u);
    for (int i = 0; i < 2; i++) {
        next[PADDLE_VX + i] = e->keep * x[PADDLE_VX + i];
        next[PADDLE_BX + i] = x[PADDLE_BX + i] + h * next[PADDLE_VX + i];
    }
    for (int i = 0; i < 3; i++) {
        next[PADDLE_PX + i] = x[PADDLE_PX + i] + h * u[i];
    }
    if (real_any(m.hit)) { /* the paddle stays where it is */
        for (int i = 0; i < 2; i++) {
            const real moved = x[PADDLE_BX + i] + m.toi * x[PADDLE_VX + i] + (h - m.toi) * m.v[i];
            next[PADDLE_BX + i] = real_choose(m.hit, moved, next[PADDLE_BX + i]);
            next[PADDLE_VX + i] = real_choose(m.hit, m.v[i], next[PADDLE_VX + i]);
        }
        for (int i = 0; i < 3; i++) {
            next[PADDLE_PX + i] = real_choose(m.hit, x[PADDLE_PX + i], next[PADDLE_PX + i]);
        }
    }
}

/* Adds to x_bar and u_bar the product of next_bar with the derivative of a step that hits. */
PADDLE_INLINE void back_hit(const paddle_law *e, const impact *m, const real *x, const real *next_bar,
                            real *x_bar, real *u_bar)
{
    const double h = e->h;
    const real *ball_bar = next_bar + PADDLE_BX;
    const real zero = {0};
    real v_bar[2], after_bar[2], w_bar[2], world[2], at_bar[2] = {zero, zero}, toi_bar = zero;
    for (int i = 0; i < 2; i++) {
        v_bar[i] = next_bar[PADDLE_VX + i] + (h - m->toi) * ball_bar[i];
        toi_bar += ball_bar[i] * (x[PADDLE_VX + i] - m->v[i]);
        x_bar[PADDLE_BX + i] += ball_bar[i];
        x_bar[PADDLE_VX + i] += m->toi * ball_bar[i];
        x_bar[PADDLE_PX + i] += next_bar[PADDLE_PX + i];
    }
    turn_back(m->c, m->s, v_bar, after_bar);
    real angle_bar = m->after[0] * after_bar[1] - m->after[1] * after_bar[0];
    w_bar[0] = e->keep * after_bar[0];
    w_bar[1] = -e->restitution * after_bar[1];
    if (e->has_toi) {
        const real fall = 1e-5 - h * m->w[1];
        at_bar[1] = toi_bar * h / fall;
        w_bar[1] -= toi_bar * h * h * (e->pad + e->radius - m->at[1]) / (fall * fall);
    }
    turn(m->c, m->s, w_bar, world);
    x_bar[PADDLE_VX] += world[0];
    x_bar[PADDLE_VY] += world[1];
    angle_bar += w_bar[0] * m->w[1] - w_bar[1] * m->w[0];
    turn(m->c, m->s, at_bar, world);
    for (int i = 0; i < 2; i++) {
        x_bar[PADDLE_BX + i] += world[i];
        x_bar[PADDLE_VX + i] += h * world[i];
        x_bar[PADDLE_PX + i] -= world[i];
    }
    angle_bar += at_bar[0] * m->at[1] - at_bar[1] * m->at[0];
    x_bar[PADDLE_ANGLE] += next_bar[PADDLE_ANGLE] + angle_bar;
    u_bar[2] += h * angle_bar;
}

/* Adds to x_bar and u_bar the product of next_bar with the derivative of paddle_step(). */
PADDLE_INLINE void paddle_back(const paddle_law *e, const real *x, const real *u, const real *next_bar,
                               real *x_bar, real *u_bar)
{
    const impact m = meet(e, x, u);
    real hit_x[PADDLE_STATES], hit_u[PADDLE_CONTROLS];
    for (int i = 0; i < PADDLE_STATES; i++) {
        hit_x[i] = x_bar[i];
    }
    for (int i = 0; i < PADDLE_CONTROLS; i++) {
        hit_u[i] = u_bar[i];
    }
    for (int i = 0; i < 2; i++) {
        x_bar[PADDLE_BX + i] += next_bar[PADDLE_BX + i];
        x_bar[PADDLE_VX + i] += e->keep * (next_bar[PADDLE_VX + i] + e->h * next_bar[PADDLE_BX + i]);
    }
    for (int i = 0; i < 3; i++) {
        x_bar[PADDLE_PX + i] += next_bar[PADDLE_PX + i];
        u_bar[i] += e->h * next_bar[PADDLE_PX + i];
    }
    if (real_any(m.hit)) {
        back_hit(e, &m, x, next_bar, hit_x, hit_u);
        for (int i = 0; i < PADDLE_STATES; i++) {
            x_bar[i] = real_choose(m.hit, hit_x[i], x_bar[i]);
        }
        for (int i = 0; i < PADDLE_CONTROLS; i++) {
            u_bar[i] = real_choose(m.hit, hit_u[i], u_bar[i]);
        }
    }
}

#endif
