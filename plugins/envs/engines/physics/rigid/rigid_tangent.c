/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_tangent.c - forward sweep over a roll-out of a rigid body: the derivative of its states in a
 * direction. A quantity with `_dot` is the derivative of it. */
#include "rigid.h"

#include "engines/kit/algebra/finite.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "rigid_internal.h"

/* A direction of everything a step depends on. */
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

/* Adds the derivatives of force and torque of a point that touches. */
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
        rigid_seen(s, in);
        rigid_seen(d->state, in_dot);
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

/* The derivative of omega'. */
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

/* One step: `dot` from the state before to the state after. */
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
