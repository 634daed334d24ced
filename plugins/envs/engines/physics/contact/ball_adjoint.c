/* SPDX-License-Identifier: Apache-2.0 */
/* ball_adjoint.c - reverse sweep over an episode of a ball. A flight of m steps without contact has the
 * adjoint v_bar += m h q_bar, so only the steps with contacts cost anything. */
#include "ball.h"

#include <math.h>
#include <string.h>

static double dot(const double a[2], const double b[2])
{
    return a[0] * b[0] + a[1] * b[1];
}

/* Derivatives by normals to those by the position and by the angles of the boxes. */
static void normals(const ball_event *e, const impact_contact *k, double n_bar[][2], double q_bar[2],
                    double *angle_bar)
{
    for (int i = 0; i < e->count; i++) {
        if (k[i].at.body < BALL_WALL) {
            shape_normal_adjoint(&k[i].at, (const double *)n_bar[i], q_bar, &angle_bar[k[i].at.body]);
        }
    }
}

/* Shift of the time of impact (saltation matrix): a change g of the gap moves the impact by g/(n.v), over
 * which the ball has the velocity before instead of after it, and gravity acts against the other velocity.
 * q1, v1 are the derivatives by the state after the step. */
static void saltation(const ball *b, const ball_event *e, const impact_contact *k, const double q1[2],
                      const double v1[2], double q_bar[2], double *angle_bar)
{
    for (int i = 0; i < e->count; i++) {
        const double *n = k[i].at.n;
        double normal_speed = dot(n, e->v), factor = 1 + b->p.law.restitution;
        if (!k[i].bounced || !(k[i].f[0] > 0) || normal_speed == 0) {
            continue;
        }
        double gap_bar = -factor * dot(n, q1) + factor * (-b->p.gravity * n[1]) / normal_speed * dot(n, v1);
        q_bar[0] += gap_bar * n[0];
        q_bar[1] += gap_bar * n[1];
        if (k[i].at.body < BALL_WALL) {
            angle_bar[k[i].at.body] += gap_bar * shape_gap_angle(&k[i].at);
        }
    }
}

/* Nimble's bounce approximation: positions pass through K instead of I. */
static void reflect(const ball *b, const ball_event *e, const impact_contact *k, const double q1[2], double h,
                    double v_bar[2], double q_bar[2])
{
    double weight[IMPACT_MAX];
    impact_bounce_weights(&b->p.law, e->count, k, weight);
    for (int i = 0; i < e->count; i++) {
        const double *n = k[i].at.n;
        double along = weight[i] * dot(n, q1);
        for (int d = 0; d < 2; d++) {
            q_bar[d] += along * n[d];
            v_bar[d] += h * along * n[d];
        }
    }
}

/* The step with contacts switched by the sign of the derivative; used where that leaves a larger derivative
 * by the velocity. Returns 0 where the plain one stands. */
static int alternate(const ball *b, const ball_event *e, const impact_contact *k, const double v1[2],
                     const double plain[2], double v_bar[2], double n_bar[][2])
{
    impact_contact other[IMPACT_MAX];
    double v[2] = {v1[0], v1[1]}, bars[IMPACT_MAX][2];
    memcpy(other, k, (size_t)e->count * sizeof *k);
    impact_alternate(&b->p.law, e->count, other, e->v, v1);
    impact_adjoint(&b->p.law, e->count, other, e->v, v, bars);
    if (!(dot(v, v) > dot(plain, plain))) {
        return 0;
    }
    memcpy(v_bar, v, sizeof v);
    memcpy(n_bar, bars, (size_t)e->count * sizeof *bars);
    return 1;
}

/* What networks have added, backwards: v1, the derivatives by the velocity after the event; adds to those
 * before it, by the normals and the depths. */
static void reverse_networks(const ball *b, const ball_event *e, const double v1[2], double v_bar[2],
                             double n_bar[][2], double q_bar[2], double *angle_bar)
{
    const impact_contact *k = ball_contacts(b, e);
    for (int i = 0; i < e->count; i++) {
        const double *n = k[i].at.n;
        double in_bar[BALL_NET_INPUTS] = {0}, impulse = ball_net_impulse(b, &k[i], e->v);
        double impulse_bar = n[0] * v1[1] - n[1] * v1[0];
        if (!(k[i].f[0] > 0)) {
            continue;
        }
        ds_hybrid_reverse(b->p.hybrid, b->w, b->tape, &impulse_bar, b->w_bar, in_bar);
        v_bar[0] += in_bar[0] * n[0] - in_bar[1] * n[1];
        v_bar[1] += in_bar[0] * n[1] + in_bar[1] * n[0];
        n_bar[i][0] += impulse * v1[1] + in_bar[0] * e->v[0] + in_bar[1] * e->v[1];
        n_bar[i][1] += -impulse * v1[0] + in_bar[0] * e->v[1] - in_bar[1] * e->v[0];
        q_bar[0] -= in_bar[2] * n[0];
        q_bar[1] -= in_bar[2] * n[1];
        if (k[i].at.body < BALL_WALL) {
            angle_bar[k[i].at.body] -= in_bar[2] * shape_gap_angle(&k[i].at);
        }
    }
}

/* One set of simultaneous contacts backwards: v_bar from after to before the impulses; additions to q_bar. */
static void reverse_event(const ball *b, const ball_event *e, const double q1[2], double v_bar[2],
                          double q_bar[2], double *angle_bar)
{
    const impact_contact *k = ball_contacts(b, e);
    const double v1[2] = {v_bar[0], v_bar[1]};
    double n_bar[IMPACT_MAX][2];
    impact_adjoint(&b->p.law, e->count, k, e->v, v_bar, n_bar);
    if (b->p.gradient == BALL_ALTERNATE) {
        const double plain[2] = {v_bar[0], v_bar[1]};
        alternate(b, e, k, v1, plain, v_bar, n_bar);
    }
    if (b->p.hybrid) {
        reverse_networks(b, e, v1, v_bar, n_bar, q_bar, angle_bar);
    }
    normals(e, k, n_bar, q_bar, angle_bar);
    if (b->p.gradient == BALL_SALTATION) {
        saltation(b, e, k, q1, v1, q_bar, angle_bar);
    } else if (b->p.gradient == BALL_NIMBLE) {
        reflect(b, e, k, q1, b->p.integrator == BALL_EXPLICIT ? b->p.h : 0, v_bar, q_bar);
    }
}

/* Position and velocity of the reverse sweep: derivatives by the state before a step. */
typedef struct sweep {
    double q[2], v[2];
} sweep;

/* The steps from .. to - 1 without contact, where states have derivatives of their own or bodies act at
 * a distance. */
static void reverse_flight(const ball *b, uint64_t from, uint64_t to, const double *more, sweep *d,
                           double *angle_bar)
{
    const double h = b->p.h;
    double unused[2] = {0, 0};
    for (uint64_t t = to; t-- > from;) {
        const double *s = ball_state(b, t), y[2] = {h * (d->v[0] + h * d->q[0]), h * (d->v[1] + h * d->q[1])};
        const double z[2] = {h * d->v[0], h * d->v[1]}, q1[2] = {d->q[0], d->q[1]};
        if (b->p.soft.at_distance) {
            ball_far_reverse(b, s, s + 2, b->p.integrator == BALL_EXPLICIT ? z : y, d->q, unused, angle_bar);
        }
        for (int i = 0; i < 2; i++) {
            d->v[i] += h * q1[i];
            d->q[i] += more != NULL ? more[2 * t + (uint64_t)i] : 0;
        }
    }
}

/* An episode with softened contact. */
static void reverse_soft(const ball *b, const double *more, sweep *d, double *angle_bar)
{
    const double h = b->p.h;
    const int semi = b->p.integrator == BALL_SEMI_IMPLICIT;
    for (uint64_t t = b->steps; t-- > 0;) {
        const double *s = ball_state(b, t), moved[2] = {s[0] + h * s[2], s[1] + h * s[3]};
        double v1[2], v_bar[2];
        for (int i = 0; i < 2; i++) {
            v_bar[i] = d->v[i] + (semi ? h * d->q[i] : 0);
            v1[i] = h * v_bar[i];
        }
        ball_far_reverse(b, semi ? s : moved, s + 2, v1, d->q, v_bar, angle_bar);
        for (int i = 0; i < 2; i++) {
            d->v[i] = v_bar[i] + (semi ? 0 : h * d->q[i]);
            d->q[i] += more != NULL ? more[2 * t + (uint64_t)i] : 0;
        }
    }
}

/* An episode with impulses. */
static void reverse_hard(const ball *b, const double *more, sweep *d, double *angle_bar)
{
    const double h = b->p.h;
    const int semi = b->p.integrator == BALL_SEMI_IMPLICIT, each = more != NULL || b->p.soft.at_distance;
    double *q = d->q, *v = d->v;
    uint64_t now = b->steps;
    for (uint64_t i = b->events; i > 0;) {
        uint64_t step = b->event[i - 1].step;
        double unused[2] = {0, 0};
        if (each) {
            reverse_flight(b, step + 1, now, more, d, angle_bar);
            now = step + 1;
        }
        const double q1[2] = {q[0], q[1]}, flight = h * (double)(now - step - 1);
        v[0] += (flight + (semi ? h : 0)) * q1[0];
        v[1] += (flight + (semi ? h : 0)) * q1[1];
        const double y[2] = {h * v[0], h * v[1]};
        for (; i > 0 && b->event[i - 1].step == step; i--) {
            reverse_event(b, &b->event[i - 1], q1, v, q, angle_bar);
        }
        v[0] += (semi ? 0 : h) * q1[0];
        v[1] += (semi ? 0 : h) * q1[1];
        if (b->p.soft.at_distance) {
            const double *s = ball_state(b, step);
            ball_far_reverse(b, s, s + 2, y, q, unused, angle_bar);
        }
        q[0] += more != NULL ? more[2 * step] : 0;
        q[1] += more != NULL ? more[2 * step + 1] : 0;
        now = step;
    }
    if (each) {
        reverse_flight(b, 0, now, more, d, angle_bar);
        now = 0;
    }
    v[0] += h * (double)now * q[0];
    v[1] += h * (double)now * q[1];
}

void ball_adjoint(ball *b, const double *more, double state_bar[4], double *angle_bar)
{
    sweep d = {{state_bar[0], state_bar[1]}, {state_bar[2], state_bar[3]}};
    memset(angle_bar, 0, b->n * sizeof *angle_bar);
    (b->p.soft.kernel == SOFTNESS_NONE ? reverse_hard : reverse_soft)(b, more, &d, angle_bar);
    memcpy(state_bar, d.q, sizeof d.q);
    memcpy(state_bar + 2, d.v, sizeof d.v);
}
