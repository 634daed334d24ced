/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_step.c - contact forces and the quantities of one step of a rigid body (see rigid.h). */
#include "rigid_internal.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

/* Friction along axis k (x or z) on a point that moves with t->u. Where nothing presses there is none,
 * neither viscous. */
static void drag(const rigid_body *b, int k, rigid_touch *t)
{
    double viscous = b->kf * t->u[k], bound = b->mu * t->N;
    t->slides[k] = viscous > bound ? 1 : viscous < -bound ? -1 : 0;
    t->f[k] = -(t->slides[k] != 0 ? t->slides[k] * bound : viscous);
}

int rigid_touches(const rigid *r, const rigid_state *s, const double R[9], size_t i, rigid_touch *t)
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
        rigid_seen(s, in);
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
