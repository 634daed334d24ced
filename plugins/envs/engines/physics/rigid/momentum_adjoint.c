/* SPDX-License-Identifier: Apache-2.0 */
/* momentum_adjoint.c - reverse sweep over a roll-out of a rigid body by its momenta: each step is computed
 * again from its stored state. A quantity with `_bar` is the derivative of the loss by it. */
#include "momentum.h"

#include "engines/kit/algebra/finite.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "momentum_internal.h"

/* P' = P + h F, x' = x + h P' / M. */
static void reverse_path(const momentum *r, const momentum_step *step, momentum_state *bar,
                         momentum_body *body_bar)
{
    const double M = r->body.mass, h = r->rules.h;
    vec3_add_scaled(bar->P, h / M, bar->x);
    body_bar->mass -= h * vec3_dot(bar->x, step->moved.P) / (M * M);
}

/* Adds the derivatives of the force and the torque of force k, by what `bar` says of P' and L'. */
static void reverse_force(const momentum *r, size_t k, double weight, const momentum_state *s,
                          const momentum_step *step, const momentum_state *bar, double x_bar[3],
                          double R_bar[9], momentum_body *body_bar, double *point_bar)
{
    const double h = r->rules.h, *f = r->body.force[k];
    double lever[3], lever_bar[3], sum_bar[3], c[3];
    momentum_lever(r, k, s->x, step->R, lever);
    vec3_cross(bar->L, lever, c);
    vec3_add_scaled(body_bar->force[k], h * weight, c);
    vec3_add_scaled(body_bar->force[k], h * (double)r->count[k], bar->P);
    vec3_cross(f, bar->L, lever_bar);
    for (int d = 0; d < 3; d++) {
        lever_bar[d] *= h * weight;
    }
    if (r->rules.parity) {
        vec3_add_scaled(x_bar, -(double)r->count[k], lever_bar);
        memcpy(sum_bar, lever_bar, sizeof sum_bar);
    } else {
        mat3_add_outer(R_bar, 1, lever_bar, r->sum[k]);
        mat3_tapply(step->R, lever_bar, sum_bar);
    }
    const momentum_list *list = &r->rules.list[k];
    for (size_t i = 0; point_bar != NULL && i < r->count[k]; i++) {
        vec3_add_scaled(point_bar + 3 * (list->count > 0 ? list->vertex[i] : i), 1, sum_bar);
    }
}

/* q' = normalised q + h/2 (0, omega) q, omega = R I^-1 R^T L; by q' in bar->q, which gets that by q but
 * for the part through R. */
static void reverse_turn(const momentum *r, const momentum_state *s, const momentum_step *step,
                         momentum_state *bar, double R_bar[9], momentum_body *body_bar)
{
    const double *o = step->omega, back[4] = {0, -o[0], -o[1], -o[2]};
    const double conjugate[4] = {s->q[0], -s->q[1], -s->q[2], -s->q[3]};
    double sum_bar[4], by_q[4], by_spin[4], omega_bar[3], W_bar[3], L_bar[3], c[3];
    quat_normalise_adjoint(step->moved.q, step->norm, bar->q, sum_bar);
    quat_product(back, sum_bar, by_q);
    quat_product(sum_bar, conjugate, by_spin);
    for (int k = 0; k < 4; k++) {
        bar->q[k] = sum_bar[k] + 0.5 * r->rules.h * by_q[k];
    }
    for (int k = 0; k < 3; k++) {
        omega_bar[k] = 0.5 * r->rules.h * by_spin[1 + k];
    }
    mat3_add_outer(R_bar, 1, omega_bar, step->W);
    mat3_tapply(step->R, omega_bar, W_bar);
    mat3_apply(r->inverse, W_bar, L_bar);
    mat3_add_symmetric(body_bar->inertia, -1, L_bar, step->W);
    mat3_add_outer(R_bar, 1, s->L, L_bar);
    mat3_apply(step->R, L_bar, c);
    vec3_add_scaled(bar->L, 1, c);
}

/* in_bar = the derivatives by what networks see of the state, by what `bar` says of P' and L'. */
static void reverse_networks(const momentum *r, const momentum_state *s, const momentum_state *bar,
                             double in_bar[WRENCH_INPUTS])
{
    double in[WRENCH_INPUTS], F_bar[3], T_bar[3];
    for (int k = 0; k < 3; k++) {
        F_bar[k] = r->rules.h * bar->P[k];
        T_bar[k] = r->rules.h * bar->L[k];
    }
    momentum_seen(s, in);
    wrench_reverse(r->net, in, F_bar, T_bar, in_bar);
}

static void reverse_step(momentum *r, uint64_t t, momentum_state *bar, momentum_body *body_bar,
                         double *point_bar)
{
    const momentum_state *s = &r->state[t];
    double R_bar[9] = {0}, x_bar[3] = {0}, in_bar[WRENCH_INPUTS] = {0};
    momentum_step step;
    momentum_step_from(r, t, s, &step);
    if (r->rules.impulses) {
        momentum_impulses_adjoint(r, &step, bar, body_bar, point_bar);
    }
    reverse_path(r, &step, bar, body_bar);
    if (r->net != NULL) {
        reverse_networks(r, s, bar, in_bar);
    }
    for (size_t k = 0; k < r->rules.forces; k++) {
        double weight = momentum_weight(r, k, t);
        if (weight > 0) {
            reverse_force(r, k, weight, s, &step, bar, x_bar, R_bar, body_bar, point_bar);
        }
    }
    reverse_turn(r, s, &step, bar, R_bar, body_bar);
    vec3_add_scaled(bar->x, 1, x_bar);
    if (r->net != NULL) {
        vec3_add_scaled(bar->x, 1, in_bar);
        vec3_add_scaled(bar->P, 1, in_bar + 3);
        vec3_add_scaled(bar->L, 1, in_bar + 6);
    }
    quat_matrix_adjoint(s->q, R_bar, bar->q);
}

int momentum_adjoint(momentum *r, uint64_t from, uint64_t to, momentum_state *bar, momentum_body *body_bar,
                     double *point_bar)
{
    for (uint64_t t = to; t-- > from;) {
        reverse_step(r, t, bar, body_bar, point_bar);
    }
    if (from == 0) {
        quat_normalise_adjoint(r->state[0].q, r->norm, bar->q, bar->q);
    }
    return all_finite(MOMENTUM_STATE_NUMBERS, bar) && all_finite(MOMENTUM_BODY_NUMBERS, body_bar);
}
