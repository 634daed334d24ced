/* SPDX-License-Identifier: Apache-2.0 */
/* tet_plain.c - stable neo-Hookean tetrahedra with activation and damping (B. Smith et al., Stable
 * Neo-Hookean Flesh Simulation, ACM Trans. Graph. 37(2), 2018; damping and activation as in gradSim). */
#include "law.h"

/* Matrices as three columns. */
typedef struct mat {
    vec3 c[3];
} mat;

/* The columns of (x1 - x0, x2 - x0, x3 - x0) B. */
static mat gradient(const double *b, const vec3 x[4])
{
    const vec3 e[3] = {v3_minus(x[1], x[0]), v3_minus(x[2], x[0]), v3_minus(x[3], x[0])};
    mat out;
    for (int k = 0; k < 3; k++) {
        out.c[k] = v3_along(v3_along(v3_times(b[k], e[0]), b[3 + k], e[1]), b[6 + k], e[2]);
    }
    return out;
}

/* The columns of s P B^T to the vertices 1, 2, 3, minus their sum to vertex 0. */
static void scatter(const double *b, double s, const mat *p, vec3 out[4])
{
    out[0] = (vec3){0, 0, 0};
    for (int i = 0; i < 3; i++) {
        const double *row = b + 3 * i;
        vec3 h = v3_along(v3_along(v3_times(row[0], p->c[0]), row[1], p->c[1]), row[2], p->c[2]);
        out[i + 1] = v3_times(s, h);
        out[0] = v3_minus(out[0], out[i + 1]);
    }
}

static double inner(const mat *a, const mat *b)
{
    return v3_dot(a->c[0], b->c[0]) + v3_dot(a->c[1], b->c[1]) + v3_dot(a->c[2], b->c[2]);
}

/* a x + b y */
static mat combine(double a, const mat *x, double b, const mat *y)
{
    mat out;
    for (int k = 0; k < 3; k++) {
        out.c[k] = v3_along(v3_times(a, x->c[k]), b, y->c[k]);
    }
    return out;
}

static void add(mat *to, double a, const mat *x)
{
    *to = combine(1, to, a, x);
}

static mat cofactor(const mat *f)
{
    return (mat){{v3_cross(f->c[1], f->c[2]), v3_cross(f->c[2], f->c[0]), v3_cross(f->c[0], f->c[1])}};
}

/* The change of the cofactor of f along x. */
static mat cofactor_change(const mat *f, const mat *x)
{
    mat out;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out.c[i] = v3_plus(v3_cross(x->c[j], f->c[k]), v3_cross(f->c[j], x->c[k]));
    }
    return out;
}

/* Common terms of force and derivatives. */
typedef struct strain {
    mat f, rate, g; /* F, dF/dt, dJ/dF */
    double stretch; /* 1 - 1/(Ic + 1) */
    double bend;    /* 2/(Ic + 1)^2 */
    double change;  /* J - 1 + act */
    double swell;   /* dJ/dt */
    double h;       /* the factor of G in P */
} strain;

static strain strain_of(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4])
{
    strain s = {.f = gradient(r->inverse, q), .rate = gradient(r->inverse, u)};
    const double one = inner(&s.f, &s.f) + 1;
    s.g = cofactor(&s.f);
    s.stretch = 1 - 1 / one;
    s.bend = 2 / (one * one);
    s.change = v3_dot(s.f.c[0], s.g.c[0]) - 1 + t->act;
    s.swell = inner(&s.g, &s.rate);
    s.h = t->lambda * s.change - 0.75 * t->mu + t->kd * s.swell;
    return s;
}

void fem_tet_force(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4], vec3 f[4])
{
    const strain s = strain_of(r, t, q, u);
    mat p = combine(t->mu * s.stretch, &s.f, t->kd, &s.rate);
    add(&p, s.h, &s.g);
    scatter(r->inverse, -r->volume, &p, f);
}

void fem_tet_vjp(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4],
                 const vec3 fb[4], vec3 qb[4], vec3 ub[4], fem_tet_law *bar)
{
    const strain s = strain_of(r, t, q, u);
    const mat b = gradient(r->inverse, fb);
    const double gb = inner(&s.g, &b), fbf = inner(&s.f, &b);
    mat pq = combine(t->mu * s.stretch, &b, t->mu * s.bend * fbf, &s.f);
    const mat db = cofactor_change(&s.f, &b), drate = cofactor_change(&s.f, &s.rate);
    add(&pq, t->lambda * gb, &s.g);
    add(&pq, s.h, &db);
    add(&pq, t->kd * gb, &drate);
    const mat pu = combine(t->kd, &b, t->kd * gb, &s.g);
    scatter(r->inverse, -r->volume, &pq, qb);
    scatter(r->inverse, -r->volume, &pu, ub);
    *bar = (fem_tet_law){.mu = -r->volume * (s.stretch * fbf - 0.75 * gb),
                         .lambda = -r->volume * s.change * gb,
                         .kd = -r->volume * (inner(&s.rate, &b) + s.swell * gb),
                         .act = -r->volume * t->lambda * gb};
}

void fem_tet_jvp(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4], const vec3 u[4],
                 const vec3 dq[4], const vec3 du[4], const fem_tet_law *dot, vec3 df[4])
{
    const strain s = strain_of(r, t, q, u);
    const mat x = gradient(r->inverse, dq), v = gradient(r->inverse, du), dg = cofactor_change(&s.f, &x);
    const double dh = t->lambda * (inner(&s.g, &x) + dot->act) + dot->lambda * s.change - 0.75 * dot->mu +
                      t->kd * (inner(&dg, &s.rate) + inner(&s.g, &v)) + dot->kd * s.swell;
    mat dp = combine(t->mu * s.stretch, &x, t->mu * s.bend * inner(&s.f, &x) + dot->mu * s.stretch, &s.f);
    add(&dp, t->kd, &v);
    add(&dp, dot->kd, &s.rate);
    add(&dp, dh, &s.g);
    add(&dp, s.h, &dg);
    scatter(r->inverse, -r->volume, &dp, df);
}

double fem_tet_energy(const fem_tet_rest *r, const fem_tet_law *t, const vec3 q[4])
{
    const vec3 rest[4] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    const strain s = strain_of(r, t, q, rest);
    const double ic = inner(&s.f, &s.f);
    /* lambda/2 (J - a + act)^2 with a = 1 + 3 mu/(4 lambda), minus the constant that does not exist for
     * lambda = 0 */
    return r->volume * (t->mu / 2 * (ic - 3) - t->mu / 2 * log(ic + 1) +
                        s.change * (t->lambda / 2 * s.change - 0.75 * t->mu));
}
