/* SPDX-License-Identifier: Apache-2.0 */
/* ball.c - an episode of a ball among boxes and walls, forward (see ball.h). */
#include "ball.h"

#include "lcp.h"

#include <math.h>
#include <string.h>

enum { POLL = 64 }; /* steps between questions whether to stop: a wedged ball takes 1 ms for a step */

/* Contacts of one step that are kept; more cannot matter in the plane. */
static int keep(const ball *b, int count, impact_contact *k, int body)
{
    if (k->at.depth > b->p.clip) {
        return count;
    }
    k->at.body = body;
    return count + 1;
}

/* Walls that the disc touches. */
static int touch_walls(const ball *b, const double *q, int count, impact_contact *k)
{
    const double r = b->p.radius, *w = b->p.walls;
    const double gap[4] = {q[0] - w[0], w[1] - q[0], q[1] - w[2], w[3] - q[1]};
    static const double normal[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    for (int i = 0; i < 4 && count < IMPACT_MAX; i++) {
        if (gap[i] <= r) {
            shape_contact *at = &k[count].at;
            memcpy(at->n, normal[i], sizeof at->n);
            at->depth = r - gap[i];
            at->feature = SHAPE_FACE;
            count = keep(b, count, &k[count], BALL_WALL + i);
        }
    }
    return count;
}

/* Boxes that the disc touches, in order; far ones are passed over by their distance. */
static int touch_boxes(const ball *b, const double *q, int count, impact_contact *k)
{
    for (uint64_t i = 0; i < b->n; i++) {
        double dx = q[0] - b->box[i].centre[0], dy = q[1] - b->box[i].centre[1];
        if (dx * dx + dy * dy <= b->box[i].reach && count < IMPACT_MAX &&
            shape_disc_box(&b->box[i], q, b->p.radius, &k[count].at)) {
            count = keep(b, count, &k[count], (int)i);
        }
    }
    return count;
}

double ball_net_impulse(const ball *b, const impact_contact *k, const double v[2])
{
    const double *n = k->at.n,
                 in[BALL_NET_INPUTS] = {n[0] * v[0] + n[1] * v[1], n[0] * v[1] - n[1] * v[0], k->at.depth};
    double impulse = 0;
    if (k->f[0] > 0) {
        ds_hybrid_forward(b->p.hybrid, b->w, in, &impulse, b->tape);
    }
    return impulse;
}

/* What networks add to the velocity after the impulses of an event. */
static void add_networks(const ball *b, const ball_event *e, double v[2])
{
    const impact_contact *k = b->contact + e->first;
    for (int i = 0; i < e->count; i++) {
        double impulse = ball_net_impulse(b, &k[i], e->v);
        v[0] -= impulse * k[i].at.n[1];
        v[1] += impulse * k[i].at.n[0];
    }
}

/* Applies the impulses of one step to v and records what the reverse sweep needs. */
static void collide(ball *b, uint64_t step, int count, double v[2])
{
    impact_contact *k = b->contact + b->contacts;
    int parts = b->p.order == BALL_SIMULTANEOUS ? 1 : count;
    for (int i = 0; b->p.order == BALL_REVERSED && i < count / 2; i++) {
        impact_contact t = k[i];
        k[i] = k[count - 1 - i];
        k[count - 1 - i] = t;
    }
    for (int i = 0; i < parts; i++) {
        ball_event *e = &b->event[b->events++];
        e->step = step;
        e->first = b->contacts;
        e->count = count / parts;
        memcpy(e->v, v, sizeof e->v);
        b->approximate += impact_apply(&b->p.law, e->count, b->contact + e->first, v) == LCP_APPROXIMATE;
        if (b->p.hybrid) {
            add_networks(b, e, v);
        }
        b->contacts += (uint64_t)e->count;
    }
}

int ball_told_to_stop(ball *b, uint64_t t)
{
    b->stopped = (t + 1) % POLL == 0 && b->p.host && b->p.host->should_stop(b->p.host);
    return b->stopped;
}

void ball_place(ball *b, const double *angle, uint64_t steps)
{
    b->steps = steps;
    b->events = b->contacts = b->approximate = 0;
    b->stopped = 0;
    for (uint64_t i = 0; i < b->n; i++) {
        shape_box_place(&b->box[i], b->p.radius, angle[i]);
    }
}

void ball_simulate(ball *b, const double *angle, const double state[4], uint64_t steps)
{
    const double h = b->p.h, fall = h * b->p.gravity, r = b->p.radius;
    const double x0 = b->p.walls[0] + r, x1 = b->p.walls[1] - r, y0 = b->p.walls[2] + r,
                 y1 = b->p.walls[3] - r;
    const int semi = b->p.integrator == BALL_SEMI_IMPLICIT;
    const double slack = 1e-9; /* rounding must not hide a wall */
    double q[2] = {state[0], state[1]}, v[2] = {state[2], state[3]}, *s = b->state;
    ball_place(b, angle, steps);
    for (uint64_t t = 0; t < steps; t++, s += 4) {
        if (ball_told_to_stop(b, t)) {
            return;
        }
        double before[2] = {v[0], v[1]};
        s[0] = q[0];
        s[1] = q[1];
        s[2] = v[0];
        s[3] = v[1];
        impact_contact *k = b->contact + b->contacts;
        int count = touch_boxes(b, q, 0, k);
        if (q[0] <= x0 + slack || q[0] >= x1 - slack || q[1] <= y0 + slack || q[1] >= y1 - slack) {
            count = touch_walls(b, q, count, k);
        }
        v[1] -= fall;
        if (count) {
            collide(b, t, count, v);
        }
        q[0] += h * (semi ? v[0] : before[0]);
        q[1] += h * (semi ? v[1] : before[1]);
    }
    s[0] = q[0];
    s[1] = q[1];
    s[2] = v[0];
    s[3] = v[1];
}

ball *ball_create(ds_memory *m, const ball_params *p, uint64_t n, const shape_box *boxes, uint64_t steps)
{
    const uint64_t tape = p->hybrid ? p->hybrid->tape : 0; /* 0 without networks */
    const ball filled = {.p = *p,
                         .tape = tape > 0 ? ds_memory_doubles(m, tape) : NULL,
                         .n = n,
                         .box = ds_memory_take(m, n + 1, sizeof(shape_box)),
                         .state = ds_memory_doubles(m, (steps + 1) * 4),
                         .event = ds_memory_take(m, (steps + 1) * IMPACT_MAX, sizeof(ball_event)),
                         .contact = ds_memory_take(m, (steps + 1) * IMPACT_MAX, sizeof(impact_contact))};
    ball *b = ds_memory_take(m, 1, sizeof *b);
    if (m->failed) {
        return NULL;
    }
    *b = filled;
    b->p.hybrid = tape > 0 ? p->hybrid : NULL;
    if (n) {
        memcpy(b->box, boxes, n * sizeof *boxes);
    }
    return b;
}

void ball_weights(ball *b, const double *w, double *w_bar)
{
    b->w = w;
    b->w_bar = w_bar;
}

int ball_stopped(const ball *b)
{
    return b->stopped;
}

const double *ball_state(const ball *b, uint64_t t)
{
    return b->state + 4 * t;
}

uint64_t ball_events(const ball *b)
{
    return b->events;
}

const ball_event *ball_event_at(const ball *b, uint64_t i)
{
    return &b->event[i];
}

const impact_contact *ball_contacts(const ball *b, const ball_event *e)
{
    return b->contact + e->first;
}
