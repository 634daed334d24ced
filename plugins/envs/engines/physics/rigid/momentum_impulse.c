/* SPDX-License-Identifier: Apache-2.0 */
/* momentum_impulse.c - impulses of the ground on the vertices of a rigid body, one after the other, with
 * adjoint and tangent. All of it in the frame of the body, where neither lever nor inertia turns: with the
 * normal n = R^T (0, 1, 0) and a = p x n the vertex p approaches with P_y / M + L . I^-1 a and gives way
 * by 1/M + a . I^-1 a. */
#include "momentum_internal.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

/* Whether vertex i is hit, where P and L are the momenta before. */
static int hits(const momentum *r, const double normal[3], double height, size_t i, double P,
                const double L[3], momentum_hit *out)
{
    const double *p = r->point + 3 * i, M = r->body.mass;
    if (!(height + vec3_dot(normal, p) < r->rules.threshold)) {
        return 0;
    }
    vec3_cross(p, normal, out->a);
    mat3_apply(r->inverse, out->a, out->turn);
    out->approach = P / M + vec3_dot(L, out->turn);
    if (!(out->approach < -r->rules.slowest)) {
        return 0;
    }
    out->vertex = i;
    out->P = P;
    memcpy(out->L, L, sizeof out->L);
    out->give = 1 / M + vec3_dot(out->a, out->turn);
    out->impulse = -(1 + r->body.restitution) * out->approach / out->give;
    return 1;
}

size_t momentum_impulses(momentum *r, momentum_step *step, momentum_state *next)
{
    double L[3], change[3] = {0}, turned[3];
    size_t n = 0;
    quat_matrix(next->q, step->moved_R);
    const double *normal = step->moved_R + 3;
    mat3_tapply(step->moved_R, next->L, L);
    for (size_t i = 0; i < r->points; i++) {
        momentum_hit *hit = &r->hit[n];
        if (hits(r, normal, next->x[1], i, next->P[1], L, hit)) {
            next->P[1] += hit->impulse;
            vec3_add_scaled(L, hit->impulse, hit->a);
            vec3_add_scaled(change, hit->impulse, hit->a);
            n++;
        }
    }
    if (n > 0) {
        mat3_apply(step->moved_R, change, turned);
        vec3_add_scaled(next->L, 1, turned);
    }
    return n;
}

/* One impulse backwards: P_bar and L_bar from after to before it; adds to the rest. */
static void reverse_hit(const momentum *r, const momentum_hit *hit, const double normal[3], double *P_bar,
                        double L_bar[3], double normal_bar[3], momentum_body *body_bar, double *point_bar)
{
    const double M = r->body.mass;
    double impulse_bar = *P_bar + vec3_dot(L_bar, hit->a), turn_bar[3] = {0}, a_bar[3] = {0}, c[3];
    double approach_bar = -(1 + r->body.restitution) / hit->give * impulse_bar;
    double give_bar = -hit->impulse / hit->give * impulse_bar;
    body_bar->restitution -= hit->approach / hit->give * impulse_bar;
    body_bar->mass -= (hit->P * approach_bar + give_bar) / (M * M);
    vec3_add_scaled(a_bar, hit->impulse, L_bar);
    vec3_add_scaled(a_bar, give_bar, hit->turn);
    vec3_add_scaled(turn_bar, approach_bar, hit->L);
    vec3_add_scaled(turn_bar, give_bar, hit->a);
    *P_bar += approach_bar / M;
    vec3_add_scaled(L_bar, approach_bar, hit->turn);
    mat3_apply(r->inverse, turn_bar, c);
    vec3_add_scaled(a_bar, 1, c);
    mat3_add_symmetric(body_bar->inertia, -1, c, hit->turn);
    vec3_cross(a_bar, r->point + 3 * hit->vertex, c);
    vec3_add_scaled(normal_bar, 1, c);
    if (point_bar != NULL) {
        vec3_cross(normal, a_bar, c);
        vec3_add_scaled(point_bar + 3 * hit->vertex, 1, c);
    }
}

void momentum_impulses_adjoint(momentum *r, momentum_step *step, momentum_state *bar, momentum_body *body_bar,
                               double *point_bar)
{
    momentum_state after = step->moved;
    size_t n = momentum_impulses(r, step, &after);
    if (n == 0) {
        return;
    }
    double change_bar[3], L_bar[3], R_bar[9] = {0}, change[3] = {0}, c[3];
    for (size_t i = 0; i < n; i++) {
        vec3_add_scaled(change, r->hit[i].impulse, r->hit[i].a);
    }
    mat3_add_outer(R_bar, 1, bar->L, change);
    mat3_tapply(step->moved_R, bar->L, change_bar);
    memcpy(L_bar, change_bar, sizeof L_bar);
    for (size_t i = n; i-- > 0;) {
        reverse_hit(r, &r->hit[i], step->moved_R + 3, &bar->P[1], L_bar, R_bar + 3, body_bar, point_bar);
    }
    vec3_add_scaled(L_bar, -1, change_bar); /* change is L less what it was */
    mat3_add_outer(R_bar, 1, step->moved.L, L_bar);
    mat3_apply(step->moved_R, L_bar, c);
    vec3_add_scaled(bar->L, 1, c);
    quat_matrix_adjoint(step->moved.q, R_bar, bar->q);
}

/* The derivative of an impulse; adds those of the momenta. */
static void hit_tangent(const momentum *r, const momentum_hit *hit, const double normal[3],
                        const double normal_dot[3], const momentum_body *body_dot, const double *point_dot,
                        double *P_dot, double L_dot[3], double change_dot[3])
{
    const double M = r->body.mass;
    double a_dot[3], turn_dot[3], c[3];
    vec3_cross(r->point + 3 * hit->vertex, normal_dot, a_dot);
    if (point_dot != NULL) {
        vec3_cross(point_dot + 3 * hit->vertex, normal, c);
        vec3_add_scaled(a_dot, 1, c);
    }
    mat3_apply(body_dot->inertia, hit->turn, c);
    for (int k = 0; k < 3; k++) {
        c[k] = a_dot[k] - c[k];
    }
    mat3_apply(r->inverse, c, turn_dot);
    double approach_dot = *P_dot / M - hit->P * body_dot->mass / (M * M) + vec3_dot(L_dot, hit->turn) +
                          vec3_dot(hit->L, turn_dot);
    double give_dot = -body_dot->mass / (M * M) + vec3_dot(a_dot, hit->turn) + vec3_dot(hit->a, turn_dot);
    double impulse_dot = -(body_dot->restitution * hit->approach + (1 + r->body.restitution) * approach_dot +
                           hit->impulse * give_dot) /
                         hit->give;
    *P_dot += impulse_dot;
    for (int k = 0; k < 3; k++) {
        double d = impulse_dot * hit->a[k] + hit->impulse * a_dot[k];
        L_dot[k] += d;
        change_dot[k] += d;
    }
}

void momentum_impulses_tangent(momentum *r, momentum_step *step, momentum_state *dot,
                               const momentum_body *body_dot, const double *point_dot)
{
    momentum_state after = step->moved;
    size_t n = momentum_impulses(r, step, &after);
    if (n == 0) {
        return;
    }
    double R_dot[9], L_dot[3], change[3] = {0}, change_dot[3] = {0}, c[3];
    quat_matrix_tangent(step->moved.q, dot->q, R_dot);
    mat3_tapply(R_dot, step->moved.L, L_dot);
    mat3_tapply(step->moved_R, dot->L, c);
    vec3_add_scaled(L_dot, 1, c);
    for (size_t i = 0; i < n; i++) {
        vec3_add_scaled(change, r->hit[i].impulse, r->hit[i].a);
        hit_tangent(r, &r->hit[i], step->moved_R + 3, R_dot + 3, body_dot, point_dot, &dot->P[1], L_dot,
                    change_dot);
    }
    mat3_apply(R_dot, change, c);
    vec3_add_scaled(dot->L, 1, c);
    mat3_apply(step->moved_R, change_dot, c);
    vec3_add_scaled(dot->L, 1, c);
}
