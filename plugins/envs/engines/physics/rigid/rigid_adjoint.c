/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_adjoint.c - reverse sweep over a roll-out of a rigid body: each step is computed again from its
 * stored state. A quantity with `_bar` is the derivative of the loss by it. */
#include "rigid.h"

#include "engines/kit/algebra/finite.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "rigid_internal.h"

/* What a step leaves to its contacts: derivatives by force and torque; what they add to. */
typedef struct reverse {
    double F_bar[3], T_bar[3];
    double R_bar[9];
    rigid_state *bar; /* by the state before the step */
    rigid_body *body_bar;
    rigid_point *point_bar; /* NULL: not wanted */
} reverse;

/* Derivatives by the pressing force and by the velocity along the ground, from those by the force. */
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

/* omega' = R W', W' = W + h I^-1 Z, Z = R^T T - W x I W, W = R^T omega. Sets bar->omega and the derivative by
 * the torque from omega_bar, that by omega'. */
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

/* Networks, which come before the contacts. The derivatives by the known force and torque are those by what
 * they began as. */
static void reverse_networks(const rigid *r, const rigid_state *s, const reverse *a)
{
    double in[WRENCH_INPUTS], in_bar[WRENCH_INPUTS] = {0}, F_bar[3], T_bar[3];
    memcpy(F_bar, a->F_bar, sizeof F_bar);
    memcpy(T_bar, a->T_bar, sizeof T_bar);
    rigid_seen(s, in);
    wrench_reverse(r->net, in, F_bar, T_bar, in_bar);
    for (int k = 0; k < 3; k++) {
        a->body_bar->force[k] += F_bar[k] - a->F_bar[k];
        a->body_bar->torque[k] += T_bar[k] - a->T_bar[k];
        a->bar->x[k] += in_bar[k];
        a->bar->v[k] += in_bar[3 + k];
        a->bar->omega[k] += in_bar[6 + k];
    }
}

/* One step: `bar` from the state after to the state before. */
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
