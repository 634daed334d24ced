/* SPDX-License-Identifier: Apache-2.0 */
/* rigid.c - roll-outs of a rigid body with compliant contact (see rigid.h).
 *
 * The adjoint and the tangent compute each step again from its stored state. `_bar` marks derivatives of the
 * loss by a quantity, `_dot` the change of a quantity in a direction. */
#include "rigid.h"

#include "engines/kit/norm.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

#include <string.h>

struct rigid {
    rigid_body body;
    double inverse[9]; /* of the inertia */
    double h;
    size_t points;
    rigid_point *point;
    uint64_t steps;
    double norm; /* of the quaternion that the roll-out was started with */
    rigid_state *state;
    const wrench_net *net; /* NULL: none */
    softness soft;         /* 0: hard */
};

/* The numbers of a state that networks read. */
static inline void net_inputs(const rigid_state *s, double in[WRENCH_INPUTS])
{
    memcpy(in, s->x, sizeof s->x);
    memcpy(in + 3, s->v, sizeof s->v);
    memcpy(in + 6, s->omega, sizeof s->omega);
}

/* A contact point that touches, or acts at a distance. */
typedef struct rigid_touch {
    double depth; /* m, the height c: negative in contact */
    double ramp;  /* m, ramp of -c that derivatives use, and its slope */
    double slope;
    double r[3];     /* lowest point, from the centre of mass, axes of the world */
    double u[3];     /* its velocity */
    double approach; /* u_y; 0 if the point leaves or does not touch */
    double N;        /* N, normal force; friction is at most mu N along each axis */
    int slides[3];   /* by axis: sign of the velocity (+1, -1) if friction is at its bound, else 0 */
    double f[3];     /* the force */
} rigid_touch;

/* Quantities of one step; those marked "body" are in the frame of the body. */
typedef struct rigid_step {
    double R[9];
    double F[3], T[3];    /* force and torque, axes of the world */
    double W[3], IW[3];   /* angular velocity and angular momentum, body */
    double Z[3];          /* rate of the angular momentum: torque minus gyroscopic term, body */
    double next_W[3];     /* angular velocity after the step, body */
    double next_omega[3]; /* angular velocity after the step, axes of the world */
    double q[4];          /* after the step */
    double norm;          /* of the quaternion before normalisation */
} rigid_step;

/* Computes the step from state s. */
void rigid_step_from(const rigid *r, const rigid_state *s, rigid_step *out);

/* ---- one step ---- */

/* Friction along axis k (x or z) on a point with velocity t->u. Without normal force there is no friction,
 * not even a viscous one. */
static void drag(const rigid_body *b, int k, rigid_touch *t)
{
    double viscous = b->kf * t->u[k], bound = b->mu * t->N;
    t->slides[k] = viscous > bound ? 1 : viscous < -bound ? -1 : 0;
    t->f[k] = -(t->slides[k] != 0 ? t->slides[k] * bound : viscous);
}

/* Returns whether point i touches or acts at a distance in a state with rotation R; fills *t. */
static int rigid_touches(const rigid *r, const rigid_state *s, const double R[9], size_t i, rigid_touch *t)
{
    const rigid_point *p = &r->point[i];
    const rigid_body *b = &r->body;
    double height = R[3] * p->at[0] + R[4] * p->at[1] + R[5] * p->at[2] - p->radius;
    t->depth = s->x[1] + height;
    const int touches = t->depth < 0, soft = r->soft.kernel != SOFTNESS_NONE;
    if (!touches && !soft && !r->soft.at_distance) {
        return 0;
    }
    mat3_apply(R, p->at, t->r);
    t->r[1] = height;
    vec3_cross(s->omega, t->r, t->u);
    vec3_add_scaled(t->u, 1, s->v);
    t->approach = t->u[1] < 0 && touches ? t->u[1] : 0;
    t->ramp = -t->depth;
    t->slope = 1;
    if (soft || r->soft.at_distance) {
        t->ramp = softness_pull_ramp(&r->soft, -t->depth);
        t->slope = softness_pull(&r->soft, -t->depth);
    }
    const double height_in = soft ? -softness_ramp(&r->soft, -t->depth) : touches ? t->depth : 0;
    t->N = -(b->ke * height_in + b->kd * t->approach);
    t->slides[1] = 0;
    t->f[1] = t->N;
    drag(b, 0, t);
    drag(b, 2, t);
    return 1;
}

static void forces(const rigid *r, const rigid_state *s, rigid_step *out)
{
    memcpy(out->F, r->body.force, sizeof out->F);
    memcpy(out->T, r->body.torque, sizeof out->T);
    if (r->net != NULL) {
        double in[WRENCH_INPUTS];
        net_inputs(s, in);
        wrench_add(r->net, in, out->F, out->T);
    }
    for (size_t i = 0; i < r->points; i++) {
        rigid_touch t;
        double torque[3];
        if (rigid_touches(r, s, out->R, i, &t)) {
            vec3_cross(t.r, t.f, torque);
            vec3_add_scaled(out->F, 1, t.f);
            vec3_add_scaled(out->T, 1, torque);
        }
    }
}

void rigid_step_from(const rigid *r, const rigid_state *s, rigid_step *out)
{
    double turn[3], rate[3], spin[4] = {0}, qdot[4];
    quat_matrix(s->q, out->R);
    forces(r, s, out);
    mat3_tapply(out->R, s->omega, out->W);
    mat3_apply(r->body.inertia, out->W, out->IW);
    vec3_cross(out->W, out->IW, turn);
    mat3_tapply(out->R, out->T, out->Z);
    vec3_add_scaled(out->Z, -1, turn);
    mat3_apply(r->inverse, out->Z, rate);
    for (int k = 0; k < 3; k++) {
        out->next_W[k] = out->W[k] + r->h * rate[k];
    }
    mat3_apply(out->R, out->next_W, out->next_omega);
    memcpy(spin + 1, out->next_omega, sizeof out->next_omega);
    quat_product(spin, s->q, qdot);
    for (int k = 0; k < 4; k++) {
        out->q[k] = s->q[k] + 0.5 * r->h * qdot[k];
    }
    out->norm = quat_normalise(out->q);
}

/* ---- roll-outs ---- */

rigid *rigid_create(ds_memory *m, size_t points, uint64_t steps)
{
    rigid *r = ds_memory_take(m, 1, sizeof *r);
    rigid_point *point = ds_memory_take(m, points + 1, sizeof *point);
    rigid_state *state = ds_memory_take(m, steps + 1, sizeof *state);
    if (m->failed) {
        return NULL;
    }
    r->point = point;
    r->state = state;
    return r;
}

void rigid_networks(rigid *r, const wrench_net *net)
{
    r->net = net != NULL && net->hybrid != NULL ? net : NULL;
}

void rigid_soften(rigid *r, const softness *soft)
{
    r->soft = soft != NULL ? *soft : (softness){.kernel = SOFTNESS_NONE};
}

static void advance(const rigid *r, const rigid_state *s, rigid_state *next)
{
    rigid_step step;
    rigid_step_from(r, s, &step);
    for (int k = 0; k < 3; k++) {
        next->v[k] = s->v[k] + r->h * (step.F[k] / r->body.mass + r->body.gravity[k]);
        next->x[k] = s->x[k] + r->h * next->v[k];
    }
    memcpy(next->q, step.q, sizeof next->q);
    memcpy(next->omega, step.next_omega, sizeof next->omega);
}

int64_t rigid_simulate(rigid *r, const rigid_body *body, size_t points, const rigid_point *point,
                       const rigid_state *start, double h, uint64_t steps)
{
    r->body = *body;
    r->h = h;
    r->points = points;
    memcpy(r->point, point, points * sizeof *point);
    mat3_inverse_symmetric(body->inertia, r->inverse);
    r->state[0] = *start;
    r->norm = quat_normalise(r->state[0].q);
    for (r->steps = 0; r->steps < steps; r->steps++) {
        rigid_state next;
        advance(r, &r->state[r->steps], &next);
        if (!all_finite(RIGID_STATE_NUMBERS, &next)) {
            return (int64_t)r->steps;
        }
        r->state[r->steps + 1] = next;
    }
    return -1;
}

uint64_t rigid_steps(const rigid *r)
{
    return r->steps;
}

const rigid_state *rigid_at(const rigid *r, uint64_t t)
{
    return &r->state[t];
}

/* FNV-1a hash of the branches of all points that touch or act at a distance. */
uint64_t rigid_branches(const rigid *r)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t t = 0; t < r->steps; t++) {
        double R[9];
        quat_matrix(r->state[t].q, R);
        for (size_t i = 0; i < r->points; i++) {
            rigid_touch c;
            if (rigid_touches(r, &r->state[t], R, i, &c)) {
                uint64_t slides = (uint64_t)(c.slides[0] + 1) * 3 + (uint64_t)(c.slides[2] + 1);
                uint64_t branch = 2 * slides + (c.approach < 0) + 32 * (c.depth < 0);
                hash = (hash ^ ((t * r->points + i) << 6 | branch)) * 0x100000001b3u;
            }
        }
    }
    return hash;
}

/* ---- tangent ---- */

/* A direction in everything that a step depends on. */
typedef struct direction {
    const rigid_state *state;
    const rigid_body *body;
    const rigid_point *point; /* NULL: none */
    double R[9];
} direction;

/* out += a x b */
static void add_cross(double out[3], const double a[3], const double b[3])
{
    double c[3];
    vec3_cross(a, b, c);
    vec3_add_scaled(out, 1, c);
}

static void point_tangent(const rigid *r, const double R[9], size_t i, const direction *d, double r_dot[3])
{
    mat3_apply(d->R, r->point[i].at, r_dot);
    if (d->point != NULL) {
        double c[3];
        mat3_apply(R, d->point[i].at, c);
        vec3_add_scaled(r_dot, 1, c);
        r_dot[1] -= d->point[i].radius;
    }
}

/* Adds the changes of force and torque of a point that touches. */
static void touch_tangent(const rigid *r, const rigid_state *s, const double R[9], size_t i,
                          const rigid_touch *t, const direction *d, double F_dot[3], double T_dot[3])
{
    double r_dot[3], u_dot[3], f_dot[3];
    point_tangent(r, R, i, d, r_dot);
    memcpy(u_dot, d->state->v, sizeof u_dot);
    add_cross(u_dot, d->state->omega, t->r);
    add_cross(u_dot, s->omega, r_dot);
    double depth_dot = d->state->x[1] + r_dot[1], approach_dot = t->approach < 0 ? u_dot[1] : 0;
    double N_dot = -(-d->body->ke * t->ramp + r->body.ke * t->slope * depth_dot + d->body->kd * t->approach +
                     r->body.kd * approach_dot);
    double bound_dot = d->body->mu * t->N + r->body.mu * N_dot;
    const int presses = t->N > 0;
    for (int k = 0; k < 3; k++) {
        f_dot[k] = -(t->slides[k] != 0 ? t->slides[k] * bound_dot
                     : presses         ? d->body->kf * t->u[k] + r->body.kf * u_dot[k]
                                       : 0);
    }
    f_dot[1] = N_dot;
    vec3_add_scaled(F_dot, 1, f_dot);
    add_cross(T_dot, r_dot, t->f);
    add_cross(T_dot, t->r, f_dot);
}

static void forces_tangent(const rigid *r, const rigid_state *s, const double R[9], const direction *d,
                           double F_dot[3], double T_dot[3])
{
    memcpy(F_dot, d->body->force, 3 * sizeof *F_dot);
    memcpy(T_dot, d->body->torque, 3 * sizeof *T_dot);
    if (r->net != NULL) {
        double in[WRENCH_INPUTS], in_dot[WRENCH_INPUTS];
        net_inputs(s, in);
        net_inputs(d->state, in_dot);
        wrench_tangent(r->net, in, in_dot, F_dot, T_dot);
    }
    for (size_t i = 0; i < r->points; i++) {
        rigid_touch t;
        if (rigid_touches(r, s, R, i, &t)) {
            touch_tangent(r, s, R, i, &t, d, F_dot, T_dot);
        }
    }
}

/* out = d(R^T a) */
static void into_body(const double R[9], const direction *d, const double a[3], const double a_dot[3],
                      double out[3])
{
    double c[3];
    mat3_tapply(d->R, a, out);
    mat3_tapply(R, a_dot, c);
    vec3_add_scaled(out, 1, c);
}

/* The change of omega'. */
static void spin_tangent(const rigid *r, const rigid_state *s, const rigid_step *step, const direction *d,
                         const double T_dot[3], double omega_dot[3])
{
    double W_dot[3], Z_dot[3], IW_dot[3], rate[3], c[3];
    into_body(step->R, d, s->omega, d->state->omega, W_dot);
    into_body(step->R, d, step->T, T_dot, Z_dot);
    mat3_apply(d->body->inertia, step->W, IW_dot);
    mat3_apply(r->body.inertia, W_dot, c);
    vec3_add_scaled(IW_dot, 1, c);
    vec3_cross(W_dot, step->IW, c);
    add_cross(c, step->W, IW_dot);
    vec3_add_scaled(Z_dot, -1, c);
    mat3_apply(r->inverse, step->Z, rate);
    mat3_apply(d->body->inertia, rate, c);
    vec3_add_scaled(Z_dot, -1, c);
    mat3_apply(r->inverse, Z_dot, rate);
    vec3_add_scaled(W_dot, r->h, rate);
    mat3_apply(d->R, step->next_W, omega_dot);
    mat3_apply(step->R, W_dot, c);
    vec3_add_scaled(omega_dot, 1, c);
}

static void turn_tangent(const rigid *r, const rigid_state *s, const rigid_step *step, const double q_dot[4],
                         const double omega_dot[3], double next_dot[4])
{
    const double *o = step->next_omega, spin[4] = {0, o[0], o[1], o[2]};
    const double spin_dot[4] = {0, omega_dot[0], omega_dot[1], omega_dot[2]};
    double by_spin[4], by_q[4], sum[4];
    quat_product(spin_dot, s->q, by_spin);
    quat_product(spin, q_dot, by_q);
    for (int k = 0; k < 4; k++) {
        sum[k] = q_dot[k] + 0.5 * r->h * (by_spin[k] + by_q[k]);
    }
    quat_normalise_adjoint(step->q, step->norm, sum, next_dot);
}

/* One step: `dot` goes from the state before to the state after. */
static void step_tangent(const rigid *r, const rigid_state *s, rigid_state *dot, const rigid_body *body_dot,
                         const rigid_point *point_dot)
{
    const rigid_state before = *dot;
    const double m = r->body.mass;
    direction d = {.state = &before, .body = body_dot, .point = point_dot};
    rigid_step step;
    double F_dot[3], T_dot[3];
    rigid_step_from(r, s, &step);
    quat_matrix_tangent(s->q, before.q, d.R);
    forces_tangent(r, s, step.R, &d, F_dot, T_dot);
    for (int k = 0; k < 3; k++) {
        dot->v[k] += r->h * (F_dot[k] / m - step.F[k] * body_dot->mass / (m * m) + body_dot->gravity[k]);
        dot->x[k] += r->h * dot->v[k];
    }
    spin_tangent(r, s, &step, &d, T_dot, dot->omega);
    turn_tangent(r, s, &step, before.q, dot->omega, dot->q);
}

int rigid_tangent(const rigid *r, uint64_t from, uint64_t to, rigid_state *dot, const rigid_body *body_dot,
                  const rigid_point *point_dot)
{
    if (from == 0) {
        quat_normalise_adjoint(r->state[0].q, r->norm, dot->q, dot->q);
    }
    for (uint64_t t = from; t < to; t++) {
        step_tangent(r, &r->state[t], dot, body_dot, point_dot);
    }
    return all_finite(RIGID_STATE_NUMBERS, dot);
}

/* ---- adjoint ---- */

/* Derivatives by force and torque, which the contacts need, and what the contacts add to. */
typedef struct reverse {
    double F_bar[3], T_bar[3];
    double R_bar[9];
    rigid_state *bar; /* by the state before the step */
    rigid_body *body_bar;
    rigid_point *point_bar; /* NULL: not wanted */
} reverse;

/* Returns the derivative by the normal force; sets the derivatives by the velocity along the ground. */
static double reverse_drag(const rigid *r, const rigid_touch *t, const double f_bar[3], double u_bar[3],
                           rigid_body *body_bar)
{
    double N_bar = f_bar[1];
    for (int k = 0; k < 3; k += 2) {
        if (t->slides[k] != 0) {
            N_bar -= t->slides[k] * r->body.mu * f_bar[k];
            body_bar->mu -= t->slides[k] * t->N * f_bar[k];
        } else if (t->N > 0) {
            u_bar[k] = -r->body.kf * f_bar[k];
            body_bar->kf -= t->u[k] * f_bar[k];
        }
    }
    return N_bar;
}

static void reverse_touch(const rigid *r, const rigid_state *s, const double R[9], size_t i,
                          const rigid_touch *t, reverse *a)
{
    double f_bar[3], r_bar[3], u_bar[3] = {0}, c[3];
    vec3_cross(a->T_bar, t->r, f_bar);
    vec3_add_scaled(f_bar, 1, a->F_bar);
    vec3_cross(t->f, a->T_bar, r_bar);
    double N_bar = reverse_drag(r, t, f_bar, u_bar, a->body_bar);
    a->body_bar->ke += N_bar * t->ramp;
    a->body_bar->kd -= N_bar * t->approach;
    u_bar[1] = t->approach < 0 ? -N_bar * r->body.kd : 0;
    vec3_add_scaled(a->bar->v, 1, u_bar);
    vec3_cross(t->r, u_bar, c);
    vec3_add_scaled(a->bar->omega, 1, c);
    vec3_cross(u_bar, s->omega, c);
    vec3_add_scaled(r_bar, 1, c);
    double depth_bar = -N_bar * r->body.ke * t->slope;
    a->bar->x[1] += depth_bar;
    r_bar[1] += depth_bar;
    mat3_add_outer(a->R_bar, 1, r_bar, r->point[i].at);
    if (a->point_bar != NULL) {
        mat3_tapply(R, r_bar, c);
        vec3_add_scaled(a->point_bar[i].at, 1, c);
        a->point_bar[i].radius -= r_bar[1];
    }
}

/* q' = normalised q + h/2 (0, omega') q. Sets q_bar, adds to omega_bar. */
static void reverse_turn(const rigid *r, const rigid_state *s, const rigid_step *step,
                         const double next_bar[4], double q_bar[4], double omega_bar[3])
{
    const double *o = step->next_omega, back[4] = {0, -o[0], -o[1], -o[2]};
    const double conjugate[4] = {s->q[0], -s->q[1], -s->q[2], -s->q[3]};
    double sum_bar[4], by_q[4], by_spin[4];
    quat_normalise_adjoint(step->q, step->norm, next_bar, sum_bar);
    quat_product(back, sum_bar, by_q);
    quat_product(sum_bar, conjugate, by_spin);
    for (int k = 0; k < 4; k++) {
        q_bar[k] = sum_bar[k] + 0.5 * r->h * by_q[k];
    }
    vec3_add_scaled(omega_bar, 0.5 * r->h, by_spin + 1);
}

/* omega' = R W', W' = W + h I^-1 Z, Z = R^T T - W x I W, W = R^T omega. From omega_bar, the derivative by
 * omega', sets bar->omega and the derivative by the torque. */
static void reverse_spin(const rigid *r, const rigid_state *s, const rigid_step *step,
                         const double omega_bar[3], reverse *a)
{
    double W_bar[3], Y[3], rate[3], across[3], c[3];
    mat3_add_outer(a->R_bar, 1, omega_bar, step->next_W);
    mat3_tapply(step->R, omega_bar, W_bar);
    mat3_apply(r->inverse, W_bar, Y);
    for (int k = 0; k < 3; k++) {
        Y[k] *= r->h;
    }
    vec3_cross(Y, step->W, across);
    mat3_apply(r->inverse, step->Z, rate);
    mat3_add_symmetric(a->body_bar->inertia, -1, Y, rate);
    mat3_add_symmetric(a->body_bar->inertia, -1, across, step->W);
    vec3_cross(step->IW, Y, c);
    vec3_add_scaled(W_bar, -1, c);
    mat3_apply(r->body.inertia, across, c);
    vec3_add_scaled(W_bar, -1, c);
    mat3_apply(step->R, W_bar, a->bar->omega);
    mat3_add_outer(a->R_bar, 1, s->omega, W_bar);
    mat3_apply(step->R, Y, a->T_bar);
    mat3_add_outer(a->R_bar, 1, step->T, Y);
    vec3_add_scaled(a->body_bar->torque, 1, a->T_bar);
}

/* v' = v + h (F / m + g), x' = x + h v'. Sets the derivatives by v and by the force. */
static void reverse_path(const rigid *r, const rigid_step *step, const rigid_state *next, reverse *a)
{
    const double m = r->body.mass;
    for (int k = 0; k < 3; k++) {
        double v_bar = next->v[k] + r->h * next->x[k];
        a->bar->x[k] = next->x[k];
        a->bar->v[k] = v_bar;
        a->F_bar[k] = r->h * v_bar / m;
        a->body_bar->mass -= r->h * step->F[k] * v_bar / (m * m);
        a->body_bar->gravity[k] += r->h * v_bar;
        a->body_bar->force[k] += a->F_bar[k];
    }
}

/* Reverse of the networks, which act before the contacts. The derivatives by the known force and torque are
 * those by the initial values of the outputs. */
static void reverse_networks(const rigid *r, const rigid_state *s, const reverse *a)
{
    double in[WRENCH_INPUTS], in_bar[WRENCH_INPUTS] = {0}, F_bar[3], T_bar[3];
    memcpy(F_bar, a->F_bar, sizeof F_bar);
    memcpy(T_bar, a->T_bar, sizeof T_bar);
    net_inputs(s, in);
    wrench_reverse(r->net, in, F_bar, T_bar, in_bar);
    for (int k = 0; k < 3; k++) {
        a->body_bar->force[k] += F_bar[k] - a->F_bar[k];
        a->body_bar->torque[k] += T_bar[k] - a->T_bar[k];
        a->bar->x[k] += in_bar[k];
        a->bar->v[k] += in_bar[3 + k];
        a->bar->omega[k] += in_bar[6 + k];
    }
}

/* One step: `bar` goes from the state after to the state before. */
static void reverse_step(const rigid *r, const rigid_state *s, rigid_state *bar, rigid_body *body_bar,
                         rigid_point *point_bar)
{
    const rigid_state next = *bar;
    rigid_step step;
    reverse a = {.bar = bar, .body_bar = body_bar, .point_bar = point_bar};
    double omega_bar[3];
    memcpy(omega_bar, next.omega, sizeof omega_bar);
    rigid_step_from(r, s, &step);
    reverse_path(r, &step, &next, &a);
    reverse_turn(r, s, &step, next.q, bar->q, omega_bar);
    reverse_spin(r, s, &step, omega_bar, &a);
    if (r->net != NULL) {
        reverse_networks(r, s, &a);
    }
    for (size_t i = 0; i < r->points; i++) {
        rigid_touch t;
        if (rigid_touches(r, s, step.R, i, &t)) {
            reverse_touch(r, s, step.R, i, &t, &a);
        }
    }
    quat_matrix_adjoint(s->q, a.R_bar, bar->q);
}

int rigid_adjoint(const rigid *r, uint64_t from, uint64_t to, rigid_state *bar, rigid_body *body_bar,
                  rigid_point *point_bar)
{
    for (uint64_t t = to; t-- > from;) {
        reverse_step(r, &r->state[t], bar, body_bar, point_bar);
    }
    if (from == 0) {
        quat_normalise_adjoint(r->state[0].q, r->norm, bar->q, bar->q);
    }
    return all_finite(RIGID_STATE_NUMBERS, bar) && all_finite(RIGID_BODY_NUMBERS, body_bar);
}
