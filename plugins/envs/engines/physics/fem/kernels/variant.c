/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - the kernels, compiled for each instruction set: FEM_ISA is its name, VECTOR_LANES its width.
 * They compute the laws of laws/ with one element per lane. */
#include "common/isa.h"
#include "common/vector_math.h"
#include "engines/physics/fem/ground.h"
#include "engines/physics/fem/kernels/kernels.h"
#include "engines/physics/fem/kernels/lanes.h"

/* ---- springs ---- */

typedef struct spring_stretch {
    vec ke, kd;
    vec3v d, w;
    vec over; /* 1/l; 0 without length, and then no force */
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
    vec over;       /* 1 / squared length of the normal */
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

/* The constants of bending, one element per lane; those of the model where all share them. */
typedef struct edge_bending {
    vec ke, kd;
} edge_bending;

VEC_INLINE edge_bending edge_law(const fem_pack *p, const double *constant)
{
    if (!p->mixed) {
        return (edge_bending){vec_all(p->bending.ke), vec_all(p->bending.kd)};
    }
    return (edge_bending){vec_load(constant + FEM_EDGE_BENDING * FEM_CHUNK),
                          vec_load(constant + (FEM_EDGE_BENDING + 1) * FEM_CHUNK)};
}

VEC_INLINE void edge_force(const fem_pack *p, const double *state, const uint32_t *vertex,
                           const double *constant, const double *act, double *share)
{
    edge_hinge g;
    vec3v x[4], u[4];
    const edge_bending law = edge_law(p, constant);
    gather_corners(state, FEM_WIDTH, vertex, 4, x);
    gather_corners(state + 4, FEM_WIDTH, vertex, 4, u);
    edge_hinge_of(&g, x);
    const vec turn = g.angle - (vec_load(constant + FEM_EDGE_REST * FEM_CHUNK) + vec_load(act));
    const vec h = law.ke * turn + law.kd * edge_rate(&g, u);
    const vec by_d = -vec_load(constant + FEM_EDGE_LENGTH * FEM_CHUNK) * h;
    for (size_t c = 0; c < 4; c++) {
        spread(share + c * FEM_CHUNK * 4, 4, times(by_d, g.d[c]));
    }
}

/* `bar` may be NULL. The Hessian is linear: one serves both terms. */
VEC_INLINE void edge_vjp(const fem_pack *p, const double *state, const double *force_bar,
                         const uint32_t *vertex, const double *constant, const double *act, double *share,
                         double *bar, double *act_bar)
{
    edge_hinge g;
    vec3v x[4], u[4], fb[4], mixed[4], by_mixed[4];
    const edge_bending law = edge_law(p, constant);
    gather_corners(state, FEM_WIDTH, vertex, 4, x);
    gather_corners(state + 4, FEM_WIDTH, vertex, 4, u);
    gather_corners(force_bar, 4, vertex, 4, fb);
    edge_hinge_of(&g, x);
    const vec turn = g.angle - (vec_load(constant + FEM_EDGE_REST * FEM_CHUNK) + vec_load(act));
    const vec length = -vec_load(constant + FEM_EDGE_LENGTH * FEM_CHUNK);
    const vec rate = edge_rate(&g, u), beta = length * edge_rate(&g, fb);
    const vec h = length * (law.ke * turn + law.kd * rate), kd_beta = law.kd * beta, ke_beta = law.ke * beta;
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

/* ---- triangles ---- */

typedef struct mat2 {
    vec3v c[2]; /* columns of a 3 x 2 matrix */
} mat2;

VEC_INLINE mat2 triangle_gradient(const vec b[4], const vec3v x[3])
{
    const vec3v e0 = minus(x[1], x[0]), e1 = minus(x[2], x[0]);
    return (mat2){{along(times(b[0], e0), b[2], e1), along(times(b[1], e0), b[3], e1)}};
}

/* Writes P B^T as shares of the corners. */
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

/* The constants of a membrane, one element per lane; those of the model where all share them. */
typedef struct triangle_membrane {
    vec mu, lambda, kd, drag, lift;
    vec3v wind;
} triangle_membrane;

VEC_INLINE vec triangle_own(const double *constant, int k)
{
    return vec_load(constant + (FEM_TRIANGLE_MEMBRANE + k) * FEM_CHUNK);
}

VEC_INLINE triangle_membrane triangle_law(const fem_pack *p, const double *constant)
{
    const fem_membrane *m = &p->membrane;
    const vec3v wind = {vec_all(p->wind[0]), vec_all(p->wind[1]), vec_all(p->wind[2])};
    if (!p->mixed) {
        return (triangle_membrane){vec_all(m->mu),   vec_all(m->lambda), vec_all(m->kd),
                                   vec_all(m->drag), vec_all(m->lift),   wind};
    }
    return (triangle_membrane){triangle_own(constant, 0), triangle_own(constant, 1),
                               triangle_own(constant, 2), triangle_own(constant, 3),
                               triangle_own(constant, 4), wind};
}

typedef struct triangle_strain {
    vec b[4], minus_area;
    mat2 f, rate, g;
    vec3v n;  /* unit normal; 0 if the triangle has collapsed */
    vec over; /* 1/J; 0 if it has collapsed */
    vec change, swell, h;
} triangle_strain;

VEC_INLINE void triangle_strain_of(triangle_strain *s, const triangle_membrane *law, const vec3v q[3],
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
    vec still; /* 1; 0 without force */
    vec angle;
    vec3v by_n, by_v;
} triangle_wind;

VEC_INLINE void triangle_wind_of(triangle_wind *w, vec3v air, const vec3v q[3], const vec3v u[3])
{
    w->v = minus(times(vec_all(1.0 / 3), plus(plus(u[0], u[1]), u[2])), air);
    w->n = cross(minus(q[1], q[0]), minus(q[2], q[0]));
    w->s = dot(w->v, w->v);
    w->eta = dot(w->n, w->v);
    const vec nn = dot(w->n, w->n), size = vec_sqrt(nn) * vec_sqrt(w->s);
    const vec_bits still = (vec_bits)(size == 0.0);
    const vec one = vec_all(1), over = 1.0 / vec_choose(still, one, size);
    const vec ch = vec_most(-one, vec_least(one, w->eta * over));
    /* The sine between v and n is the part of v across n, because 1 - ch^2 loses all digits for parallel
     * vectors. */
    const vec3v across =
        along(times(vec_sqrt(nn) * over, w->v), -ch / vec_choose(still, one, vec_sqrt(nn)), w->n);
    const vec root = 1.0 / vec_sqrt(vec_most(dot(across, across), vec_all(1e-24)));
    w->still = vec_choose(still, vec_all(0), one);
    w->angle = vec_asin(ch);
    w->by_n = times(root, along(times(over, w->v), -ch / vec_choose(still, one, nn), w->n));
    w->by_v = times(root, along(times(over, w->n), -ch / vec_choose(still, one, w->s), w->v));
}

/* The force of the air on each corner. */
VEC_INLINE vec3v triangle_air(const triangle_membrane *law, const triangle_wind *w)
{
    const vec by_v = -0.5 * law->drag * vec_abs(w->eta), by_n = -0.5 * law->lift * w->angle * w->s;
    return times(w->still, along(times(by_v, w->v), by_n, w->n));
}

VEC_INLINE void triangle_force(const fem_pack *pack, const double *state, const uint32_t *vertex,
                               const double *constant, const double *act, double *share)
{
    triangle_strain s;
    vec3v q[3], u[3], out[3];
    mat2 p;
    const triangle_membrane own = triangle_law(pack, constant), *law = &own;
    gather_corners(state, FEM_WIDTH, vertex, 3, q);
    gather_corners(state + 4, FEM_WIDTH, vertex, 3, u);
    triangle_strain_of(&s, law, q, u, constant, act);
    const vec by_f = s.minus_area * law->mu, by_g = s.minus_area * s.h;
    for (int k = 0; k < 2; k++) {
        p.c[k] = along(times(by_f, s.f.c[k]), by_g, s.g.c[k]);
    }
    triangle_corners(s.b, &p, out);
    if (pack->air) {
        triangle_wind w;
        triangle_wind_of(&w, law->wind, q, u);
        const vec3v push = triangle_air(law, &w);
        for (int c = 0; c < 3; c++) {
            out[c] = plus(out[c], push);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        spread(share + c * FEM_CHUNK * 4, 4, out[c]);
    }
}

/* Adds the derivatives by the constants of the air; adds shares. */
VEC_INLINE void triangle_air_vjp(const triangle_membrane *law, const vec3v q[3], const vec3v u[3],
                                 const vec3v fb[3], vec3v by_q[3], vec3v by_u[3], triangle_membrane *by_law)
{
    triangle_wind w;
    triangle_wind_of(&w, law->wind, q, u);
    const vec3v b = plus(plus(fb[0], fb[1]), fb[2]);
    const vec zero = vec_all(0), one = vec_all(1);
    const vec up =
        vec_choose((vec_bits)(w.eta > zero), one, vec_choose((vec_bits)(w.eta < zero), -one, zero));
    const vec nb = dot(w.n, b), vb = up * dot(w.v, b), half = -0.5 * w.still;
    vec3v n_bar = times(law->drag * vb, w.v);
    n_bar = along(n_bar, law->lift * w.s, along(times(w.angle, b), nb, w.by_n));
    vec3v v_bar = times(law->drag, along(times(vb, w.n), vec_abs(w.eta), b));
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
    by_law->drag = half * vec_abs(w.eta) * dot(w.v, b);
    by_law->lift = half * w.angle * w.s * nb;
    by_law->wind = times(vec_all(-3), v_bar);
}

VEC_INLINE void triangle_add(double *bar, int field, vec value)
{
    vec_store(bar + field * FEM_CHUNK, vec_load(bar + field * FEM_CHUNK) + value);
}

/* `bar` may be NULL. */
VEC_INLINE void triangle_vjp(const fem_pack *pack, const double *state, const double *force_bar,
                             const uint32_t *vertex, const double *constant, const double *act, double *share,
                             double *bar, double *act_bar)
{
    triangle_strain s;
    vec3v q[3], u[3], fb[3], by_q[3], by_u[3];
    mat2 mixed, pq, pu;
    const triangle_membrane own = triangle_law(pack, constant), *law = &own;
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
    if (pack->air || bar) {
        triangle_membrane by_law;
        triangle_air_vjp(law, q, u, fb, by_q, by_u, &by_law);
        if (bar) {
            triangle_add(bar, 3, by_law.drag);
            triangle_add(bar, 4, by_law.lift);
            triangle_add(bar, 5, by_law.wind.x);
            triangle_add(bar, 6, by_law.wind.y);
            triangle_add(bar, 7, by_law.wind.z);
        }
    }
    for (size_t c = 0; c < 3; c++) {
        spread(share + c * FEM_CHUNK * FEM_WIDTH, FEM_WIDTH, by_q[c]);
        spread(share + c * FEM_CHUNK * FEM_WIDTH + 4, FEM_WIDTH, by_u[c]);
    }
}

/* ---- tetrahedra ---- */

/* Matrices are written in place: GCC copies returned ones word by word. */
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

/* `bar` may be NULL. The change of the cofactor is linear: one serves both terms. */
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

/* ---- particles ---- */

/* Position of the lanes of some elements: chunk k, lanes from `lane` on. */
#define EACH_LANES(set, k, lane)                                                                             \
    for (size_t k = 0; k < (set)->chunks; k++)                                                               \
        for (size_t lane = 0; lane < FEM_CHUNK; lane += VECTOR_LANES)

static void forces(fem_pack *p, const double *state)
{
    const fem_set *s = &p->spring;
    EACH_LANES(s, k, lane)
    {
        spring_force(state, s->vertex + k * 2 * FEM_CHUNK + lane,
                     s->constant + k * FEM_SPRING_FIELDS * FEM_CHUNK + lane,
                     p->share + (s->first + k * 2 * FEM_CHUNK + lane) * 4);
    }
    s = &p->triangle;
    EACH_LANES(s, k, lane)
    {
        triangle_force(p, state, s->vertex + k * 3 * FEM_CHUNK + lane,
                       s->constant + k * FEM_TRIANGLE_FIELDS * FEM_CHUNK + lane,
                       s->act + k * FEM_CHUNK + lane, p->share + (s->first + k * 3 * FEM_CHUNK + lane) * 4);
    }
    s = &p->edge;
    EACH_LANES(s, k, lane)
    {
        edge_force(p, state, s->vertex + k * 4 * FEM_CHUNK + lane,
                   s->constant + k * FEM_EDGE_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                   p->share + (s->first + k * 4 * FEM_CHUNK + lane) * 4);
    }
    s = &p->tet;
    EACH_LANES(s, k, lane)
    {
        tet_force(state, s->vertex + k * 4 * FEM_CHUNK + lane,
                  s->constant + k * FEM_TET_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                  p->share + (s->first + k * 4 * FEM_CHUNK + lane) * 4);
    }
}

static void force(fem_pack *p, const double *state, double *to)
{
    forces(p, state);
    for (size_t i = 0; i < p->particles; i++) {
        const double *q = state + FEM_WIDTH * i;
        double *f = to + 4 * i;
        four sum = {0};
        for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
            sum = four_plus(sum, p->share + 4 * (size_t)p->list[k]);
        }
        four_store(f, sum);
        const double c = ground_depth(&p->ground, q);
        if (c < 0 && p->ground.on) {
            ground_force(&p->ground, c, q + 4, f);
        }
    }
}

static void vjps(fem_pack *p, const double *state, const double *fb)
{
    fem_set *s = &p->spring;
    EACH_LANES(s, k, lane)
    {
        double *bar = s->bar + k * FEM_SPRING_BARS * FEM_CHUNK + lane;
        spring_vjp(state, fb, s->vertex + k * 2 * FEM_CHUNK + lane,
                   s->constant + k * FEM_SPRING_FIELDS * FEM_CHUNK + lane,
                   p->share + (s->first + k * 2 * FEM_CHUNK + lane) * FEM_WIDTH,
                   p->want_material ? bar : NULL);
    }
    s = &p->triangle;
    EACH_LANES(s, k, lane)
    {
        double *bar = s->bar + (p->mixed ? k * FEM_TRIANGLE_BARS * FEM_CHUNK : 0) + lane;
        triangle_vjp(p, state, fb, s->vertex + k * 3 * FEM_CHUNK + lane,
                     s->constant + k * FEM_TRIANGLE_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                     p->share + (s->first + k * 3 * FEM_CHUNK + lane) * FEM_WIDTH,
                     p->want_material ? bar : NULL, s->act_bar + k * FEM_CHUNK + lane);
    }
    s = &p->edge;
    EACH_LANES(s, k, lane)
    {
        double *bar = s->bar + (p->mixed ? k * FEM_EDGE_BARS * FEM_CHUNK : 0) + lane;
        edge_vjp(p, state, fb, s->vertex + k * 4 * FEM_CHUNK + lane,
                 s->constant + k * FEM_EDGE_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                 p->share + (s->first + k * 4 * FEM_CHUNK + lane) * FEM_WIDTH, p->want_material ? bar : NULL,
                 s->act_bar + k * FEM_CHUNK + lane);
    }
    s = &p->tet;
    EACH_LANES(s, k, lane)
    {
        double *bar = s->bar + k * FEM_TET_BARS * FEM_CHUNK + lane;
        tet_vjp(state, fb, s->vertex + k * 4 * FEM_CHUNK + lane,
                s->constant + k * FEM_TET_FIELDS * FEM_CHUNK + lane, s->act + k * FEM_CHUNK + lane,
                p->share + (s->first + k * 4 * FEM_CHUNK + lane) * FEM_WIDTH, p->want_material ? bar : NULL,
                s->act_bar + k * FEM_CHUNK + lane);
    }
}

static void vjp(fem_pack *p, const double *state, const double *fb, double *bar)
{
    vjps(p, state, fb);
    for (size_t i = 0; i < p->particles; i++) {
        const double *q = state + FEM_WIDTH * i;
        double *to = bar + FEM_WIDTH * i;
        four by_q = {0}, by_u = {0};
        for (uint32_t k = p->begin[i]; k < p->begin[i + 1]; k++) {
            const double *share = p->share + FEM_WIDTH * (size_t)p->list[k];
            by_q = four_plus(by_q, share);
            by_u = four_plus(by_u, share + 4);
        }
        four_store(to, four_plus(by_q, to));
        four_store(to + 4, four_plus(by_u, to + 4));
        const double c = ground_depth(&p->ground, q);
        if (c < 0 && p->ground.on) {
            ground_vjp(&p->ground, c, q + 4, fb + 4 * i, to, to + 4, &p->ground_bar);
        }
    }
}

/* The larger of two squares; infinite if one is NaN. */
static inline double worst(double most, double square)
{
    return square <= most ? most : square == square ? square : (double)INFINITY;
}

static double step(const fem_pack *p, double dt, const double *state, const double *f, double *next)
{
    double most = 0;
    for (size_t i = 0; i < p->particles; i++) {
        const double w = p->inverse_mass[i], moves = w > 0 ? 1 : 0;
        const double *from = state + FEM_WIDTH * i;
        double *to = next + FEM_WIDTH * i, square = 0, place = 0;
        for (int k = 0; k < 4; k++) {
            const double u = from[4 + k] + dt * (w * f[4 * i + (size_t)k] + moves * p->gravity[k]);
            to[k] = from[k] + dt * u;
            to[4 + k] = u;
            square += u * u;
            place += to[k];
        }
        most = worst(most, square);
        most = place - place == 0 ? most : (double)INFINITY;
    }
    return most;
}

static double step_bar(const fem_pack *p, double dt, const double *state, const double *next, double *bar,
                       double *fb, double *mass_bar, double gravity_bar[4])
{
    double most = 0;
    for (size_t i = 0; i < p->particles; i++) {
        const double w = p->inverse_mass[i], moves = w > 0 ? 1 : 0;
        const double *before = state + FEM_WIDTH * i + 4, *after = next + FEM_WIDTH * i + 4;
        double *at = bar + FEM_WIDTH * i, work = 0, square = 0;
        for (int k = 0; k < 4; k++) {
            const double a = at[4 + k] + dt * at[k];
            at[4 + k] = a;
            fb[4 * i + (size_t)k] = dt * w * a;
            gravity_bar[k] += dt * moves * a;
            work += (after[k] - before[k] - dt * moves * p->gravity[k]) * a; /* dt w f . a */
            square += a * a;
        }
        mass_bar[i] -= w * work;
        most = worst(most, square);
    }
    return most;
}

extern const fem_kernels ISA_VARIANT(fem_kernels, FEM_ISA);
const fem_kernels ISA_VARIANT(fem_kernels, FEM_ISA) = {ISA_NAME(FEM_ISA), force, vjp, step, step_bar};
