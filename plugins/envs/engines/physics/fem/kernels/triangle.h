/* SPDX-License-Identifier: Apache-2.0 */
/* triangle.h - the laws of triangle_plain.c, an element in each lane. */
#ifndef DS_ENGINES_FEM_KERNEL_TRIANGLE_H
#define DS_ENGINES_FEM_KERNEL_TRIANGLE_H

#include "common/vector_math.h"
#include "engines/physics/fem/kernels/lanes.h"

typedef struct mat2 {
    vec3v c[2]; /* columns of a 3 x 2 matrix */
} mat2;

VEC_INLINE mat2 triangle_gradient(const vec b[4], const vec3v x[3])
{
    const vec3v e0 = minus(x[1], x[0]), e1 = minus(x[2], x[0]);
    return (mat2){{along(times(b[0], e0), b[2], e1), along(times(b[1], e0), b[3], e1)}};
}

/* P B^T as shares of the corners. */
VEC_INLINE void triangle_corners(const vec b[4], const mat2 *p, vec3v out[3])
{
    out[1] = along(times(b[0], p->c[0]), b[1], p->c[1]);
    out[2] = along(times(b[2], p->c[0]), b[3], p->c[1]);
    out[0] = times(vec_all(-1), plus(out[1], out[2]));
}

VEC_INLINE vec inner2(const mat2 *a, const mat2 *b)
{
    return dot(a->c[0], b->c[0]) + dot(a->c[1], b->c[1]);
}

typedef struct triangle_strain {
    vec b[4], minus_area;
    mat2 f, rate, g;
    vec3v n;  /* unit normal; 0 where the triangle has collapsed */
    vec over; /* 1/J, 0 where it has collapsed */
    vec change, swell, h;
} triangle_strain;

VEC_INLINE void triangle_strain_of(triangle_strain *s, const fem_membrane *law, const vec3v q[3],
                                   const vec3v u[3], const double *constant, const double *act)
{
    for (int i = 0; i < 4; i++) {
        s->b[i] = vec_load(constant + (FEM_TRIANGLE_INVERSE + i) * FEM_CHUNK);
    }
    s->minus_area = -vec_load(constant + FEM_TRIANGLE_AREA * FEM_CHUNK);
    s->f = triangle_gradient(s->b, q);
    s->rate = triangle_gradient(s->b, u);
    const vec3v normal = cross(s->f.c[0], s->f.c[1]);
    const vec size = vec_sqrt(dot(normal, normal));
    const vec_bits collapsed = (vec_bits)(size <= 1e-12);
    s->over = vec_choose(collapsed, vec_all(0), 1.0 / vec_choose(collapsed, vec_all(1), size));
    s->n = times(s->over, normal);
    s->g = (mat2){{cross(s->f.c[1], s->n), cross(s->n, s->f.c[0])}};
    s->change = size - 1.0 + vec_load(act);
    s->swell = inner2(&s->g, &s->rate);
    s->h = law->lambda * s->change - law->mu + law->kd * s->swell;
}

/* The change of G along x. */
VEC_INLINE mat2 triangle_gradient_change(const triangle_strain *s, const mat2 *x)
{
    const vec3v normal = plus(cross(x->c[0], s->f.c[1]), cross(s->f.c[0], x->c[1]));
    const vec3v n = times(s->over, along(normal, -dot(s->n, normal), s->n));
    return (mat2){
        {plus(cross(x->c[1], s->n), cross(s->f.c[1], n)), plus(cross(n, s->f.c[0]), cross(s->n, x->c[0]))}};
}

typedef struct triangle_wind {
    vec3v v, n;
    vec s, eta;
    vec still; /* 1, or 0 where there is no force */
    vec angle;
    vec3v by_n, by_v;
} triangle_wind;

VEC_INLINE void triangle_wind_of(triangle_wind *w, const vec3v q[3], const vec3v u[3])
{
    w->v = times(vec_all(1.0 / 3), plus(plus(u[0], u[1]), u[2]));
    w->n = cross(minus(q[1], q[0]), minus(q[2], q[0]));
    w->s = dot(w->v, w->v);
    w->eta = dot(w->n, w->v);
    const vec nn = dot(w->n, w->n), size = vec_sqrt(nn) * vec_sqrt(w->s);
    const vec_bits still = (vec_bits)(size == 0.0);
    const vec one = vec_all(1), over = 1.0 / vec_choose(still, one, size);
    const vec ch = vec_most(-one, vec_least(one, w->eta * over));
    /* The sine between v and n is the part of v across n: 1 - ch^2 has no digits where they are parallel. */
    const vec3v across =
        along(times(vec_sqrt(nn) * over, w->v), -ch / vec_choose(still, one, vec_sqrt(nn)), w->n);
    const vec root = 1.0 / vec_sqrt(vec_most(dot(across, across), vec_all(1e-24)));
    w->still = vec_choose(still, vec_all(0), one);
    w->angle = vec_asin(ch);
    w->by_n = times(root, along(times(over, w->v), -ch / vec_choose(still, one, nn), w->n));
    w->by_v = times(root, along(times(over, w->n), -ch / vec_choose(still, one, w->s), w->v));
}

/* The force of the air on each corner. */
VEC_INLINE vec3v triangle_air(const fem_membrane *law, const triangle_wind *w)
{
    const vec by_v = -0.5 * law->drag * vec_abs(w->eta), by_n = -0.5 * law->lift * w->angle * w->s;
    return times(w->still, along(times(by_v, w->v), by_n, w->n));
}

VEC_INLINE int triangle_in_air(const fem_membrane *law)
{
    return law->drag != 0 || law->lift != 0;
}

VEC_INLINE void triangle_force(const fem_membrane *law, const double *state, const uint32_t *vertex,
                               const double *constant, const double *act, double *share)
{
    triangle_strain s;
    vec3v q[3], u[3], out[3];
    mat2 p;
    gather_corners(state, FEM_WIDTH, vertex, 3, q);
    gather_corners(state + 4, FEM_WIDTH, vertex, 3, u);
    triangle_strain_of(&s, law, q, u, constant, act);
    const vec by_f = s.minus_area * law->mu, by_g = s.minus_area * s.h;
    for (int k = 0; k < 2; k++) {
        p.c[k] = along(times(by_f, s.f.c[k]), by_g, s.g.c[k]);
    }
    triangle_corners(s.b, &p, out);
    if (triangle_in_air(law)) {
        triangle_wind w;
        triangle_wind_of(&w, q, u);
        const vec3v push = triangle_air(law, &w);
        for (int c = 0; c < 3; c++) {
            out[c] = plus(out[c], push);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        spread(share + c * FEM_CHUNK * 4, 4, out[c]);
    }
}

/* Sums of the derivatives by the constants of the air, and shares to add. */
VEC_INLINE void triangle_air_vjp(const fem_membrane *law, const vec3v q[3], const vec3v u[3],
                                 const vec3v fb[3], vec3v by_q[3], vec3v by_u[3], vec *drag, vec *lift)
{
    triangle_wind w;
    triangle_wind_of(&w, q, u);
    const vec3v b = plus(plus(fb[0], fb[1]), fb[2]);
    const vec zero = vec_all(0), one = vec_all(1);
    const vec up =
        vec_choose((vec_bits)(w.eta > zero), one, vec_choose((vec_bits)(w.eta < zero), -one, zero));
    const vec nb = dot(w.n, b), vb = up * dot(w.v, b), half = -0.5 * w.still;
    vec3v n_bar = times(law->drag * vb, w.v);
    n_bar = along(n_bar, law->lift * w.s, along(times(w.angle, b), nb, w.by_n));
    vec3v v_bar = times(vec_all(law->drag), along(times(vb, w.n), vec_abs(w.eta), b));
    v_bar = along(v_bar, law->lift * nb, along(times(2.0 * w.angle, w.v), w.s, w.by_v));
    n_bar = times(half, n_bar);
    v_bar = times(half * (1.0 / 3), v_bar);
    const vec3v q1 = cross(minus(q[2], q[0]), n_bar), q2 = cross(n_bar, minus(q[1], q[0]));
    by_q[0] = minus(by_q[0], plus(q1, q2));
    by_q[1] = plus(by_q[1], q1);
    by_q[2] = plus(by_q[2], q2);
    for (int c = 0; c < 3; c++) {
        by_u[c] = plus(by_u[c], v_bar);
    }
    *drag = half * vec_abs(w.eta) * dot(w.v, b);
    *lift = half * w.angle * w.s * nb;
}

VEC_INLINE void triangle_add(double *bar, int field, vec value)
{
    vec_store(bar + field * FEM_CHUNK, vec_load(bar + field * FEM_CHUNK) + value);
}

/* `bar` (of the one chunk of sums) may be NULL. */
VEC_INLINE void triangle_vjp(const fem_membrane *law, const double *state, const double *force_bar,
                             const uint32_t *vertex, const double *constant, const double *act, double *share,
                             double *bar, double *act_bar)
{
    triangle_strain s;
    vec3v q[3], u[3], fb[3], by_q[3], by_u[3];
    mat2 mixed, pq, pu;
    gather_corners(state, FEM_WIDTH, vertex, 3, q);
    gather_corners(state + 4, FEM_WIDTH, vertex, 3, u);
    gather_corners(force_bar, 4, vertex, 3, fb);
    triangle_strain_of(&s, law, q, u, constant, act);
    const mat2 b = triangle_gradient(s.b, fb);
    const vec gb = s.minus_area * inner2(&s.g, &b), by_f = s.minus_area * law->mu, h = s.minus_area * s.h;
    const vec by_g = law->lambda * gb, kd_gb = law->kd * gb;
    for (int k = 0; k < 2; k++) {
        mixed.c[k] = along(times(h, b.c[k]), kd_gb, s.rate.c[k]);
        pu.c[k] = times(kd_gb, s.g.c[k]);
    }
    const mat2 d = triangle_gradient_change(&s, &mixed);
    for (int k = 0; k < 2; k++) {
        pq.c[k] = plus(along(times(by_f, b.c[k]), by_g, s.g.c[k]), d.c[k]);
    }
    triangle_corners(s.b, &pq, by_q);
    triangle_corners(s.b, &pu, by_u);
    vec_store(act_bar, by_g);
    if (bar) {
        triangle_add(bar, 0, s.minus_area * inner2(&s.f, &b) - gb);
        triangle_add(bar, 1, s.change * gb);
        triangle_add(bar, 2, s.swell * gb);
    }
    if (triangle_in_air(law) || bar) {
        vec drag, lift;
        triangle_air_vjp(law, q, u, fb, by_q, by_u, &drag, &lift);
        if (bar) {
            triangle_add(bar, 3, drag);
            triangle_add(bar, 4, lift);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        spread(share + c * FEM_CHUNK * FEM_WIDTH, FEM_WIDTH, by_q[c]);
        spread(share + c * FEM_CHUNK * FEM_WIDTH + 4, FEM_WIDTH, by_u[c]);
    }
}

#endif
