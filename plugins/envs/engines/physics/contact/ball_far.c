/* SPDX-License-Identifier: Apache-2.0 */
/* ball_far.c - forces of bars and walls on a ball that they do not touch yet: of a softened contact, or of
 * the one that gradients alone know (see ball.h). */
#include <math.h>
#include <string.h>

#include "ball.h"

static const double turn_speed = 0.1; /* m/s: over which friction and the way out set in */

uint64_t ball_bodies(const ball *b)
{
    return b->n + 4;
}

void ball_near(const ball *b, uint64_t i, const double q[2], shape_contact *out)
{
    const double *w = b->p.walls;
    if (i < b->n) {
        shape_disc_near(&b->box[i], q, b->p.radius, out);
        out->body = (int)i;
        return;
    }
    const int wall = (int)(i - b->n), axis = wall / 2;
    const double sign = wall % 2 ? -1 : 1;
    out->n[axis] = sign;
    out->n[1 - axis] = 0;
    out->depth = b->p.radius - sign * (q[axis] - w[wall]);
    out->feature = SHAPE_FACE;
    out->body = BALL_WALL + wall;
}

/* What one body does. */
typedef struct push {
    shape_contact at;
    double vn, vt;          /* along n and perp(n) */
    double N, force, slope; /* N; stiffness times the ramp, and that times its slope */
    double share, turn;     /* what is left of it on the way out, and the derivative by vn */
    double drag, bend;      /* friction over N, and its derivative by vt */
} push;

/* 0 where the body is not felt. */
static int push_of(const ball *b, uint64_t i, const double q[2], const double v[2], push *p)
{
    const softness *s = &b->p.soft;
    ball_near(b, i, q, &p->at);
    if (!isfinite(p->at.depth) || (s->at_distance && p->at.depth >= 0)) {
        return 0; /* a wall that is not there; impulses act where the ball touches */
    }
    p->force = b->p.stiffness *
               (s->at_distance ? softness_pull_ramp(s, p->at.depth) : softness_ramp(s, p->at.depth));
    p->slope = b->p.stiffness * softness_pull(s, p->at.depth);
    p->share = 1;
    p->turn = p->drag = p->bend = 0;
    if (!s->at_distance) {
        const double *n = p->at.n, e = b->p.law.restitution, mu = b->p.law.friction;
        p->vn = n[0] * v[0] + n[1] * v[1];
        p->vt = n[0] * v[1] - n[1] * v[0];
        const double in = 1 / (1 + exp(p->vn / turn_speed)), root = hypot(p->vt, turn_speed);
        p->share = e * e + (1 - e * e) * in;
        p->turn = -(1 - e * e) * in * (1 - in) / turn_speed;
        p->drag = mu * p->vt / root;
        p->bend = mu * turn_speed * turn_speed / (root * root * root);
    }
    p->N = p->force * p->share;
    return 1;
}

void ball_far_force(const ball *b, const double q[2], const double v[2], double force[2])
{
    push p;
    force[0] = force[1] = 0;
    for (uint64_t i = 0; i < ball_bodies(b); i++) {
        if (push_of(b, i, q, v, &p)) {
            force[0] += p.N * (p.at.n[0] + p.drag * p.at.n[1]);
            force[1] += p.N * (p.at.n[1] - p.drag * p.at.n[0]);
        }
    }
}

void ball_far_simulate(ball *b, const double *angle, const double state[4], uint64_t steps)
{
    const double h = b->p.h;
    const int semi = b->p.integrator == BALL_SEMI_IMPLICIT;
    double *s = b->state;
    ball_place(b, angle, steps);
    memcpy(s, state, 4 * sizeof *s);
    for (uint64_t t = 0; t < steps && !ball_told_to_stop(b, t); t++, s += 4) {
        const double moved[2] = {s[0] + h * s[2], s[1] + h * s[3]};
        double force[2];
        ball_far_force(b, semi ? s : moved, s + 2, force);
        s[6] = s[2] + h * force[0];
        s[7] = s[3] + h * (force[1] - b->p.gravity);
        s[4] = semi ? s[0] + h * s[6] : moved[0];
        s[5] = semi ? s[1] + h * s[7] : moved[1];
    }
}

/* One body: y are the derivatives by its force. */
static void reverse(const push *p, const double v[2], const double y[2], double q_bar[2], double v_bar[2],
                    double *angle_bar)
{
    const double *n = p->at.n, along = n[0] * y[0] + n[1] * y[1], across = n[0] * y[1] - n[1] * y[0];
    const double N_bar = along - p->drag * across, vt_bar = -p->N * across * p->bend;
    const double vn_bar = N_bar * p->force * p->turn, depth_bar = N_bar * p->slope * p->share;
    const double n_bar[2] = {p->N * (y[0] - p->drag * y[1]) + vn_bar * v[0] + vt_bar * v[1],
                             p->N * (y[1] + p->drag * y[0]) + vn_bar * v[1] - vt_bar * v[0]};
    v_bar[0] += vn_bar * n[0] - vt_bar * n[1];
    v_bar[1] += vn_bar * n[1] + vt_bar * n[0];
    q_bar[0] -= depth_bar * n[0];
    q_bar[1] -= depth_bar * n[1];
    if (p->at.body < BALL_WALL) {
        angle_bar[p->at.body] -= depth_bar * shape_gap_angle(&p->at);
        shape_normal_adjoint(&p->at, n_bar, q_bar, &angle_bar[p->at.body]);
    }
}

void ball_far_reverse(const ball *b, const double q[2], const double v[2], const double force_bar[2],
                      double q_bar[2], double v_bar[2], double *angle_bar)
{
    push p;
    for (uint64_t i = 0; i < ball_bodies(b); i++) {
        if (push_of(b, i, q, v, &p)) {
            reverse(&p, v, force_bar, q_bar, v_bar, angle_bar);
        }
    }
}
