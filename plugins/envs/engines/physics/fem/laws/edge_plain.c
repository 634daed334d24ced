/* SPDX-License-Identifier: Apache-2.0 */
/* edge_plain.c - springs, and bending about the edge between two triangles: linear in the dihedral angle,
 * with its exact gradient (R. Bridson et al., Simulation of Clothing with Folds and Wrinkles, SCA 2003, use
 * the sine of half the angle along the same gradient). */
#include "law.h"

#include <string.h>

/* ---- springs ---- */

typedef struct stretch {
    vec3 d, w;      /* direction, relative velocity */
    double l, s, h; /* length, its rate, the force */
} stretch;

static stretch stretch_of(const fem_spring_law *p, const vec3 q[2], const vec3 u[2])
{
    const vec3 e = v3_minus(q[0], q[1]);
    stretch s = {.w = v3_minus(u[0], u[1]), .l = v3_length(e)};
    if (s.l > 0) {
        s.d = v3_times(1 / s.l, e);
        s.s = v3_dot(s.d, s.w);
        s.h = p->ke * (s.l - p->rest) + p->kd * s.s;
    }
    return s;
}

static void opposite(vec3 first, vec3 out[2])
{
    out[0] = first;
    out[1] = v3_times(-1, first);
}

void fem_spring_force(const fem_spring_law *p, const vec3 q[2], const vec3 u[2], vec3 f[2])
{
    const stretch s = stretch_of(p, q, u);
    opposite(v3_times(-s.h, s.d), f);
}

void fem_spring_vjp(const fem_spring_law *p, const vec3 q[2], const vec3 u[2], const vec3 fb[2], vec3 qb[2],
                    vec3 ub[2], fem_spring_law *bar)
{
    const stretch s = stretch_of(p, q, u);
    const vec3 b = v3_minus(fb[0], fb[1]);
    const double db = v3_dot(s.d, b), over = s.l > 0 ? 1 / s.l : 0;
    const vec3 bt = v3_times(over, v3_along(b, -db, s.d)), vt = v3_times(over, v3_along(s.w, -s.s, s.d));
    const vec3 pull = v3_along(v3_times(p->ke, s.d), p->kd, vt);
    opposite(v3_times(-1, v3_along(v3_times(db, pull), s.h, bt)), qb);
    opposite(v3_times(-p->kd * db, s.d), ub);
    *bar = (fem_spring_law){.ke = s.l > 0 ? -(s.l - p->rest) * db : 0, .kd = -s.s * db, .rest = p->ke * db};
}

void fem_spring_jvp(const fem_spring_law *p, const vec3 q[2], const vec3 u[2], const vec3 dq[2],
                    const vec3 du[2], const fem_spring_law *dot, vec3 df[2])
{
    const stretch s = stretch_of(p, q, u);
    const vec3 e = v3_minus(dq[0], dq[1]);
    const double dl = v3_dot(s.d, e), over = s.l > 0 ? 1 / s.l : 0;
    const vec3 turn = v3_times(over, v3_along(e, -dl, s.d));
    const double ds = v3_dot(turn, s.w) + v3_dot(s.d, v3_minus(du[0], du[1]));
    const double dh = dot->ke * (s.l - p->rest) + p->ke * (dl - dot->rest) + dot->kd * s.s + p->kd * ds;
    opposite(v3_times(-1, v3_along(v3_times(dh, s.d), s.h, turn)), df);
}

/* ---- bending ---- */

/* Corners 0 and 1 are opposite, 2 and 3 on the edge; n1 = (x2 - x0) x (x3 - x0), n2 = (x3 - x1) x (x2
 * - x1). */
typedef struct hinge {
    vec3 a[2], b[2]; /* the edge vectors whose products are the normals */
    vec3 m[2];       /* normals over their squared lengths */
    double over[2];  /* 1 over these */
    vec3 along;      /* unit vector of the edge */
    double length, angle;
    vec3 d[4]; /* gradient of the angle */
} hinge;

static hinge hinge_of(const vec3 x[4])
{
    hinge g = {.a = {v3_minus(x[2], x[0]), v3_minus(x[3], x[1])},
               .b = {v3_minus(x[3], x[0]), v3_minus(x[2], x[1])}};
    const vec3 e = v3_minus(x[3], x[2]), n1 = v3_cross(g.a[0], g.b[0]), n2 = v3_cross(g.a[1], g.b[1]);
    g.over[0] = 1 / fmax(v3_dot(n1, n1), 1e-300);
    g.over[1] = 1 / fmax(v3_dot(n2, n2), 1e-300);
    g.m[0] = v3_times(g.over[0], n1);
    g.m[1] = v3_times(g.over[1], n2);
    g.length = fmax(v3_length(e), 1e-150);
    g.along = v3_times(1 / g.length, e);
    g.angle = atan2(v3_dot(v3_cross(n2, n1), g.along), v3_dot(n1, n2));
    g.d[0] = v3_times(g.length, g.m[0]);
    g.d[1] = v3_times(g.length, g.m[1]);
    g.d[2] = v3_along(v3_times(-v3_dot(g.b[0], g.along), g.m[0]), -v3_dot(g.a[1], g.along), g.m[1]);
    g.d[3] = v3_along(v3_times(v3_dot(g.a[0], g.along), g.m[0]), v3_dot(g.b[1], g.along), g.m[1]);
    return g;
}

double fem_edge_angle(const vec3 x[4])
{
    return hinge_of(x).angle;
}

/* Change of normal / squared length of one side, when its edge vectors change by da, db. */
static vec3 normal_change(const hinge *g, int side, vec3 da, vec3 db)
{
    const vec3 n = v3_plus(v3_cross(da, g->b[side]), v3_cross(g->a[side], db));
    return v3_along(v3_times(g->over[side], n), -2 * v3_dot(g->m[side], n), g->m[side]);
}

/* The Hessian of the angle times y. */
static void hessian(const hinge *g, const vec3 y[4], vec3 out[4])
{
    const vec3 de = v3_minus(y[3], y[2]);
    const double dl = v3_dot(g->along, de);
    const vec3 turn = v3_times(1 / g->length, v3_along(de, -dl, g->along));
    const vec3 da[2] = {v3_minus(y[2], y[0]), v3_minus(y[3], y[1])},
               db[2] = {v3_minus(y[3], y[0]), v3_minus(y[2], y[1])};
    out[2] = out[3] = (vec3){0, 0, 0};
    for (int side = 0; side < 2; side++) {
        const vec3 dm = normal_change(g, side, da[side], db[side]), *m = &g->m[side];
        /* from corner 2 and from corner 3 to the opposite one */
        const vec3 *to2 = side == 0 ? g->a : &g->b[1], *to3 = side == 0 ? g->b : &g->a[1];
        const vec3 *d2 = side == 0 ? da : &db[1], *d3 = side == 0 ? db : &da[1];
        const double s3 = v3_dot(*to3, g->along), s2 = v3_dot(*to2, g->along);
        const double ds3 = v3_dot(*d3, g->along) + v3_dot(*to3, turn),
                     ds2 = v3_dot(*d2, g->along) + v3_dot(*to2, turn);
        out[side] = v3_along(v3_times(dl, *m), g->length, dm);
        out[2] = v3_along(v3_along(out[2], -s3, dm), -ds3, *m);
        out[3] = v3_along(v3_along(out[3], s2, dm), ds2, *m);
    }
}

static double along_gradient(const hinge *g, const vec3 y[4])
{
    return v3_dot(g->d[0], y[0]) + v3_dot(g->d[1], y[1]) + v3_dot(g->d[2], y[2]) + v3_dot(g->d[3], y[3]);
}

void fem_edge_force(double length, const fem_edge_law *e, const vec3 x[4], const vec3 u[4], vec3 f[4])
{
    const hinge g = hinge_of(x);
    const double h = e->ke * (g.angle - e->rest) + e->kd * along_gradient(&g, u);
    for (int i = 0; i < 4; i++) {
        f[i] = v3_times(-length * h, g.d[i]);
    }
}

void fem_edge_vjp(double length, const fem_edge_law *e, const vec3 x[4], const vec3 u[4], const vec3 fb[4],
                  vec3 qb[4], vec3 ub[4], fem_edge_law *bar)
{
    const hinge g = hinge_of(x);
    const double rate = along_gradient(&g, u), beta = along_gradient(&g, fb);
    const double h = e->ke * (g.angle - e->rest) + e->kd * rate;
    vec3 by_fb[4], by_u[4];
    hessian(&g, fb, by_fb);
    hessian(&g, u, by_u);
    for (int i = 0; i < 4; i++) {
        const vec3 sum =
            v3_along(v3_along(v3_times(e->ke * beta, g.d[i]), h, by_fb[i]), e->kd * beta, by_u[i]);
        qb[i] = v3_times(-length, sum);
        ub[i] = v3_times(-length * e->kd * beta, g.d[i]);
    }
    *bar = (fem_edge_law){.ke = -length * (g.angle - e->rest) * beta,
                          .kd = -length * rate * beta,
                          .rest = length * e->ke * beta};
}

void fem_edge_jvp(double length, const fem_edge_law *e, const vec3 x[4], const vec3 u[4], const vec3 dx[4],
                  const vec3 du[4], const fem_edge_law *dot, vec3 df[4])
{
    hinge g = hinge_of(x), turned = g;
    const double rate = along_gradient(&g, u), h = e->ke * (g.angle - e->rest) + e->kd * rate;
    hessian(&g, dx, turned.d);
    const double drate = along_gradient(&turned, u) + along_gradient(&g, du);
    const double dh = dot->ke * (g.angle - e->rest) + e->ke * (along_gradient(&g, dx) - dot->rest) +
                      dot->kd * rate + e->kd * drate;
    for (int i = 0; i < 4; i++) {
        df[i] = v3_times(-length, v3_along(v3_times(dh, g.d[i]), h, turned.d[i]));
    }
}
