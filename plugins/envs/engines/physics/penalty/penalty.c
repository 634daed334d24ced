/* SPDX-License-Identifier: Apache-2.0 */
/* penalty.c - a particle with penalty contact, forward and reverse (see penalty.h). Records only the few
 * steps with contact, or all steps if a force acts everywhere: a flight of m steps has the adjoint v_bar += m
 * h x_bar. */
#include "penalty.h"

#include "engines/kit/lanes.h"

#include <math.h>
#include <string.h>

static const double smallest = 1e-12; /* added to |v_t|^2, so that a resting particle has a direction */

/* A step with contact: the state before it. */
typedef struct record {
    uint64_t step;
    int touching; /* PENALTY_* */
    double x[3], v[3];
} record;

struct penalty {
    penalty_params p;
    uint64_t steps, records;
    record *record;
    double *state;        /* (steps + 1) x 6, if kept */
    double *tape, *w_bar; /* tapes of the networks, one per record; see penalty_weights() */
    const double *w;
    const struct penalty_lanes *lanes; /* NULL: none */
    double *lanes_record;
    uint64_t lanes_records;
};

static const double ground_normal[3] = {0, 1, 0}, wall_normal[3] = {-1, 0, 0};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double ground_gap(const penalty_params *p, const double x[3])
{
    return x[1] - p->radius;
}

static double wall_gap(const penalty_params *p, const double x[3])
{
    return p->wall - x[0] - p->radius;
}

/* Effect of one plane in a state. */
typedef struct touch {
    double approach;      /* normal velocity; 0 if the particle leaves */
    double push;          /* N, of the spring */
    double N;             /* N, load of the friction */
    double tangential[3]; /* velocity along the plane */
    double speed;         /* its size, never 0 */
    int sliding;          /* 1: Coulomb friction, 0: viscous */
} touch;

/* The ramp of the spring, and the slope that a gradient uses, also for a hard contact. */
static double ramp_of(const penalty_params *p, double c)
{
    return p->soft.kernel != SOFTNESS_NONE ? softness_ramp(&p->soft, -c) : c < 0 ? -c : 0;
}

static double slope_of(const penalty_params *p, double c)
{
    return p->soft.kernel != SOFTNESS_NONE || p->soft.at_distance ? softness_pull(&p->soft, -c) : 1;
}

static touch examine(const penalty_params *p, double c, const double n[3], const double v[3], int which)
{
    double vn = dot(n, v);
    const int near = which == PENALTY_GROUND ? c < 0 : c <= 0;
    touch t = {.approach = vn < 0 && near ? vn : 0, .push = p->ke * ramp_of(p, c)};
    for (int i = 0; i < 3; i++) {
        t.tangential[i] = v[i] - n[i] * vn;
    }
    t.N = t.push - (which == PENALTY_GROUND ? p->kd * t.approach : 0);
    t.speed = sqrt(dot(t.tangential, t.tangential) + smallest);
    t.sliding = p->mu * t.N < p->kf * t.speed;
    return t;
}

static void add_force(const penalty_params *p, double c, const double n[3], const double v[3], int which,
                      double f[3])
{
    touch t = examine(p, c, n, v, which);
    double press = p->kd * t.approach - t.push, drag = t.sliding ? p->mu * t.N / t.speed : p->kf;
    for (int i = 0; i < 3; i++) {
        f[i] -= n[i] * press + t.tangential[i] * drag;
    }
}

int penalty_force(const penalty_params *p, const double x[3], const double v[3], double force[3])
{
    double ground = ground_gap(p, x), wall = wall_gap(p, x);
    const int far = p->soft.kernel != SOFTNESS_NONE;
    int touching = (ground < 0 || far ? PENALTY_GROUND : 0) |
                   (wall <= 0 || (far && isfinite(p->wall)) ? PENALTY_WALL : 0);
    memset(force, 0, 3 * sizeof *force);
    if (touching & PENALTY_GROUND) {
        add_force(p, ground, ground_normal, v, PENALTY_GROUND, force);
    }
    if (touching & PENALTY_WALL) {
        add_force(p, wall, wall_normal, v, PENALTY_WALL, force);
    }
    return touching;
}

/* Adds the derivatives by x and v of f_bar . (force of one plane). */
static void reverse_force(const penalty_params *p, double c, const double n[3], const double v[3], int which,
                          const double f_bar[3], double x_bar[3], double v_bar[3])
{
    touch t = examine(p, c, n, v, which);
    double press_bar = -dot(n, f_bar), push_bar = 0, along = dot(t.tangential, f_bar), t_bar[3];
    if (t.sliding) {
        double N_bar = -p->mu * along / t.speed, drag = p->mu * t.N / t.speed;
        for (int i = 0; i < 3; i++) {
            t_bar[i] = -drag * (f_bar[i] - t.tangential[i] * along / (t.speed * t.speed));
        }
        if (which == PENALTY_GROUND) { /* N = -press */
            press_bar -= N_bar;
        } else { /* N = push */
            push_bar += N_bar;
        }
    } else {
        for (int i = 0; i < 3; i++) {
            t_bar[i] = -p->kf * f_bar[i];
        }
    }
    push_bar -= press_bar;
    const double c_bar = -push_bar * p->ke * slope_of(p, c);
    double n_bar = (t.approach < 0 ? p->kd * press_bar : 0) - dot(n, t_bar);
    for (int i = 0; i < 3; i++) {
        x_bar[i] += n[i] * c_bar;
        v_bar[i] += t_bar[i] + n[i] * n_bar;
    }
}

enum { NET_INPUTS = 9 };

/* The force of record r after the networks. */
static void net_force(const penalty *s, const record *r, double force[3])
{
    double in[NET_INPUTS];
    memcpy(in, r->x, sizeof r->x);
    memcpy(in + 3, r->v, sizeof r->v);
    memcpy(in + 6, force, 3 * sizeof *force);
    ds_hybrid_forward(s->p.hybrid, s->w, in, force, s->tape + (uint64_t)(r - s->record) * s->p.hybrid->tape);
}

/* Its reverse. f_bar, in: derivatives by the force; out: by the contact force. */
static void net_reverse(const penalty *s, const record *r, double f_bar[3], double x_bar[3], double v_bar[3])
{
    double in_bar[NET_INPUTS] = {0};
    ds_hybrid_reverse(s->p.hybrid, s->w, s->tape + (uint64_t)(r - s->record) * s->p.hybrid->tape, f_bar,
                      s->w_bar, in_bar);
    for (int i = 0; i < 3; i++) {
        x_bar[i] += in_bar[i];
        v_bar[i] += in_bar[3 + i];
        f_bar[i] += in_bar[6 + i];
    }
}

/* A step with contact, or with a force that acts everywhere. */
static void contact_step(penalty *s, uint64_t t, double x[3], double v[3])
{
    record *r = &s->record[s->records++];
    double force[3];
    r->step = t;
    memcpy(r->x, x, sizeof r->x);
    memcpy(r->v, v, sizeof r->v);
    r->touching = penalty_force(&s->p, x, v, force);
    if (s->p.hybrid) {
        net_force(s, r, force);
    }
    for (int i = 0; i < 3; i++) {
        v[i] += s->p.h * (force[i] / s->p.mass - (i == 1 ? s->p.gravity : 0));
        x[i] += s->p.h * v[i];
    }
}

void penalty_simulate(penalty *s, double x[3], double v[3], uint64_t steps, int keep)
{
    const double h = s->p.h, fall = h * s->p.gravity, low = s->p.radius, right = s->p.wall - s->p.radius;
    const int everywhere = s->p.hybrid != NULL || s->p.soft.kernel != SOFTNESS_NONE || s->p.soft.at_distance;
    double a[3] = {x[0], x[1], x[2]}, b[3] = {v[0], v[1], v[2]};
    s->steps = steps;
    s->records = 0;
    for (uint64_t t = 0; t < steps; t++) {
        if (keep) {
            memcpy(s->state + 6 * t, a, sizeof a);
            memcpy(s->state + 6 * t + 3, b, sizeof b);
        }
        if (a[1] < low || !(a[0] < right) || everywhere) {
            contact_step(s, t, a, b);
        } else {
            b[1] -= fall;
            a[0] += h * b[0];
            a[1] += h * b[1];
            a[2] += h * b[2];
        }
    }
    if (keep) {
        memcpy(s->state + 6 * steps, a, sizeof a);
        memcpy(s->state + 6 * steps + 3, b, sizeof b);
    }
    memcpy(x, a, sizeof a);
    memcpy(v, b, sizeof b);
}

void penalty_weights(penalty *s, const double *w, double *w_bar)
{
    s->w = w;
    s->w_bar = w_bar;
}

void penalty_adjoint(const penalty *s, double x_bar[3], double v_bar[3])
{
    const penalty_params *p = &s->p;
    uint64_t now = s->steps;
    for (uint64_t k = s->records; k-- > 0;) {
        const record *r = &s->record[k];
        double f_bar[3], flight = p->h * (double)(now - r->step); /* with the position update of this step */
        for (int i = 0; i < 3; i++) {
            v_bar[i] += flight * x_bar[i];
            f_bar[i] = p->h * v_bar[i] / p->mass;
        }
        if (p->hybrid) {
            net_reverse(s, r, f_bar, x_bar, v_bar);
        }
        if (r->touching & PENALTY_GROUND || p->soft.at_distance) {
            reverse_force(p, ground_gap(p, r->x), ground_normal, r->v, PENALTY_GROUND, f_bar, x_bar, v_bar);
        }
        if (r->touching & PENALTY_WALL || (p->soft.at_distance && isfinite(p->wall))) {
            reverse_force(p, wall_gap(p, r->x), wall_normal, r->v, PENALTY_WALL, f_bar, x_bar, v_bar);
        }
        now = r->step;
    }
    for (int i = 0; i < 3; i++) {
        v_bar[i] += p->h * (double)now * x_bar[i];
    }
}

/* ---- particles side by side ---- */

enum { LANES_STEPS = 1024 }; /* longer episodes have no lanes: their records would take too much memory */

static void open_lanes(penalty *s, ds_memory *m, uint64_t steps)
{
    if (s->p.hybrid != NULL || s->p.soft.kernel != SOFTNESS_NONE || s->p.soft.at_distance ||
        steps > LANES_STEPS) {
        return;
    }
    const penalty_lanes *lanes = penalty_lanes_find();
    s->lanes_record = lanes_memory(m, steps * lanes->width * PENALTY_RECORD, lanes->width);
    s->lanes = lanes;
}

uint64_t penalty_width(const penalty *s)
{
    return s->lanes != NULL ? s->lanes->width : 1;
}

void penalty_lanes_simulate(penalty *s, double *x, double *v, uint64_t steps, int keep)
{
    s->steps = steps;
    s->lanes_records = s->lanes->simulate(&s->p, steps, keep ? s->lanes_record : NULL, x, v);
}

void penalty_lanes_adjoint(const penalty *s, double *x_bar, double *v_bar)
{
    s->lanes->adjoint(&s->p, s->steps, s->lanes_record, s->lanes_records, x_bar, v_bar);
}

penalty *penalty_create(ds_memory *m, const penalty_params *p, uint64_t steps)
{
    const uint64_t tape = p->hybrid ? p->hybrid->tape : 0; /* 0 without networks */
    const penalty filled = {.p = *p,
                            .tape = tape > 0 ? ds_memory_doubles(m, steps * tape) : NULL,
                            .record = ds_memory_take(m, steps + 1, sizeof(record)),
                            .state = ds_memory_doubles(m, (steps + 1) * 6)};
    penalty *s = ds_memory_take(m, 1, sizeof *s);
    if (m->failed) {
        return NULL;
    }
    *s = filled;
    s->p.hybrid = tape > 0 ? p->hybrid : NULL;
    open_lanes(s, m, steps);
    return s;
}

const double *penalty_state(const penalty *s, uint64_t t)
{
    return s->state + 6 * t;
}

uint64_t penalty_contacts(const penalty *s, int which)
{
    uint64_t n = 0;
    for (uint64_t k = 0; k < s->records; k++) {
        n += (s->record[k].touching & which) != 0;
    }
    return n;
}

/* FNV-1a hash of the branches of each record. */
uint64_t penalty_branches(const penalty *s)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t k = 0; k < s->records; k++) {
        const record *r = &s->record[k];
        touch g = examine(&s->p, ground_gap(&s->p, r->x), ground_normal, r->v, PENALTY_GROUND);
        touch w = examine(&s->p, wall_gap(&s->p, r->x), wall_normal, r->v, PENALTY_WALL);
        uint64_t ground = r->touching & PENALTY_GROUND ? 1u + (g.approach < 0) + 2u * (unsigned)g.sliding : 0;
        uint64_t wall = r->touching & PENALTY_WALL ? 1u + (w.approach < 0) + 2u * (unsigned)w.sliding : 0;
        hash = (hash ^ (r->step << 8 | ground << 4 | wall)) * 0x100000001b3u;
    }
    return hash;
}

int64_t penalty_bad_step(const penalty *s)
{
    for (uint64_t t = 1; t <= s->steps; t++) {
        const double *at = penalty_state(s, t);
        if (!isfinite(at[0] + at[1] + at[2] + at[3] + at[4] + at[5])) {
            return (int64_t)t - 1;
        }
    }
    return -1;
}
