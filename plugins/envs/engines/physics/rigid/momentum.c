/* SPDX-License-Identifier: Apache-2.0 */
/* momentum.c - roll-outs of a rigid body by its momenta (see momentum.h). */
#include "momentum.h"

#include "engines/kit/algebra/finite.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "momentum_internal.h"

momentum *momentum_create(ds_memory *m, size_t points, uint64_t steps)
{
    momentum *r = ds_memory_take(m, 1, sizeof *r);
    double *point = ds_memory_doubles(m, 3 * points + 1);
    momentum_state *state = ds_memory_take(m, steps + 1, sizeof *state);
    momentum_hit *hit = ds_memory_take(m, points + 1, sizeof *hit);
    if (m->failed) {
        return NULL;
    }
    r->point = point;
    r->state = state;
    r->hit = hit;
    return r;
}

void momentum_networks(momentum *r, const wrench_net *net)
{
    r->net = net != NULL && net->hybrid != NULL ? net : NULL;
}

/* Adds up the vertices of each force, whose levers then are one. */
static void sum_levers(momentum *r)
{
    for (size_t k = 0; k < r->rules.forces; k++) {
        const momentum_list *list = &r->rules.list[k];
        r->count[k] = list->count > 0 ? list->count : r->points;
        memset(r->sum[k], 0, sizeof r->sum[k]);
        for (size_t i = 0; i < r->count[k]; i++) {
            size_t vertex = list->count > 0 ? list->vertex[i] : i;
            vec3_add_scaled(r->sum[k], 1, r->point + 3 * vertex);
        }
    }
}

int64_t momentum_simulate(momentum *r, const momentum_rules *rules, const momentum_body *body, size_t points,
                          const double *point, const momentum_state *start, uint64_t steps)
{
    r->body = *body;
    r->rules = *rules;
    r->points = points;
    memcpy(r->point, point, 3 * points * sizeof *point);
    mat3_inverse_symmetric(body->inertia, r->inverse);
    sum_levers(r);
    r->state[0] = *start;
    r->norm = quat_normalise(r->state[0].q);
    for (r->steps = 0; r->steps < steps; r->steps++) {
        momentum_step step;
        momentum_step_from(r, r->steps, &r->state[r->steps], &step);
        momentum_state next = step.moved;
        if (rules->impulses) {
            momentum_impulses(r, &step, &next);
        }
        if (!all_finite(MOMENTUM_STATE_NUMBERS, &next)) {
            return (int64_t)r->steps;
        }
        r->state[r->steps + 1] = next;
    }
    return -1;
}

uint64_t momentum_steps(const momentum *r)
{
    return r->steps;
}

const momentum_state *momentum_at(const momentum *r, uint64_t t)
{
    return &r->state[t];
}

/* FNV-1a over the vertices that are hit. */
uint64_t momentum_branches(momentum *r)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t t = 0; r->rules.impulses && t < r->steps; t++) {
        momentum_step step;
        momentum_step_from(r, t, &r->state[t], &step);
        momentum_state next = step.moved;
        size_t n = momentum_impulses(r, &step, &next);
        for (size_t i = 0; i < n; i++) {
            hash = (hash ^ (t * r->points + r->hit[i].vertex)) * 0x100000001b3u;
        }
    }
    return hash;
}

/* ---- velocities ---- */

void momentum_velocity(const momentum_body *body, const momentum_state *s, double v[3], double omega[3])
{
    double R[9], inverse[9], L[3];
    quat_matrix(s->q, R);
    mat3_inverse_symmetric(body->inertia, inverse);
    mat3_tapply(R, s->L, L);
    mat3_apply(inverse, L, L);
    mat3_apply(R, L, omega);
    for (int k = 0; k < 3; k++) {
        v[k] = s->P[k] / body->mass;
    }
}

void momentum_set(const momentum_body *body, const double v[3], const double omega[3], momentum_state *s)
{
    double R[9], W[3];
    quat_matrix(s->q, R);
    mat3_tapply(R, omega, W);
    mat3_apply(body->inertia, W, W);
    mat3_apply(R, W, s->L);
    for (int k = 0; k < 3; k++) {
        s->P[k] = body->mass * v[k];
    }
}

void momentum_set_adjoint(const momentum_body *body, const double v[3], const double omega[3],
                          const double q[4], momentum_state *bar, momentum_body *body_bar, double v_bar[3],
                          double omega_bar[3])
{
    double R[9], R_bar[9] = {0}, W[3], IW[3], IW_bar[3], W_bar[3], c[3];
    quat_matrix(q, R);
    mat3_tapply(R, omega, W);
    mat3_apply(body->inertia, W, IW);
    mat3_tapply(R, bar->L, IW_bar);
    mat3_add_outer(R_bar, 1, bar->L, IW);
    mat3_apply(body->inertia, IW_bar, W_bar);
    mat3_add_symmetric(body_bar->inertia, 1, IW_bar, W);
    mat3_apply(R, W_bar, c);
    vec3_add_scaled(omega_bar, 1, c);
    mat3_add_outer(R_bar, 1, omega, W_bar);
    quat_matrix_adjoint(q, R_bar, bar->q);
    body_bar->mass += vec3_dot(v, bar->P);
    vec3_add_scaled(v_bar, body->mass, bar->P);
    memset(bar->P, 0, sizeof bar->P);
    memset(bar->L, 0, sizeof bar->L);
}
