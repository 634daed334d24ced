/* SPDX-License-Identifier: Apache-2.0 */
/* edge.h - the laws of edge_plain.c, springs and bending, an element in each lane. */
#ifndef DS_ENGINES_FEM_KERNEL_EDGE_H
#define DS_ENGINES_FEM_KERNEL_EDGE_H

#include "common/vector_math.h"
#include "engines/physics/fem/kernels/lanes.h"

/* ---- springs ---- */

typedef struct spring_stretch {
    vec ke, kd;
    vec3v d, w;
    vec over; /* 1/l; 0 where there is no length and no force */
    vec long_by, s, h;
} spring_stretch;

VEC_INLINE void spring_stretch_of(spring_stretch *s, const double *state, const uint32_t *vertex,
                                  const double *constant)
{
    vec3v q[2], u[2];
    gather_corners(state, FEM_WIDTH, vertex, 2, q);
    gather_corners(state + 4, FEM_WIDTH, vertex, 2, u);
    const vec3v e = minus(q[0], q[1]);
    const vec l = vec_sqrt(dot(e, e)), zero = vec_all(0);
    const vec_bits none = (vec_bits)(l == zero);
    s->ke = vec_load(constant + FEM_SPRING_KE * FEM_CHUNK);
    s->kd = vec_load(constant + FEM_SPRING_KD * FEM_CHUNK);
    s->w = minus(u[0], u[1]);
    s->over = vec_choose(none, zero, 1.0 / vec_choose(none, vec_all(1), l));
    s->d = times(s->over, e);
    s->s = dot(s->d, s->w);
    s->long_by = vec_choose(none, zero, l - vec_load(constant + FEM_SPRING_REST * FEM_CHUNK));
    s->h = s->ke * s->long_by + s->kd * s->s;
}

VEC_INLINE void spring_force(const double *state, const uint32_t *vertex, const double *constant,
                             double *share)
{
    spring_stretch s;
    spring_stretch_of(&s, state, vertex, constant);
    spread(share, 4, times(-s.h, s.d));
    spread(share + FEM_CHUNK * 4, 4, times(s.h, s.d));
}

/* `bar` may be NULL. */
VEC_INLINE void spring_vjp(const double *state, const double *force_bar, const uint32_t *vertex,
                           const double *constant, double *share, double *bar)
{
    spring_stretch s;
    vec3v fb[2];
    spring_stretch_of(&s, state, vertex, constant);
    gather_corners(force_bar, 4, vertex, 2, fb);
    const vec3v b = minus(fb[0], fb[1]);
    const vec db = dot(s.d, b);
    const vec3v bt = times(s.over, along(b, -db, s.d)), vt = times(s.over, along(s.w, -s.s, s.d));
    const vec3v by_q = along(times(db, along(times(s.ke, s.d), s.kd, vt)), s.h, bt);
    const vec3v by_u = times(s.kd * db, s.d);
    if (bar) {
        vec_store(bar, vec_load(bar) - s.long_by * db);
        vec_store(bar + FEM_CHUNK, vec_load(bar + FEM_CHUNK) - s.s * db);
        vec_store(bar + 2 * FEM_CHUNK, vec_load(bar + 2 * FEM_CHUNK) + s.ke * db);
    }
    double *second = share + FEM_CHUNK * FEM_WIDTH;
    spread(share, FEM_WIDTH, times(vec_all(-1), by_q));
    spread(share + 4, FEM_WIDTH, times(vec_all(-1), by_u));
    spread(second, FEM_WIDTH, by_q);
    spread(second + 4, FEM_WIDTH, by_u);
}

/* ---- bending ---- */

typedef struct edge_side {
    vec3v to2, to3; /* from the opposite corner to those of the edge; the normal is their product */
    vec3v m;        /* normal over its squared length */
    vec over;       /* 1 over that */
    vec sign;       /* 1: n = to2 x to3; -1: n = to3 x to2 */
    vec along2, along3;
} edge_side;

typedef struct edge_hinge {
    edge_side side[2];
    vec3v along; /* unit vector of the edge */
    vec length, over, angle;
    vec3v d[4];
} edge_hinge;

VEC_INLINE vec3v edge_side_of(edge_side *s, vec3v opposite, vec3v x2, vec3v x3, double sign)
{
    s->sign = vec_all(sign);
    s->to2 = minus(x2, opposite);
    s->to3 = minus(x3, opposite);
    const vec3v n = times(s->sign, cross(s->to2, s->to3));
    s->over = 1.0 / vec_most(dot(n, n), vec_all(1e-300));
    s->m = times(s->over, n);
    return n;
}

VEC_INLINE void edge_hinge_of(edge_hinge *g, const vec3v x[4])
{
    const vec3v e = minus(x[3], x[2]);
    const vec3v n1 = edge_side_of(&g->side[0], x[0], x[2], x[3], 1);
    const vec3v n2 = edge_side_of(&g->side[1], x[1], x[2], x[3], -1);
    g->length = vec_most(vec_sqrt(dot(e, e)), vec_all(1e-150));
    g->over = 1.0 / g->length;
    g->along = times(g->over, e);
    g->angle = vec_atan2(dot(cross(n2, n1), g->along), dot(n1, n2));
    g->d[2] = g->d[3] = (vec3v){0};
    for (int i = 0; i < 2; i++) {
        edge_side *s = &g->side[i];
        s->along2 = dot(s->to2, g->along);
        s->along3 = dot(s->to3, g->along);
        g->d[i] = times(g->length, s->m);
        g->d[2] = along(g->d[2], -s->along3, s->m);
        g->d[3] = along(g->d[3], s->along2, s->m);
    }
}

/* The Hessian of the angle times y. */
VEC_INLINE void edge_hessian(const edge_hinge *g, const vec3v y[4], vec3v out[4])
{
    const vec3v de = minus(y[3], y[2]);
    const vec dl = dot(g->along, de);
    const vec3v turn = times(g->over, along(de, -dl, g->along));
    out[2] = out[3] = (vec3v){0};
    for (int i = 0; i < 2; i++) {
        const edge_side *s = &g->side[i];
        const vec3v d2 = minus(y[2], y[i]), d3 = minus(y[3], y[i]);
        const vec3v dn = times(s->sign, plus(cross(d2, s->to3), cross(s->to2, d3)));
        const vec3v dm = along(times(s->over, dn), -2.0 * dot(s->m, dn), s->m);
        const vec ds2 = dot(d2, g->along) + dot(s->to2, turn), ds3 = dot(d3, g->along) + dot(s->to3, turn);
        out[i] = along(times(dl, s->m), g->length, dm);
        out[2] = along(along(out[2], -s->along3, dm), -ds3, s->m);
        out[3] = along(along(out[3], s->along2, dm), ds2, s->m);
    }
}

VEC_INLINE vec edge_rate(const edge_hinge *g, const vec3v y[4])
{
    return dot(g->d[0], y[0]) + dot(g->d[1], y[1]) + dot(g->d[2], y[2]) + dot(g->d[3], y[3]);
}

VEC_INLINE void edge_force(const fem_bending *law, const double *state, const uint32_t *vertex,
                           const double *constant, const double *act, double *share)
{
    edge_hinge g;
    vec3v x[4], u[4];
    gather_corners(state, FEM_WIDTH, vertex, 4, x);
    gather_corners(state + 4, FEM_WIDTH, vertex, 4, u);
    edge_hinge_of(&g, x);
    const vec turn = g.angle - (vec_load(constant + FEM_EDGE_REST * FEM_CHUNK) + vec_load(act));
    const vec h = law->ke * turn + law->kd * edge_rate(&g, u);
    const vec by_d = -vec_load(constant + FEM_EDGE_LENGTH * FEM_CHUNK) * h;
    for (size_t c = 0; c < 4; c++) {
        spread(share + c * FEM_CHUNK * 4, 4, times(by_d, g.d[c]));
    }
}

/* `bar` (of the one chunk of sums) may be NULL. The Hessian is linear: one for both of its terms. */
VEC_INLINE void edge_vjp(const fem_bending *law, const double *state, const double *force_bar,
                         const uint32_t *vertex, const double *constant, const double *act, double *share,
                         double *bar, double *act_bar)
{
    edge_hinge g;
    vec3v x[4], u[4], fb[4], mixed[4], by_mixed[4];
    gather_corners(state, FEM_WIDTH, vertex, 4, x);
    gather_corners(state + 4, FEM_WIDTH, vertex, 4, u);
    gather_corners(force_bar, 4, vertex, 4, fb);
    edge_hinge_of(&g, x);
    const vec turn = g.angle - (vec_load(constant + FEM_EDGE_REST * FEM_CHUNK) + vec_load(act));
    const vec length = -vec_load(constant + FEM_EDGE_LENGTH * FEM_CHUNK);
    const vec rate = edge_rate(&g, u), beta = length * edge_rate(&g, fb);
    const vec h = length * (law->ke * turn + law->kd * rate), kd_beta = law->kd * beta,
              ke_beta = law->ke * beta;
    for (int c = 0; c < 4; c++) {
        mixed[c] = along(times(h, fb[c]), kd_beta, u[c]);
    }
    edge_hessian(&g, mixed, by_mixed);
    vec_store(act_bar, -ke_beta);
    if (bar) {
        vec_store(bar, vec_load(bar) + turn * beta);
        vec_store(bar + FEM_CHUNK, vec_load(bar + FEM_CHUNK) + rate * beta);
    }
    for (size_t c = 0; c < 4; c++) {
        double *to = share + c * FEM_CHUNK * FEM_WIDTH;
        spread(to, FEM_WIDTH, along(by_mixed[c], ke_beta, g.d[c]));
        spread(to + 4, FEM_WIDTH, times(kd_beta, g.d[c]));
    }
}

#endif
