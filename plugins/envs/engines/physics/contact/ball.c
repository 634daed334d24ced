/* SPDX-License-Identifier: Apache-2.0 */
/* ball.c - an episode of a ball among boxes and walls, and its adjoint (see ball.h).
 *
 * A flight of m steps without contact has the adjoint v_bar += m h q_bar, so the reverse sweep only visits
 * steps with contacts, unless states have derivatives of their own or bodies act at a distance. */
#include "ball.h"

#include "ball_lanes.h"
#include "engines/kit/lanes.h"
#include "lcp.h"

#include <math.h>
#include <string.h>

struct ball {
    ball_params p;
    uint64_t n, steps, events, contacts, approximate;
    shape_box *box;
    double *state;     /* (steps + 1) x 4 */
    ball_event *event; /* one per contact with a sequential order */
    impact_contact *contact;
    double *tape, *w_bar; /* tape of the networks; w_bar: see ball_weights() */
    const double *w;
    int stopped;
    ball_course course;
    const ball_lanes *lanes; /* NULL: none */
    ball *lane[LANES_MOST];
    double *turn;
};

enum { BALL_NET_INPUTS = 3 };
enum { POLL = 64 }; /* steps between polls of the stop flag: a wedged ball needs 1 ms per step */

/* Keeps a contact of this step; more than IMPACT_MAX cannot matter in the plane. Returns the new count. */
static int keep(const ball *b, int count, impact_contact *k, int body)
{
    if (k->at.depth > b->p.clip) {
        return count;
    }
    k->at.body = body;
    return count + 1;
}

/* Finds the walls that the disc touches. */
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

/* Finds the boxes that the disc touches, in order; skips far ones by their distance. */
__attribute__((always_inline)) static inline int touch_boxes(const ball *b, const double *q, int count,
                                                             impact_contact *k)
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

/* The impulse along perp(normal) that networks add at a contact; v: velocity before the impulses. 0 if the
 * contact has no impulse. Writes b->tape. */
static double ball_net_impulse(const ball *b, const impact_contact *k, const double v[2])
{
    const double *n = k->at.n,
                 in[BALL_NET_INPUTS] = {n[0] * v[0] + n[1] * v[1], n[0] * v[1] - n[1] * v[0], k->at.depth};
    double impulse = 0;
    if (k->f[0] > 0) {
        ds_hybrid_forward(b->p.hybrid, b->w, in, &impulse, b->tape);
    }
    return impulse;
}

/* Adds the impulses of the networks to the velocity after the impulses of an event. */
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

static int poll(ball *b, uint64_t t)
{
    b->stopped = (t + 1) % POLL == 0 && b->p.host && b->p.host->should_stop(b->p.host);
    return b->stopped;
}

/* Common start of both simulations. */
static void ball_place(ball *b, const double *angle, uint64_t steps)
{
    b->steps = steps;
    b->events = b->contacts = b->approximate = 0;
    b->stopped = 0;
    for (uint64_t i = 0; i < b->n; i++) {
        shape_box_place(&b->box[i], b->p.radius, angle[i]);
    }
}

static ball_course course_of(const ball *b)
{
    const double r = b->p.radius, *w = b->p.walls;
    return (ball_course){.h = b->p.h,
                         .fall = b->p.h * b->p.gravity,
                         .radius = r,
                         .edges = {w[0] + r, w[1] - r, w[2] + r, w[3] - r},
                         .semi = b->p.integrator == BALL_SEMI_IMPLICIT,
                         .n = b->n,
                         .steps = b->steps,
                         .box = b->box};
}

static const double slack = 1e-9; /* rounding must not hide a wall */

/* Step t. */
__attribute__((always_inline)) static inline void ball_step(ball *b, const ball_course *c, uint64_t t,
                                                            double q[2], double v[2])
{
    const double before[2] = {v[0], v[1]}, *edge = c->edges;
    impact_contact *k = b->contact + b->contacts;
    int count = touch_boxes(b, q, 0, k);
    if (q[0] <= edge[0] + slack || q[0] >= edge[1] - slack || q[1] <= edge[2] + slack ||
        q[1] >= edge[3] - slack) {
        count = touch_walls(b, q, count, k);
    }
    v[1] -= c->fall;
    if (count) {
        collide(b, t, count, v);
    }
    q[0] += c->h * (c->semi ? v[0] : before[0]);
    q[1] += c->h * (c->semi ? v[1] : before[1]);
}

void ball_simulate(ball *b, const double *angle, const double state[4], uint64_t steps)
{
    double q[2] = {state[0], state[1]}, v[2] = {state[2], state[3]}, *s = b->state;
    ball_place(b, angle, steps);
    const ball_course c = course_of(b);
    for (uint64_t t = 0; t < steps; t++, s += 4) {
        if (poll(b, t)) {
            return;
        }
        s[0] = q[0];
        s[1] = q[1];
        s[2] = v[0];
        s[3] = v[1];
        ball_step(b, &c, t, q, v);
    }
    s[0] = q[0];
    s[1] = q[1];
    s[2] = v[0];
    s[3] = v[1];
}

/* ---- balls side by side ---- */

enum { LANES_STEPS = 4096 }; /* longer episodes have no lanes: their events would take too much memory */

static void impact_of_lane(ball *b, uint64_t t, double q[2], double v[2])
{
    ball_step(b, &b->course, t, q, v);
}

uint64_t ball_width(const ball *b)
{
    return b->lanes != NULL ? b->lanes->width : 1;
}

ball *ball_lane(const ball *b, uint64_t k)
{
    return b->lane[k];
}

void ball_lanes_simulate(ball *b, const double *const *angle, const double state[4], uint64_t steps,
                         double end[][4])
{
    const uint64_t width = b->lanes->width;
    double at[4 * LANES_MOST];
    for (uint64_t k = 0; k < width; k++) {
        ball *lane = b->lane[k];
        ball_place(lane, angle[k], steps);
        lane->course = course_of(lane);
        for (uint64_t i = 0; i < b->n; i++) {
            b->turn[2 * i * width + k] = lane->box[i].c;
            b->turn[(2 * i + 1) * width + k] = lane->box[i].s;
        }
        for (uint64_t j = 0; j < 4; j++) {
            at[j * width + k] = state[j];
        }
    }
    b->lanes->simulate(&b->lane[0]->course, b->turn, b->lane, impact_of_lane, at);
    for (uint64_t k = 0; k < width; k++) {
        for (uint64_t j = 0; j < 4; j++) {
            end[k][j] = at[j * width + k];
        }
    }
}

static ball *make_ball(ds_memory *m, const ball_params *p, uint64_t n, const shape_box *boxes, uint64_t steps)
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

ball *ball_create(ds_memory *m, const ball_params *p, uint64_t n, const shape_box *boxes, uint64_t steps)
{
    ball *b = make_ball(m, p, n, boxes, steps);
    if (b == NULL || b->p.hybrid != NULL || p->soft.kernel != SOFTNESS_NONE || p->soft.at_distance ||
        steps > LANES_STEPS) {
        return b;
    }
    const ball_lanes *lanes = ball_lanes_find();
    b->turn = lanes_memory(m, 2 * n, lanes->width);
    for (uint64_t k = 0; k < lanes->width; k++) {
        b->lane[k] = make_ball(m, p, n, boxes, steps);
    }
    b->lanes = lanes;
    return m->failed ? NULL : b;
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

/* ---- forces at a distance ---- */

static const double turn_speed = 0.1; /* m/s: velocity scale of friction and of the return push */

/* Number of bodies: boxes, then walls. */
static uint64_t ball_bodies(const ball *b)
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

/* The force of one body. */
typedef struct push {
    shape_contact at;
    double vn, vt;          /* along n and perp(n) */
    double N, force, slope; /* N; stiffness times ramp, stiffness times its slope */
    double share, turn;     /* share of the force on the way out, and its derivative by vn */
    double drag, bend;      /* friction / N, and its derivative by vt */
} push;

/* Returns 0 if the body exerts no force. */
static int push_of(const ball *b, uint64_t i, const double q[2], const double v[2], push *p)
{
    const softness *s = &b->p.soft;
    ball_near(b, i, q, &p->at);
    if (!isfinite(p->at.depth) || (s->at_distance && p->at.depth >= 0)) {
        return 0; /* no such wall; where the ball touches, impulses act instead */
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

/* The force of all bodies on a ball at q with velocity v. */
static void ball_far_force(const ball *b, const double q[2], const double v[2], double force[2])
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
    for (uint64_t t = 0; t < steps && !poll(b, t); t++, s += 4) {
        const double moved[2] = {s[0] + h * s[2], s[1] + h * s[3]};
        double force[2];
        ball_far_force(b, semi ? s : moved, s + 2, force);
        s[6] = s[2] + h * force[0];
        s[7] = s[3] + h * (force[1] - b->p.gravity);
        s[4] = semi ? s[0] + h * s[6] : moved[0];
        s[5] = semi ? s[1] + h * s[7] : moved[1];
    }
}

/* Reverse of one body; y: derivatives by its force. */
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

static void ball_far_reverse(const ball *b, const double q[2], const double v[2], const double force_bar[2],
                             double q_bar[2], double v_bar[2], double *angle_bar)
{
    push p;
    for (uint64_t i = 0; i < ball_bodies(b); i++) {
        if (push_of(b, i, q, v, &p)) {
            reverse(&p, v, force_bar, q_bar, v_bar, angle_bar);
        }
    }
}

/* ---- adjoint ---- */

static double dot(const double a[2], const double b[2])
{
    return a[0] * b[0] + a[1] * b[1];
}

/* Passes derivatives by normals on to the position and to the angles of the boxes. */
static void normals(const ball_event *e, const impact_contact *k, double n_bar[][2], double q_bar[2],
                    double *angle_bar)
{
    for (int i = 0; i < e->count; i++) {
        if (k[i].at.body < BALL_WALL) {
            shape_normal_adjoint(&k[i].at, (const double *)n_bar[i], q_bar, &angle_bar[k[i].at.body]);
        }
    }
}

/* Shift of the time of impact (saltation matrix): a change g of the gap moves the impact by g/(n.v). Over
 * that time the ball has the velocity before the impact instead of the one after it, and gravity acts on the
 * other velocity. q1, v1: derivatives by the state after the step. */
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

/* The step with contacts switched by the sign of the derivative; used if that gives a larger derivative by
 * the velocity. Returns 0 if the plain one stays. */
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

/* Reverse of add_networks(). v1: derivatives by the velocity after the event. Adds to those by the velocity
 * before it, the normals and the depths. */
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

/* Reverse of one set of simultaneous contacts: v_bar goes from after to before the impulses; adds to q_bar.
 */
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

/* State of the reverse sweep: derivatives by position and velocity before a step. */
typedef struct sweep {
    double q[2], v[2];
} sweep;

/* Reverse of steps from .. to - 1 without contact, if states have derivatives of their own or bodies act at a
 * distance. */
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

/* Reverse of an episode with softened contact. */
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

/* Reverse of an episode with impulses. */
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
