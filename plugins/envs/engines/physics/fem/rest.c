/* SPDX-License-Identifier: Apache-2.0 */
/* rest.c - elements from a shape at rest, and derivatives by it (see rest.h).
 *
 * An element with the edges D at rest and B = D^-1 has F = d B, where d are its present edges, and the forces
 * f = -V P(F) B'. A change of D changes B by T B with T = -B dD and the size V by -V tr T. The forces then
 * change as if the edges and their velocities changed by d T, plus f T' - f tr T: the derivatives follow from
 * those by the state (law.h). Likewise for triangles, with D in their plane. */
#include "engines/physics/fem/rest.h"

#include "engines/physics/fem/plain.h"

#include <math.h>

/* An element of `n` edges at corner 0: state, forces and their derivatives at its corners. */
typedef struct element {
    vec3 q[4], u[4], f[4], fb[4], qb[4], ub[4];
} element;

typedef double transform[3][3];

/* ---- setting elements ---- */

static int within(const uint32_t *v, size_t corners, size_t first, size_t count)
{
    size_t c = 0;
    while (c < corners && v[c] >= first && v[c] - first < count) {
        c++;
    }
    return c == corners;
}

void fem_rest_set(fem_model *m, size_t first, size_t count)
{
    const double *x = m->rest;
    for (size_t t = 0; t < m->tets; t++) {
        const uint32_t *v = m->tet + 4 * t;
        if (within(v, 4, first, count)) {
            m->tet_volume[t] = fem_rest_tet(x + 3 * (size_t)v[0], x + 3 * (size_t)v[1], x + 3 * (size_t)v[2],
                                            x + 3 * (size_t)v[3], m->tet_inverse + 9 * t);
        }
    }
    for (size_t t = 0; t < m->triangles; t++) {
        const uint32_t *v = m->triangle + 3 * t;
        if (within(v, 3, first, count)) {
            m->triangle_area[t] = fem_rest_triangle(x + 3 * (size_t)v[0], x + 3 * (size_t)v[1],
                                                    x + 3 * (size_t)v[2], m->triangle_inverse + 4 * t);
        }
    }
    for (size_t e = 0; e < m->edges; e++) {
        const uint32_t *v = m->edge + 4 * e;
        if (within(v, 4, first, count)) {
            const vec3 along = v3_minus(v3(x + 3 * (size_t)v[3]), v3(x + 3 * (size_t)v[2]));
            m->edge_length[e] = v3_length(along);
        }
    }
}

/* ---- the transformation of an element ---- */

static void take_state(const fem_set *s, size_t i, size_t corners, const double *state, element *e)
{
    take(s, i, corners, state, FEM_WIDTH, e->q);
    take(s, i, corners, state + 4, FEM_WIDTH, e->u);
}

/* Derivatives by T. */
static void transform_bar(const element *e, int edges, transform bar)
{
    double work = 0;
    for (int a = 0; a < edges; a++) {
        const vec3 fb = v3_minus(e->fb[a + 1], e->fb[0]), d = v3_minus(e->q[a + 1], e->q[0]),
                   w = v3_minus(e->u[a + 1], e->u[0]);
        for (int b = 0; b < edges; b++) {
            bar[a][b] = v3_dot(d, e->qb[b + 1]) + v3_dot(w, e->ub[b + 1]) + v3_dot(fb, e->f[b + 1]);
        }
        work += v3_dot(fb, e->f[a + 1]);
    }
    for (int a = 0; a < edges; a++) {
        bar[a][a] -= work;
    }
}

/* The changes of state along T, as those of corners 1, 2, ... */
static void transform_state(const element *e, int edges, transform along, vec3 dq[4], vec3 du[4])
{
    for (int b = 0; b <= edges; b++) {
        dq[b] = du[b] = (vec3){0, 0, 0};
        for (int a = 0; a < edges && b > 0; a++) {
            dq[b] = v3_along(dq[b], along[a][b - 1], v3_minus(e->q[a + 1], e->q[0]));
            du[b] = v3_along(du[b], along[a][b - 1], v3_minus(e->u[a + 1], e->u[0]));
        }
    }
}

/* Adds f T' - f tr T to the change of the forces. */
static void transform_force(const element *e, int edges, transform along, vec3 df[4])
{
    double trace = 0;
    for (int a = 0; a < edges; a++) {
        trace += along[a][a];
    }
    for (int a = 0; a < edges; a++) {
        vec3 change = v3_times(-trace, e->f[a + 1]);
        for (int b = 0; b < edges; b++) {
            change = v3_along(change, along[a][b], e->f[b + 1]);
        }
        df[a + 1] = v3_plus(df[a + 1], change);
        df[0] = v3_minus(df[0], change);
    }
}

/* rows[a] . dD_b = -T_ab, by columns of D in space. */
static void rows_of_tet(const fem_tet_rest *r, vec3 rows[3])
{
    for (int a = 0; a < 3; a++) {
        rows[a] = v3(r->inverse + 3 * a);
    }
}

/* The edges at rest are E B^-1 D with orthonormal columns E B in space. */
static void rows_of_triangle(const fem_triangle_rest *r, const vec3 x[3], vec3 rows[3])
{
    const double *b = r->inverse;
    const vec3 e0 = v3_minus(x[1], x[0]), e1 = v3_minus(x[2], x[0]);
    const vec3 q0 = v3_along(v3_times(b[0], e0), b[2], e1), q1 = v3_along(v3_times(b[1], e0), b[3], e1);
    rows[0] = v3_along(v3_times(b[0], q0), b[1], q1);
    rows[1] = v3_along(v3_times(b[2], q0), b[3], q1);
}

static void give_rest_bar(const fem_set *s, size_t i, int edges, const vec3 rows[3], transform bar,
                          double *rest_bar)
{
    vec3 out[4] = {{0, 0, 0}};
    for (int b = 0; b < edges; b++) {
        out[b + 1] = (vec3){0, 0, 0};
        for (int a = 0; a < edges; a++) {
            out[b + 1] = v3_along(out[b + 1], -bar[a][b], rows[a]);
        }
        out[0] = v3_minus(out[0], out[b + 1]);
    }
    give(s, i, (size_t)edges + 1, out, rest_bar, 3);
}

static void transform_of(const fem_set *s, size_t i, int edges, const vec3 rows[3], const double *rest_dot,
                         transform out)
{
    vec3 dx[4];
    take(s, i, (size_t)edges + 1, rest_dot, 3, dx);
    for (int a = 0; a < edges; a++) {
        for (int b = 0; b < edges; b++) {
            out[a][b] = -v3_dot(rows[a], v3_minus(dx[b + 1], dx[0]));
        }
    }
}

static double work_of(const element *e, int corners)
{
    double sum = 0;
    for (int c = 0; c < corners; c++) {
        sum += v3_dot(e->fb[c], e->f[c]);
    }
    return sum;
}

/* ---- reverse ---- */

static void tets_vjp(const fem_pack *p, const double *state, const double *fb, double *rest_bar)
{
    for (size_t i = 0; i < p->tet.count; i++) {
        const fem_tet_rest rest = tet_rest(p, i);
        const fem_tet_law law = tet_law(p, i);
        fem_tet_law by;
        element e;
        transform bar;
        vec3 rows[3];
        take_state(&p->tet, i, 4, state, &e);
        take(&p->tet, i, 4, fb, 4, e.fb);
        fem_tet_force(&rest, &law, e.q, e.u, e.f);
        fem_tet_vjp(&rest, &law, e.q, e.u, e.fb, e.qb, e.ub, &by);
        transform_bar(&e, 3, bar);
        rows_of_tet(&rest, rows);
        give_rest_bar(&p->tet, i, 3, rows, bar, rest_bar);
    }
}

static void triangles_vjp(const fem_pack *p, const fem_model *m, const double *state, const double *fb,
                          fem_variation *to)
{
    for (size_t i = 0; i < p->triangle.count; i++) {
        const fem_triangle_rest rest = triangle_rest(p, i);
        const fem_triangle_law law = triangle_law(p, i);
        fem_triangle_law by;
        element e;
        transform bar;
        vec3 rows[3], x[3];
        take_state(&p->triangle, i, 3, state, &e);
        take(&p->triangle, i, 3, fb, 4, e.fb);
        fem_triangle_force(&rest, &law, e.q, e.u, e.f);
        to->triangle_factor[i] += work_of(&e, 3) / m->triangle_factor[i];
        if (m->rest == NULL) {
            continue;
        }
        fem_triangle_vjp(&rest, &law, e.q, e.u, e.fb, e.qb, e.ub, &by);
        transform_bar(&e, 2, bar);
        take(&p->triangle, i, 3, m->rest, 3, x);
        rows_of_triangle(&rest, x, rows);
        give_rest_bar(&p->triangle, i, 2, rows, bar, to->rest);
    }
}

/* Unit vector along the edge at rest. */
static vec3 edge_way(const fem_pack *p, const fem_model *m, size_t i)
{
    vec3 x[4];
    take(&p->edge, i, 4, m->rest, 3, x);
    return v3_times(1 / m->edge_length[i], v3_minus(x[3], x[2]));
}

static void edges_vjp(const fem_pack *p, const fem_model *m, const double *state, const double *fb,
                      fem_variation *to)
{
    for (size_t i = 0; i < p->edge.count; i++) {
        const fem_edge_law law = edge_law(p, i);
        element e;
        take_state(&p->edge, i, 4, state, &e);
        take(&p->edge, i, 4, fb, 4, e.fb);
        fem_edge_force(edge_length(p, i), &law, e.q, e.u, e.f);
        const double work = work_of(&e, 4);
        to->edge_factor[i] += work / m->edge_factor[i];
        if (m->rest != NULL) {
            const vec3 way = v3_times(work / m->edge_length[i], edge_way(p, m, i)), none = {0, 0, 0};
            const vec3 out[4] = {none, none, v3_times(-1, way), way};
            give(&p->edge, i, 4, out, to->rest, 3);
        }
    }
}

void fem_rest_vjp(const fem_pack *p, const fem_model *m, const double *state, const double *fb,
                  fem_variation *bar)
{
    if (m->rest != NULL) {
        tets_vjp(p, state, fb, bar->rest);
    }
    triangles_vjp(p, m, state, fb, bar);
    edges_vjp(p, m, state, fb, bar);
}

/* ---- tangent ---- */

static void tets_jvp(const fem_pack *p, const double *state, const double *rest_dot, double *force_dot)
{
    static const fem_tet_law none = {0};
    for (size_t i = 0; i < p->tet.count; i++) {
        const fem_tet_rest rest = tet_rest(p, i);
        const fem_tet_law law = tet_law(p, i);
        element e;
        transform along;
        vec3 rows[3], dq[4], du[4], df[4];
        take_state(&p->tet, i, 4, state, &e);
        fem_tet_force(&rest, &law, e.q, e.u, e.f);
        rows_of_tet(&rest, rows);
        transform_of(&p->tet, i, 3, rows, rest_dot, along);
        transform_state(&e, 3, along, dq, du);
        fem_tet_jvp(&rest, &law, e.q, e.u, dq, du, &none, df);
        transform_force(&e, 3, along, df);
        give(&p->tet, i, 4, df, force_dot, 4);
    }
}

static void triangles_jvp(const fem_pack *p, const fem_model *m, const double *state,
                          const fem_variation *dot, double *force_dot)
{
    static const fem_triangle_law none = {0};
    for (size_t i = 0; i < p->triangle.count; i++) {
        const fem_triangle_rest rest = triangle_rest(p, i);
        const fem_triangle_law law = triangle_law(p, i);
        element e;
        transform along;
        vec3 rows[3], x[3], dq[4], du[4], df[4] = {{0, 0, 0}};
        take_state(&p->triangle, i, 3, state, &e);
        fem_triangle_force(&rest, &law, e.q, e.u, e.f);
        if (m->rest != NULL) {
            take(&p->triangle, i, 3, m->rest, 3, x);
            rows_of_triangle(&rest, x, rows);
            transform_of(&p->triangle, i, 2, rows, dot->rest, along);
            transform_state(&e, 2, along, dq, du);
            fem_triangle_jvp(&rest, &law, e.q, e.u, dq, du, &none, df);
            transform_force(&e, 2, along, df);
        }
        for (int c = 0; c < 3; c++) {
            df[c] = v3_along(df[c], dot->triangle_factor[i] / m->triangle_factor[i], e.f[c]);
        }
        give(&p->triangle, i, 3, df, force_dot, 4);
    }
}

static void edges_jvp(const fem_pack *p, const fem_model *m, const double *state, const fem_variation *dot,
                      double *force_dot)
{
    for (size_t i = 0; i < p->edge.count; i++) {
        const fem_edge_law law = edge_law(p, i);
        double change = dot->edge_factor[i] / m->edge_factor[i];
        element e;
        vec3 dx[4], df[4];
        take_state(&p->edge, i, 4, state, &e);
        fem_edge_force(edge_length(p, i), &law, e.q, e.u, e.f);
        if (m->rest != NULL) {
            take(&p->edge, i, 4, dot->rest, 3, dx);
            change += v3_dot(edge_way(p, m, i), v3_minus(dx[3], dx[2])) / m->edge_length[i];
        }
        for (int c = 0; c < 4; c++) {
            df[c] = v3_times(change, e.f[c]);
        }
        give(&p->edge, i, 4, df, force_dot, 4);
    }
}

void fem_rest_jvp(const fem_pack *p, const fem_model *m, const double *state, const fem_variation *dot,
                  double *force_dot)
{
    if (m->rest != NULL) {
        tets_jvp(p, state, dot->rest, force_dot);
    }
    triangles_jvp(p, m, state, dot, force_dot);
    edges_jvp(p, m, state, dot, force_dot);
}

/* ---- sizes ---- */

static vec3 rest_point(const fem_model *m, uint32_t i)
{
    return v3(m->rest + 3 * (size_t)i);
}

static void add_to(double *to, uint32_t i, vec3 x)
{
    to[3 * (size_t)i] += x.x;
    to[3 * (size_t)i + 1] += x.y;
    to[3 * (size_t)i + 2] += x.z;
}

/* The relative change of the size of an element is the sum of rows[b] . dD_b. */
static void rows_at_rest(const fem_model *m, int tet, size_t t, vec3 rows[3])
{
    if (tet) {
        for (int a = 0; a < 3; a++) {
            rows[a] = v3(m->tet_inverse + 9 * t + 3 * a);
        }
        return;
    }
    const uint32_t *v = m->triangle + 3 * t;
    fem_triangle_rest r = {.area = m->triangle_area[t]};
    for (int k = 0; k < 4; k++) {
        r.inverse[k] = m->triangle_inverse[4 * t + (size_t)k];
    }
    rows_of_triangle(&r, (const vec3[3]){rest_point(m, v[0]), rest_point(m, v[1]), rest_point(m, v[2])},
                     rows);
}

void fem_rest_size_vjp(const fem_model *m, int tet, size_t t, double size_bar, double *rest_bar)
{
    const uint32_t *v = tet ? m->tet + 4 * t : m->triangle + 3 * t;
    const double by = size_bar * (tet ? m->tet_volume[t] : m->triangle_area[t]);
    vec3 rows[3];
    rows_at_rest(m, tet, t, rows);
    for (int b = 0; b < (tet ? 3 : 2); b++) {
        add_to(rest_bar, v[b + 1], v3_times(by, rows[b]));
        add_to(rest_bar, v[0], v3_times(-by, rows[b]));
    }
}

double fem_rest_size_jvp(const fem_model *m, int tet, size_t t, const double *rest_dot)
{
    const uint32_t *v = tet ? m->tet + 4 * t : m->triangle + 3 * t;
    double sum = 0;
    vec3 rows[3];
    rows_at_rest(m, tet, t, rows);
    for (int b = 0; b < (tet ? 3 : 2); b++) {
        sum +=
            v3_dot(rows[b], v3_minus(v3(rest_dot + 3 * (size_t)v[b + 1]), v3(rest_dot + 3 * (size_t)v[0])));
    }
    return sum * (tet ? m->tet_volume[t] : m->triangle_area[t]);
}
