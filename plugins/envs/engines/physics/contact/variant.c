/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - flights of balls side by side (ball_lanes.h), compiled for each instruction set: LANES_ISA
 * is its name, VECTOR_LANES its width.
 *
 * Every lane has its own time. Lanes that cannot reach anything within AHEAD steps fly so far without a test;
 * the others wait until there are none of these, then all take one step, in which those that touch something
 * go through the scalar code. */
#include "ball_lanes.h"

#include "engines/kit/lanes.h"

enum { AHEAD = 8 };

static const double slack = 1e-9; /* as in ball.c */

typedef struct flight {
    vec t, x, y, u, v; /* steps, position, velocity */
} flight;

VEC_INLINE void fly_once(const ball_course *c, flight *s)
{
    const vec u = s->u, v = s->v;
    s->v -= c->fall;
    s->x += c->h * u;
    s->y += c->h * (c->semi ? s->v : v);
}

VEC_INLINE void take(vec_bits yes, const flight *from, double steps, flight *to)
{
    to->t += vec_only(yes, vec_all(steps));
    to->x = vec_choose(yes, from->x, to->x);
    to->y = vec_choose(yes, from->y, to->y);
    to->v = vec_choose(yes, from->v, to->v);
}

/* Clamps as shape.c does. */
VEC_INLINE vec clamp(vec a, double bound)
{
    return vec_choose((vec_bits)(a > bound), vec_all(bound),
                      vec_choose((vec_bits)(a < -bound), vec_all(-bound), a));
}

/* Which lanes touch a box or may touch a wall; removes from *far those that are within `travel` of one. */
VEC_INLINE vec_bits look(const ball_course *c, const double *turn, const flight *s, vec_bits alive,
                         vec_bits *far)
{
    /* 1.1: more than rounding can need */
    const double fallen = AHEAD * vec_abs(vec_all(c->fall))[0];
    const vec travel = 1.1 * AHEAD * c->h * (vec_abs(s->u) + vec_abs(s->v) + fallen);
    const vec left = s->x - c->edges[0], right = c->edges[1] - s->x, low = s->y - c->edges[2],
              high = c->edges[3] - s->y;
    const vec least = vec_least(vec_least(left, right), vec_least(low, high));
    vec_bits touch = ~(vec_bits)(left > 2 * slack) | ~(vec_bits)(right > 2 * slack) |
                     ~(vec_bits)(low > 2 * slack) | ~(vec_bits)(high > 2 * slack);
    *far &= (vec_bits)(least > travel + 2 * slack) & ~touch;
    const vec room = c->radius + travel;
    for (uint64_t i = 0; i < c->n; i++) {
        const shape_box *b = &c->box[i];
        const vec dx = s->x - b->centre[0], dy = s->y - b->centre[1], square = dx * dx + dy * dy;
        const vec wide = b->extent + travel;
        const vec_bits within = alive & ~(vec_bits)(square > wide * wide);
        if (vec_any(within)) {
            const vec co = vec_load(turn + 2 * i * VECTOR_LANES),
                      si = vec_load(turn + (2 * i + 1) * VECTOR_LANES);
            const vec l0 = co * dx + si * dy, l1 = -si * dx + co * dy;
            const vec e0 = l0 - clamp(l0, b->half[0]), e1 = l1 - clamp(l1, b->half[1]);
            const vec gap = e0 * e0 + e1 * e1;
            *far &= ~within | (vec_bits)(gap > room * room);
            touch |= within & (vec_bits)(square <= b->reach) & ~(vec_bits)(gap > c->radius * c->radius);
        }
    }
    return touch & alive;
}

/* The lanes of `touch` take a step by themselves. */
VEC_INLINE void impacts(vec_bits touch, ball *const *lane, ball_impact *impact, flight *s)
{
    for (int k = 0; k < VECTOR_LANES; k++) {
        if (touch[k]) {
            double q[2] = {s->x[k], s->y[k]}, v[2] = {s->u[k], s->v[k]};
            impact(lane[k], (uint64_t)s->t[k], q, v);
            s->x[k] = q[0];
            s->y[k] = q[1];
            s->u[k] = v[0];
            s->v[k] = v[1];
            s->t[k] += 1;
        }
    }
}

static void simulate(const ball_course *course, const double *turn, ball *const *lane, ball_impact *impact,
                     double *state)
{
    const ball_course c = *course; /* nothing that is written can change it */
    const uint64_t n = VECTOR_LANES;
    const double end = (double)c.steps;
    flight s = {vec_all(0), vec_load(state), vec_load(state + n), vec_load(state + 2 * n),
                vec_load(state + 3 * n)};
    for (;;) {
        const vec_bits alive = (vec_bits)(s.t < end);
        if (!vec_any(alive)) {
            break;
        }
        vec_bits far = (vec_bits)(s.t <= end - AHEAD);
        const vec_bits touch = look(&c, turn, &s, alive, &far);
        flight next = s;
        if (vec_any(far)) {
            for (int k = 0; k < AHEAD; k++) {
                fly_once(&c, &next);
            }
            take(far, &next, AHEAD, &s);
            continue;
        }
        fly_once(&c, &next);
        take(alive & ~touch, &next, 1, &s);
        if (vec_any(touch)) {
            impacts(touch, lane, impact, &s);
        }
    }
    vec_store(state, s.x);
    vec_store(state + n, s.y);
    vec_store(state + 2 * n, s.u);
    vec_store(state + 3 * n, s.v);
}

ISA_DEFINE(ball_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate};
