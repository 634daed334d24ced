/* SPDX-License-Identifier: Apache-2.0 */
/* floor_ball.c - a ball over a floor without loss (see floor_ball.h). */
#include "floor_ball.h"

#include "engines/kit/norm.h"

#include <string.h>

enum { X, Y, VX, VY };

struct floor_ball {
    double radius, gravity, h;
    double *state;
    const state_net *net;
};

floor_ball *floor_ball_create(ds_memory *m, uint64_t steps)
{
    floor_ball *b = ds_memory_take(m, 1, sizeof *b);
    double *state = ds_memory_doubles(m, (steps + 1) * FLOOR_BALL_STATE);
    if (m->failed) {
        return NULL;
    }
    b->state = state;
    return b;
}

void floor_ball_networks(floor_ball *b, const state_net *net)
{
    b->net = net != NULL && net->hybrid != NULL ? net : NULL;
}

/* State s after the push of the networks. */
static const double *pushed(const floor_ball *b, const double *s)
{
    return b->net != NULL ? state_net_push(b->net, s) : s;
}

/* Returns whether the step from s ends at the floor, and after which time. *clipped: that time does not
 * depend on s. */
static int impact(const floor_ball *b, const double *s, double *time, int *clipped)
{
    double fallen = s[VY] * b->h / 2 + (s[VY] + b->gravity * b->h) * b->h / 2;
    if (!(s[Y] + fallen < b->radius)) {
        return 0;
    }
    double t = s[VY] < 0 ? (b->radius - s[Y]) / s[VY] : 0;
    *clipped = !(s[VY] < 0 && t >= 0 && t <= b->h);
    *time = t > b->h ? b->h : t > 0 ? t : 0;
    return 1;
}

static void advance(const floor_ball *b, const double *s, double *next)
{
    double t = 0;
    int clipped = 0;
    next[VX] = s[VX];
    if (impact(b, s, &t, &clipped)) {
        next[X] = s[X] + s[VX] * t;
        next[Y] = b->radius;
        next[VY] = -(s[VY] + b->gravity * t);
        return;
    }
    next[X] = s[X] + s[VX] * b->h;
    next[VY] = s[VY] + b->gravity * b->h;
    next[Y] = s[Y] + s[VY] * b->h / 2 + next[VY] * b->h / 2;
}

int64_t floor_ball_simulate(floor_ball *b, double radius, double gravity, double h,
                            const double start[FLOOR_BALL_STATE], uint64_t steps)
{
    b->radius = radius;
    b->gravity = gravity;
    b->h = h;
    memcpy(b->state, start, FLOOR_BALL_STATE * sizeof *start);
    for (uint64_t t = 0; t < steps; t++) {
        double *s = b->state + t * FLOOR_BALL_STATE;
        advance(b, pushed(b, s), s + FLOOR_BALL_STATE);
        if (!all_finite(FLOOR_BALL_STATE, s + FLOOR_BALL_STATE)) {
            return (int64_t)t;
        }
    }
    return -1;
}

const double *floor_ball_at(const floor_ball *b, uint64_t t)
{
    return b->state + t * FLOOR_BALL_STATE;
}

static void reverse(const floor_ball *b, const double *s, double bar[FLOOR_BALL_STATE], double *gravity_bar)
{
    double t = 0;
    int clipped = 0;
    if (impact(b, s, &t, &clipped)) {
        double time_bar = clipped ? 0 : bar[X] * s[VX] - bar[VY] * b->gravity;
        *gravity_bar -= bar[VY] * t;
        bar[VX] += bar[X] * t;
        bar[Y] = clipped ? 0 : -time_bar / s[VY];
        bar[VY] = -bar[VY] - (clipped ? 0 : time_bar * t / s[VY]);
        return;
    }
    *gravity_bar += bar[VY] * b->h + bar[Y] * b->h * b->h / 2;
    bar[VX] += bar[X] * b->h;
    bar[VY] += bar[Y] * b->h;
}

void floor_ball_adjoint(const floor_ball *b, uint64_t from, uint64_t to, double bar[FLOOR_BALL_STATE],
                        double *gravity_bar)
{
    for (uint64_t t = to; t-- > from;) {
        reverse(b, pushed(b, b->state + t * FLOOR_BALL_STATE), bar, gravity_bar);
        if (b->net != NULL) {
            double none = 0;
            memcpy(b->net->x_bar, bar, FLOOR_BALL_STATE * sizeof *bar);
            memset(bar, 0, FLOOR_BALL_STATE * sizeof *bar);
            state_net_back(b->net, bar, &none);
        }
    }
}

static void forward(const floor_ball *b, const double *s, double dot[FLOOR_BALL_STATE], double gravity_dot)
{
    double t = 0;
    int clipped = 0;
    if (impact(b, s, &t, &clipped)) {
        double time_dot = clipped ? 0 : -(dot[Y] + t * dot[VY]) / s[VY];
        dot[X] += dot[VX] * t + s[VX] * time_dot;
        dot[Y] = 0;
        dot[VY] = -(dot[VY] + gravity_dot * t + b->gravity * time_dot);
        return;
    }
    dot[X] += dot[VX] * b->h;
    dot[Y] += dot[VY] * b->h + gravity_dot * b->h * b->h / 2;
    dot[VY] += gravity_dot * b->h;
}

void floor_ball_tangent(const floor_ball *b, uint64_t from, uint64_t to, double dot[FLOOR_BALL_STATE],
                        double gravity_dot)
{
    for (uint64_t t = from; t < to; t++) {
        const double *s = pushed(b, b->state + t * FLOOR_BALL_STATE);
        if (b->net != NULL) {
            state_net_push_dot(b->net, b->net->w_dot, dot);
        }
        forward(b, s, dot, gravity_dot);
    }
}
