/* SPDX-License-Identifier: Apache-2.0 */
/* rigid.c - roll-outs of a rigid body with compliant contact (see rigid.h). */
#include "rigid.h"

#include "engines/kit/algebra/finite.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "rigid_internal.h"

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

/* FNV-1a over the branches of every point that touches or is felt. */
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
