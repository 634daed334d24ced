/* SPDX-License-Identifier: Apache-2.0 */
/* momentum_tangent.c - forward sweep over a roll-out of a rigid body by its momenta: the derivative of its
 * states in a direction. A quantity with `_dot` is the derivative of it. */
#include "momentum.h"

#include "engines/kit/algebra/finite.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "momentum_internal.h"

/* The derivative of omega = R I^-1 R^T L. */
static void omega_tangent(const momentum *r, const momentum_state *s, const momentum_step *step,
                          const momentum_state *dot, const momentum_body *body_dot, const double R_dot[9],
                          double omega_dot[3])
{
    double L_dot[3], W_dot[3], c[3];
    mat3_tapply(R_dot, s->L, L_dot);
    mat3_tapply(step->R, dot->L, c);
    vec3_add_scaled(L_dot, 1, c);
    mat3_apply(body_dot->inertia, step->W, c);
    vec3_add_scaled(L_dot, -1, c);
    mat3_apply(r->inverse, L_dot, W_dot);
    mat3_apply(R_dot, step->W, omega_dot);
    mat3_apply(step->R, W_dot, c);
    vec3_add_scaled(omega_dot, 1, c);
}

static void turn_tangent(const momentum *r, const momentum_state *s, const momentum_step *step,
                         const double omega_dot[3], double q_dot[4])
{
    const double *o = step->omega, spin[4] = {0, o[0], o[1], o[2]};
    const double spin_dot[4] = {0, omega_dot[0], omega_dot[1], omega_dot[2]};
    double by_spin[4], by_q[4];
    quat_product(spin_dot, s->q, by_spin);
    quat_product(spin, q_dot, by_q);
    for (int k = 0; k < 4; k++) {
        q_dot[k] += 0.5 * r->rules.h * (by_spin[k] + by_q[k]);
    }
    quat_normalise_adjoint(step->moved.q, step->norm, q_dot, q_dot);
}

static void lever_tangent(const momentum *r, size_t k, const momentum_step *step, const double R_dot[9],
                          const double x_dot[3], const double *point_dot, double lever_dot[3])
{
    const momentum_list *list = &r->rules.list[k];
    double sum_dot[3] = {0}, c[3];
    for (size_t i = 0; point_dot != NULL && i < r->count[k]; i++) {
        vec3_add_scaled(sum_dot, 1, point_dot + 3 * (list->count > 0 ? list->vertex[i] : i));
    }
    if (r->rules.parity) {
        memcpy(lever_dot, sum_dot, sizeof sum_dot);
        vec3_add_scaled(lever_dot, -(double)r->count[k], x_dot);
    } else {
        mat3_apply(R_dot, r->sum[k], lever_dot);
        mat3_apply(step->R, sum_dot, c);
        vec3_add_scaled(lever_dot, 1, c);
    }
}

/* Adds what force k does to the derivatives of P and L. */
static void force_tangent(const momentum *r, size_t k, double weight, const momentum_state *s,
                          const momentum_step *step, const double lever_dot[3], const double f_dot[3],
                          momentum_state *dot)
{
    double lever[3], c[3];
    momentum_lever(r, k, s->x, step->R, lever);
    vec3_cross(lever, f_dot, c);
    vec3_add_scaled(dot->L, r->rules.h * weight, c);
    vec3_cross(lever_dot, r->body.force[k], c);
    vec3_add_scaled(dot->L, r->rules.h * weight, c);
    vec3_add_scaled(dot->P, r->rules.h * (double)r->count[k], f_dot);
}

static void step_tangent(momentum *r, uint64_t t, momentum_state *dot, const momentum_body *body_dot,
                         const double *point_dot)
{
    const momentum_state *s = &r->state[t];
    const double M = r->body.mass, h = r->rules.h;
    double R_dot[9], omega_dot[3], lever_dot[3], F_dot[3] = {0}, T_dot[3] = {0};
    momentum_step step;
    momentum_step_from(r, t, s, &step);
    quat_matrix_tangent(s->q, dot->q, R_dot);
    omega_tangent(r, s, &step, dot, body_dot, R_dot, omega_dot);
    turn_tangent(r, s, &step, omega_dot, dot->q);
    if (r->net != NULL) {
        double in[WRENCH_INPUTS], in_dot[WRENCH_INPUTS];
        momentum_seen(s, in);
        momentum_seen(dot, in_dot);
        wrench_tangent(r->net, in, in_dot, F_dot, T_dot);
        vec3_add_scaled(dot->P, h, F_dot);
        vec3_add_scaled(dot->L, h, T_dot);
    }
    for (size_t k = 0; k < r->rules.forces; k++) {
        double weight = momentum_weight(r, k, t);
        if (weight > 0) {
            lever_tangent(r, k, &step, R_dot, dot->x, point_dot, lever_dot);
            force_tangent(r, k, weight, s, &step, lever_dot, body_dot->force[k], dot);
        }
    }
    vec3_add_scaled(dot->x, h / M, dot->P);
    vec3_add_scaled(dot->x, -h * body_dot->mass / (M * M), step.moved.P);
    if (r->rules.impulses) {
        momentum_impulses_tangent(r, &step, dot, body_dot, point_dot);
    }
}

int momentum_tangent(momentum *r, uint64_t from, uint64_t to, momentum_state *dot,
                     const momentum_body *body_dot, const double *point_dot)
{
    if (from == 0) {
        quat_normalise_adjoint(r->state[0].q, r->norm, dot->q, dot->q);
    }
    for (uint64_t t = from; t < to; t++) {
        step_tangent(r, t, dot, body_dot, point_dot);
    }
    return all_finite(MOMENTUM_STATE_NUMBERS, dot);
}
