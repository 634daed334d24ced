/* SPDX-License-Identifier: Apache-2.0 */
/* tet.h - the law of tet_plain.c, an element in each lane. Coefficients carry the factor -volume from
 * the beginning. */
#ifndef DS_ENGINES_FEM_KERNEL_TET_H
#define DS_ENGINES_FEM_KERNEL_TET_H

#include "engines/physics/fem/kernels/lanes.h"

/* Written in place: GCC copies one that is returned through memory, word by word. */
typedef struct mat3 {
    vec3v c[3]; /* columns */
} mat3;

/* The columns of (x1 - x0, x2 - x0, x3 - x0) B. */
VEC_INLINE void tet_gradient(mat3 *f, const vec b[9], const vec3v x[4])
{
    const vec3v e[3] = {minus(x[1], x[0]), minus(x[2], x[0]), minus(x[3], x[0])};
    for (int k = 0; k < 3; k++) {
        f->c[k] = along(along(times(b[k], e[0]), b[3 + k], e[1]), b[6 + k], e[2]);
    }
}

/* P B^T to vertices 1..3, minus their sum to vertex 0. */
VEC_INLINE void tet_spread(double *to, size_t stride, const vec b[9], const mat3 *p)
{
    vec3v sum = {0};
    for (int i = 0; i < 3; i++) {
        const vec3v h = along(along(times(b[3 * i], p->c[0]), b[3 * i + 1], p->c[1]), b[3 * i + 2], p->c[2]);
        sum = i == 0 ? h : plus(sum, h);
        spread(to + (size_t)(i + 1) * FEM_CHUNK * stride, stride, h);
    }
    spread(to, stride, times(vec_all(-1), sum));
}

VEC_INLINE vec inner(const mat3 *a, const mat3 *b)
{
    return dot(a->c[0], b->c[0]) + dot(a->c[1], b->c[1]) + dot(a->c[2], b->c[2]);
}

/* Column k of the cofactor. */
VEC_INLINE vec3v cofactor(const mat3 *f, int k)
{
    return cross(f->c[(k + 1) % 3], f->c[(k + 2) % 3]);
}

/* Column k of its change along x. */
VEC_INLINE vec3v cofactor_change(const mat3 *f, const mat3 *x, int k)
{
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    return plus(cross(x->c[i], f->c[j]), cross(f->c[i], x->c[j]));
}

typedef struct tet_strain {
    vec b[9];
    vec mu, lambda, kd, minus_volume;
    mat3 f, rate, g;
    vec over;   /* 1/(Ic + 1) */
    vec change; /* J - 1 + act */
    vec swell;  /* dJ/dt */
    vec h;      /* the factor of G in P */
} tet_strain;

VEC_INLINE void tet_strain_of(tet_strain *s, const double *state, const uint32_t *vertex,
                              const double *constant, const double *act)
{
    vec3v q[4], u[4];
    gather_corners(state, FEM_WIDTH, vertex, 4, q);
    gather_corners(state + 4, FEM_WIDTH, vertex, 4, u);
    for (int i = 0; i < 9; i++) {
        s->b[i] = vec_load(constant + (FEM_TET_INVERSE + i) * FEM_CHUNK);
    }
    s->mu = vec_load(constant + FEM_TET_MU * FEM_CHUNK);
    s->lambda = vec_load(constant + FEM_TET_LAMBDA * FEM_CHUNK);
    s->kd = vec_load(constant + FEM_TET_KD * FEM_CHUNK);
    s->minus_volume = -vec_load(constant + FEM_TET_VOLUME * FEM_CHUNK);
    tet_gradient(&s->f, s->b, q);
    tet_gradient(&s->rate, s->b, u);
    for (int k = 0; k < 3; k++) {
        s->g.c[k] = cofactor(&s->f, k);
    }
    s->over = 1.0 / (inner(&s->f, &s->f) + 1.0);
    s->change = dot(s->f.c[0], s->g.c[0]) - 1.0 + vec_load(act);
    s->swell = inner(&s->g, &s->rate);
    s->h = s->lambda * s->change - 0.75 * s->mu + s->kd * s->swell;
}

VEC_INLINE void tet_force(const double *state, const uint32_t *vertex, const double *constant,
                          const double *act, double *share)
{
    tet_strain s;
    mat3 p;
    tet_strain_of(&s, state, vertex, constant, act);
    const vec by_f = s.minus_volume * (s.mu * (1.0 - s.over)), by_rate = s.minus_volume * s.kd,
              by_g = s.minus_volume * s.h;
    for (int k = 0; k < 3; k++) {
        p.c[k] = along(along(times(by_f, s.f.c[k]), by_rate, s.rate.c[k]), by_g, s.g.c[k]);
    }
    tet_spread(share, 4, s.b, &p);
}

VEC_INLINE void tet_add_bars(double *bar, const tet_strain *s, vec gb, vec fbf, const mat3 *fb)
{
    const vec mu = s->minus_volume * ((1.0 - s->over) * fbf - 0.75 * gb);
    const vec lambda = s->minus_volume * s->change * gb;
    const vec kd = s->minus_volume * (inner(&s->rate, fb) + s->swell * gb);
    vec_store(bar, vec_load(bar) + mu);
    vec_store(bar + FEM_CHUNK, vec_load(bar + FEM_CHUNK) + lambda);
    vec_store(bar + 2 * FEM_CHUNK, vec_load(bar + 2 * FEM_CHUNK) + kd);
}

/* `bar` may be NULL. The change of the cofactor is linear: one for both of its terms. */
VEC_INLINE void tet_vjp(const double *state, const double *force_bar, const uint32_t *vertex,
                        const double *constant, const double *act, double *share, double *bar,
                        double *act_bar)
{
    tet_strain s;
    vec3v corner[4];
    mat3 fb, mixed, pq, pu;
    tet_strain_of(&s, state, vertex, constant, act);
    gather_corners(force_bar, 4, vertex, 4, corner);
    tet_gradient(&fb, s.b, corner);
    const vec gb = inner(&s.g, &fb), fbf = inner(&s.f, &fb);
    vec_store(act_bar, s.minus_volume * s.lambda * gb);
    if (bar) {
        tet_add_bars(bar, &s, gb, fbf, &fb);
    }
    const vec by_fb = s.minus_volume * s.mu * (1.0 - s.over), kd = s.minus_volume * s.kd;
    const vec by_f = s.minus_volume * s.mu * 2.0 * fbf * s.over * s.over;
    const vec by_g = s.minus_volume * s.lambda * gb, kd_gb = kd * gb, h = s.minus_volume * s.h;
    for (int k = 0; k < 3; k++) {
        mixed.c[k] = along(times(h, fb.c[k]), kd_gb, s.rate.c[k]);
        pu.c[k] = along(times(kd, fb.c[k]), kd_gb, s.g.c[k]);
    }
    tet_spread(share + 4, FEM_WIDTH, s.b, &pu);
    for (int k = 0; k < 3; k++) {
        pq.c[k] = plus(along(along(times(by_fb, fb.c[k]), by_f, s.f.c[k]), by_g, s.g.c[k]),
                       cofactor_change(&s.f, &mixed, k));
    }
    tet_spread(share, FEM_WIDTH, s.b, &pq);
}

#endif
