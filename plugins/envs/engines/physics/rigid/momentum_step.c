/* SPDX-License-Identifier: Apache-2.0 */
/* momentum_step.c - forces and the quantities of one step of a rigid body by its momenta (see momentum.h). */
#include "momentum_internal.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

static int acts(const momentum *r, size_t k, uint64_t t)
{
    return t >= r->rules.list[k].first && t < r->rules.list[k].end;
}

double momentum_weight(const momentum *r, size_t k, uint64_t t)
{
    double weight = acts(r, k, t);
    for (size_t later = k + 1; r->rules.parity && weight > 0 && later < r->rules.forces; later++) {
        weight += acts(r, later, t);
    }
    return weight;
}

void momentum_lever(const momentum *r, size_t k, const double x[3], const double R[9], double lever[3])
{
    if (r->rules.parity) {
        memcpy(lever, r->sum[k], 3 * sizeof *lever);
        vec3_add_scaled(lever, -(double)r->count[k], x);
    } else {
        mat3_apply(R, r->sum[k], lever);
    }
}

/* Adds h T to L. */
static void add_torques(const momentum *r, uint64_t t, const momentum_state *s, momentum_step *out)
{
    for (size_t k = 0; k < r->rules.forces; k++) {
        double weight = momentum_weight(r, k, t), lever[3], torque[3];
        if (weight > 0) {
            momentum_lever(r, k, s->x, out->R, lever);
            vec3_cross(lever, r->body.force[k], torque);
            vec3_add_scaled(out->moved.L, r->rules.h * weight, torque);
            vec3_add_scaled(out->F, (double)r->count[k], r->body.force[k]);
        }
    }
}

void momentum_step_from(const momentum *r, uint64_t t, const momentum_state *s, momentum_step *out)
{
    const double h = r->rules.h;
    double spin[4] = {0}, qdot[4];
    quat_matrix(s->q, out->R);
    mat3_tapply(out->R, s->L, out->L);
    mat3_apply(r->inverse, out->L, out->W);
    mat3_apply(out->R, out->W, out->omega);
    memcpy(spin + 1, out->omega, sizeof out->omega);
    quat_product(spin, s->q, qdot);
    memset(out->F, 0, sizeof out->F);
    out->moved = *s;
    add_torques(r, t, s, out);
    if (r->net != NULL) {
        double in[WRENCH_INPUTS], force[3] = {0}, torque[3] = {0};
        momentum_seen(s, in);
        wrench_add(r->net, in, force, torque);
        vec3_add_scaled(out->F, 1, force);
        vec3_add_scaled(out->moved.L, h, torque);
    }
    for (int k = 0; k < 4; k++) {
        out->moved.q[k] += 0.5 * h * qdot[k];
    }
    out->norm = quat_normalise(out->moved.q);
    vec3_add_scaled(out->moved.P, h, out->F);
    vec3_add_scaled(out->moved.x, h / r->body.mass, out->moved.P);
}
