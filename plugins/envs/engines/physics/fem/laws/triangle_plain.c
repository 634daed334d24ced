/* SPDX-License-Identifier: Apache-2.0 */
/* triangle_plain.c - membranes of gradSim: neo-Hookean in the plane of the triangle, damped by the rate of
 * its area; lift and drag of the air. */
#include "law.h"

/* 3 x 2 matrices as two columns. */
typedef struct mat {
    vec3 c[2];
} mat;

static mat gradient(const double *b, const vec3 x[3])
{
    const vec3 e[2] = {v3_minus(x[1], x[0]), v3_minus(x[2], x[0])};
    return (mat){{v3_along(v3_times(b[0], e[0]), b[2], e[1]), v3_along(v3_times(b[1], e[0]), b[3], e[1])}};
}

static void scatter(const double *b, double s, const mat *p, vec3 out[3])
{
    for (int i = 0; i < 2; i++) {
        out[i + 1] = v3_times(s, v3_along(v3_times(b[2 * i], p->c[0]), b[2 * i + 1], p->c[1]));
    }
    out[0] = v3_times(-1, v3_plus(out[1], out[2]));
}

static double inner(const mat *a, const mat *b)
{
    return v3_dot(a->c[0], b->c[0]) + v3_dot(a->c[1], b->c[1]);
}

static mat combine(double a, const mat *x, double b, const mat *y)
{
    return (mat){{v3_along(v3_times(a, x->c[0]), b, y->c[0]), v3_along(v3_times(a, x->c[1]), b, y->c[1])}};
}

static void add(mat *to, double a, const mat *x)
{
    *to = combine(1, to, a, x);
}

typedef struct strain {
    mat f, rate, g; /* F, dF/dt, dJ/dF */
    vec3 n;         /* unit normal; 0 if the triangle has collapsed */
    double size;    /* J, the ratio of areas, at least the guard */
    double change, swell, h;
} strain;

static const double collapsed = 1e-12;

static strain strain_of(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3],
                        const vec3 u[3])
{
    strain s = {.f = gradient(r->inverse, q), .rate = gradient(r->inverse, u)};
    const vec3 normal = v3_cross(s.f.c[0], s.f.c[1]);
    const double size = v3_length(normal);
    s.size = fmax(size, collapsed);
    s.n = v3_times(size > collapsed ? 1 / s.size : 0, normal);
    s.g = (mat){{v3_cross(s.f.c[1], s.n), v3_cross(s.n, s.f.c[0])}};
    s.change = size - 1 + t->act;
    s.swell = inner(&s.g, &s.rate);
    s.h = t->lambda * s.change - t->mu + t->kd * s.swell;
    return s;
}

/* The change of G along x. */
static mat gradient_change(const strain *s, const mat *x)
{
    const vec3 normal = v3_plus(v3_cross(x->c[0], s->f.c[1]), v3_cross(s->f.c[0], x->c[1]));
    const vec3 n = v3_times(1 / s->size, v3_along(normal, -v3_dot(s->n, normal), s->n));
    const vec3 turned = v3_dot(s->n, s->n) > 0 ? n : (vec3){0, 0, 0};
    return (mat){{v3_plus(v3_cross(x->c[1], s->n), v3_cross(s->f.c[1], turned)),
                  v3_plus(v3_cross(turned, s->f.c[0]), v3_cross(s->n, x->c[0]))}};
}

void fem_triangle_force(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3],
                        const vec3 u[3], vec3 f[3])
{
    const strain s = strain_of(r, t, q, u);
    const mat p = combine(t->mu, &s.f, s.h, &s.g);
    scatter(r->inverse, -r->area, &p, f);
}

void fem_triangle_vjp(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3], const vec3 u[3],
                      const vec3 fb[3], vec3 qb[3], vec3 ub[3], fem_triangle_law *bar)
{
    const strain s = strain_of(r, t, q, u);
    const mat b = gradient(r->inverse, fb), db = gradient_change(&s, &b),
              drate = gradient_change(&s, &s.rate);
    const double gb = inner(&s.g, &b);
    mat pq = combine(t->mu, &b, t->lambda * gb, &s.g);
    add(&pq, s.h, &db);
    add(&pq, t->kd * gb, &drate);
    scatter(r->inverse, -r->area, &pq, qb);
    scatter(r->inverse, -r->area * t->kd * gb, &s.g, ub);
    *bar = (fem_triangle_law){.mu = -r->area * (inner(&s.f, &b) - gb),
                              .lambda = -r->area * s.change * gb,
                              .kd = -r->area * s.swell * gb,
                              .act = -r->area * t->lambda * gb};
}

void fem_triangle_jvp(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3], const vec3 u[3],
                      const vec3 dq[3], const vec3 du[3], const fem_triangle_law *dot, vec3 df[3])
{
    const strain s = strain_of(r, t, q, u);
    const mat x = gradient(r->inverse, dq), v = gradient(r->inverse, du), dg = gradient_change(&s, &x);
    const double dh = dot->lambda * s.change + t->lambda * (inner(&s.g, &x) + dot->act) - dot->mu +
                      dot->kd * s.swell + t->kd * (inner(&dg, &s.rate) + inner(&s.g, &v));
    mat dp = combine(t->mu, &x, dot->mu, &s.f);
    add(&dp, dh, &s.g);
    add(&dp, s.h, &dg);
    scatter(r->inverse, -r->area, &dp, df);
}

double fem_triangle_energy(const fem_triangle_rest *r, const fem_triangle_law *t, const vec3 q[3])
{
    const vec3 rest[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    const strain s = strain_of(r, t, q, rest);
    /* lambda/2 (J - 1 - mu/lambda + act)^2, minus a constant */
    return r->area * (t->mu / 2 * inner(&s.f, &s.f) + s.change * (t->lambda / 2 * s.change - t->mu));
}

/* ---- the air ---- */

typedef struct wind {
    vec3 v, n;    /* velocity of the triangle in the air; its normal, twice the area long */
    double s;     /* v . v */
    double eta;   /* n . v */
    double angle; /* asin of the cosine between v and n */
    vec3 by_n, by_v;
    int still; /* no velocity or no area: no force */
} wind;

static wind wind_of(const vec3 air, const vec3 q[3], const vec3 u[3])
{
    wind w = {.v = v3_minus(v3_times(1.0 / 3, v3_plus(v3_plus(u[0], u[1]), u[2])), air),
              .n = v3_cross(v3_minus(q[1], q[0]), v3_minus(q[2], q[0]))};
    w.s = v3_dot(w.v, w.v);
    w.eta = v3_dot(w.n, w.v);
    const double size = v3_length(w.n) * sqrt(w.s);
    w.still = !(size > 0);
    if (w.still) {
        return w;
    }
    /* The sine between v and n is the part of v across n, because 1 - ch^2 loses all digits for parallel
     * vectors. */
    const double nn = v3_dot(w.n, w.n), ch = fmax(-1, fmin(1, w.eta / size));
    const vec3 across = v3_along(v3_times(sqrt(nn) / size, w.v), -ch / sqrt(nn), w.n);
    const double root = sqrt(fmax(v3_dot(across, across), 1e-24));
    w.angle = asin(ch);
    w.by_n = v3_times(1 / root, v3_along(v3_times(1 / size, w.v), -ch / nn, w.n));
    w.by_v = v3_times(1 / root, v3_along(v3_times(1 / size, w.n), -ch / w.s, w.v));
    return w;
}

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

void fem_air_force(const fem_air_law *a, const vec3 q[3], const vec3 u[3], vec3 f[3])
{
    const wind w = wind_of(a->wind, q, u);
    const vec3 push =
        v3_along(v3_times(-0.5 * a->drag * fabs(w.eta), w.v), -0.5 * a->lift * w.angle * w.s, w.n);
    for (int i = 0; i < 3; i++) {
        f[i] = w.still ? (vec3){0, 0, 0} : push;
    }
}

void fem_air_vjp(const fem_air_law *a, const vec3 q[3], const vec3 u[3], const vec3 fb[3], vec3 qb[3],
                 vec3 ub[3], fem_air_law *bar)
{
    const wind w = wind_of(a->wind, q, u);
    const vec3 b = v3_plus(v3_plus(fb[0], fb[1]), fb[2]);
    const double nb = v3_dot(w.n, b), vb = v3_dot(w.v, b), up = sign(w.eta);
    vec3 n_bar = v3_times(a->drag * up * vb, w.v), v_bar;
    n_bar = v3_along(n_bar, a->lift * w.s, v3_along(v3_times(w.angle, b), nb, w.by_n));
    v_bar = v3_times(a->drag, v3_along(v3_times(up * vb, w.n), fabs(w.eta), b));
    v_bar = v3_along(v_bar, a->lift * nb, v3_along(v3_times(2 * w.angle, w.v), w.s, w.by_v));
    n_bar = v3_times(w.still ? 0 : -0.5, n_bar);
    v_bar = v3_times(w.still ? 0 : -0.5 / 3, v_bar);
    qb[1] = v3_cross(v3_minus(q[2], q[0]), n_bar);
    qb[2] = v3_cross(n_bar, v3_minus(q[1], q[0]));
    qb[0] = v3_times(-1, v3_plus(qb[1], qb[2]));
    ub[0] = ub[1] = ub[2] = v_bar;
    *bar = (fem_air_law){.drag = w.still ? 0 : -0.5 * fabs(w.eta) * vb,
                         .lift = w.still ? 0 : -0.5 * w.angle * w.s * nb,
                         .wind = v3_times(-3, v_bar)};
}

void fem_air_jvp(const fem_air_law *a, const vec3 q[3], const vec3 u[3], const vec3 dq[3], const vec3 du[3],
                 const fem_air_law *dot, vec3 df[3])
{
    const wind w = wind_of(a->wind, q, u);
    const vec3 e1 = v3_minus(q[1], q[0]), e2 = v3_minus(q[2], q[0]), d1 = v3_minus(dq[1], dq[0]),
               d2 = v3_minus(dq[2], dq[0]);
    const vec3 dn = v3_plus(v3_cross(d1, e2), v3_cross(e1, d2));
    const vec3 dv = v3_minus(v3_times(1.0 / 3, v3_plus(v3_plus(du[0], du[1]), du[2])), dot->wind);
    const double deta = v3_dot(dn, w.v) + v3_dot(w.n, dv), ds = 2 * v3_dot(w.v, dv);
    const double dangle = v3_dot(w.by_n, dn) + v3_dot(w.by_v, dv);
    const double by_v = dot->drag * fabs(w.eta) + a->drag * sign(w.eta) * deta;
    const double by_n = dot->lift * w.angle * w.s + a->lift * (dangle * w.s + w.angle * ds);
    vec3 push = v3_along(v3_times(by_v, w.v), a->drag * fabs(w.eta), dv);
    push = v3_along(v3_along(push, by_n, w.n), a->lift * w.angle * w.s, dn);
    for (int i = 0; i < 3; i++) {
        df[i] = v3_times(w.still ? 0 : -0.5, push);
    }
}
