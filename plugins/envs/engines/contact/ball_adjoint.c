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

/* What networks have added, backwards: v1, the derivatives by the velocity after the event; adds to those before it, by
 * the normals and the depths. */
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

void ball_adjoint(ball *b, double state_bar[4], double *angle_bar)
{
    const double h = b->p.h;
    double q[2] = {state_bar[0], state_bar[1]}, v[2] = {state_bar[2], state_bar[3]};
    uint64_t now = b->steps;
    memset(angle_bar, 0, b->n * sizeof *angle_bar);
    for (uint64_t i = b->events; i > 0;) {
        uint64_t step = b->event[i - 1].step;
        const double q1[2] = {q[0], q[1]}, flight = h * (double)(now - step - 1);
        const int semi = b->p.integrator == BALL_SEMI_IMPLICIT;
        v[0] += (flight + (semi ? h : 0)) * q1[0];
        v[1] += (flight + (semi ? h : 0)) * q1[1];
        for (; i > 0 && b->event[i - 1].step == step; i--) {
            reverse_event(b, &b->event[i - 1], q1, v, q, angle_bar);
        }
        v[0] += (semi ? 0 : h) * q1[0];
        v[1] += (semi ? 0 : h) * q1[1];
        now = step;
    }
    v[0] += h * (double)now * q[0];
    v[1] += h * (double)now * q[1];
    state_bar[0] = q[0];
    state_bar[1] = q[1];
    state_bar[2] = v[0];
    state_bar[3] = v[1];
}
