/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_laws.c - the force laws of single elements: balance, rest, invariance, energy, derivatives against
 * central differences; the kernels of all instruction sets against the scalar laws; recorded values of an
 * independent implementation. */
#include "engines/physics/fem/ground.h"
#include "engines/physics/fem/kernels/kernels.h"
#include "engines/physics/fem/laws/law.h"
#include "engines/physics/fem/mesh.h"
#include "fem_scenes.h"
#include "golden.h"
#include "test.h"
#include "test.h"

#include <diffsim/helper/random.h>
#include <diffsim/helper/random.h>

enum { MOST_CONSTANTS = 5, DRAWS = 20 };

static ds_random random_numbers;

static double uniform(double from, double to)
{
    return from + (to - from) * ds_random_uniform(&random_numbers);
}

static vec3 random_vector(double size)
{
    const double x = uniform(-size, size), y = uniform(-size, size);
    return (vec3){x, y, uniform(-size, size)};
}

/* An element in some state, with the inputs of every law. */
typedef struct sample {
    double constant[MOST_CONSTANTS];
    vec3 q[4], u[4], rest[4];
    fem_triangle_rest triangle;
    fem_tet_rest tet;
    double length; /* rest length of an edge */
} sample;

typedef struct law {
    const char *name;
    int corners, constants;
    int elastic; /* forces sum to 0, have no torque without damping, and ignore a common velocity */
    int damping; /* the constant that damps; -1: none */
    double low[MOST_CONSTANTS], high[MOST_CONSTANTS];
    void (*force)(const sample *s, vec3 f[4]);
    void (*vjp)(const sample *s, const vec3 fb[4], vec3 qb[4], vec3 ub[4], double bar[MOST_CONSTANTS]);
    void (*jvp)(const sample *s, const vec3 dq[4], const vec3 du[4], const double *dot, vec3 df[4]);
    double (*energy)(const sample *s);
} law;

/* The three functions of a law in one form: structures of constants are arrays of doubles. */
#define WRAP(name, type, rest)                                                                               \
    static void name##_f(const sample *s, vec3 f[4])                                                         \
    {                                                                                                        \
        type c;                                                                                              \
        memcpy(&c, s->constant, sizeof c);                                                                   \
        fem_##name##_force(rest &c, s->q, s->u, f);                                                          \
    }                                                                                                        \
    static void name##_b(const sample *s, const vec3 fb[4], vec3 qb[4], vec3 ub[4], double *bar)             \
    {                                                                                                        \
        type c, by;                                                                                          \
        memcpy(&c, s->constant, sizeof c);                                                                   \
        fem_##name##_vjp(rest &c, s->q, s->u, fb, qb, ub, &by);                                              \
        memcpy(bar, &by, sizeof by);                                                                         \
    }                                                                                                        \
    static void name##_d(const sample *s, const vec3 dq[4], const vec3 du[4], const double *dot, vec3 df[4]) \
    {                                                                                                        \
        type c, by;                                                                                          \
        memcpy(&c, s->constant, sizeof c);                                                                   \
        memcpy(&by, dot, sizeof by);                                                                         \
        fem_##name##_jvp(rest &c, s->q, s->u, dq, du, &by, df);                                              \
    }
#define NONE
#define TRIANGLE &s->triangle,
#define TET &s->tet,
#define LENGTH s->length,
WRAP(spring, fem_spring_law, NONE)
WRAP(triangle, fem_triangle_law, TRIANGLE)
WRAP(air, fem_air_law, NONE)
WRAP(edge, fem_edge_law, LENGTH)
WRAP(tet, fem_tet_law, TET)

static double spring_energy(const sample *s)
{
    const double longer = v3_length(v3_minus(s->q[0], s->q[1])) - s->constant[2];
    return s->constant[0] / 2 * longer * longer;
}

static double triangle_energy(const sample *s)
{
    const fem_triangle_law c = {s->constant[0], s->constant[1], 0, s->constant[3]};
    return fem_triangle_energy(&s->triangle, &c, s->q);
}

static double edge_energy(const sample *s)
{
    const double turn = fem_edge_angle(s->q) - s->constant[2];
    return s->length * s->constant[0] / 2 * turn * turn;
}

static double tet_energy(const sample *s)
{
    const fem_tet_law c = {s->constant[0], s->constant[1], 0, s->constant[3]};
    return fem_tet_energy(&s->tet, &c, s->q);
}

static const law laws[] = {
    {"spring", 2, 3, 1, 1, {10, 0.1, 0.5}, {100, 2, 2}, spring_f, spring_b, spring_d, spring_energy},
    {"triangle",
     3,
     4,
     1,
     2,
     {10, 10, 0.1, -0.2},
     {100, 100, 2, 0.2},
     triangle_f,
     triangle_b,
     triangle_d,
     triangle_energy},
    {"air", 3, 5, 0, -1, {0.5, 0.5, -1, -1, -1}, {5, 5, 1, 1, 1}, air_f, air_b, air_d, NULL},
    {"edge", 4, 3, 1, 1, {10, 0.1, -0.5}, {100, 2, 0.5}, edge_f, edge_b, edge_d, edge_energy},
    {"tet", 4, 4, 1, 2, {10, 10, 0.1, -0.2}, {100, 100, 2, 0.2}, tet_f, tet_b, tet_d, tet_energy},
};
enum { LAWS = sizeof laws / sizeof *laws };

static void numbers_of(vec3 a, double out[3])
{
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}

/* A shape at rest near a regular one, deformed and moving. */
static void draw(const law *l, sample *s)
{
    static const vec3 regular[4] = {{0, 0, 0.7}, {1, 0.1, -0.6}, {0.2, 1, 0}, {-0.3, -0.2, 0}};
    double p[4][3];
    for (int i = 0; i < 4; i++) {
        s->rest[i] = v3_plus(regular[i], random_vector(0.1));
        s->q[i] = v3_plus(s->rest[i], random_vector(0.2));
        s->u[i] = random_vector(2);
        numbers_of(s->rest[i], p[i]);
    }
    double ignored;
    s->triangle.area = fem_rest_triangle(p[0], p[1], p[2], s->triangle.inverse);
    s->length = fem_rest_edge(p[0], p[1], p[2], p[3], &ignored);
    s->tet.volume = fem_rest_tet(p[0], p[1], p[2], p[3], s->tet.inverse);
    if (s->tet.volume == 0) { /* inverted */
        memcpy(p[3], p[2], sizeof p[3]);
        numbers_of(s->rest[3], p[2]);
        s->tet.volume = fem_rest_tet(p[0], p[1], p[2], p[3], s->tet.inverse);
        const vec3 swap_q = s->q[2], swap_rest = s->rest[2];
        s->q[2] = s->q[3];
        s->q[3] = swap_q;
        s->rest[2] = s->rest[3];
        s->rest[3] = swap_rest;
        s->triangle.area = fem_rest_triangle(p[0], p[1], p[2], s->triangle.inverse);
        s->length = fem_rest_edge(p[0], p[1], p[2], p[3], &ignored);
    }
    assert_true(s->tet.volume > 0 && s->triangle.area > 0 && s->length > 0);
    for (int i = 0; i < MOST_CONSTANTS; i++) {
        s->constant[i] = uniform(l->low[i], l->high[i]);
    }
}

static double norm(const vec3 *a, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += v3_dot(a[i], a[i]);
    }
    return sqrt(sum);
}

static double difference(const vec3 *a, const vec3 *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const vec3 d = v3_minus(a[i], b[i]);
        sum += v3_dot(d, d);
    }
    return sqrt(sum);
}

static double inner(const vec3 *a, const vec3 *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += v3_dot(a[i], b[i]);
    }
    return sum;
}

static void check_below(const char *what, const char *law_name, double value, double limit)
{
    if (!(value <= limit)) {
        fail_msg("%s of %s: %g, more than %g", what, law_name, value, limit);
    }
}

static void forces_balance(void **state)
{
    for (int k = 0; k < LAWS * DRAWS; k++) {
        const law *l = &laws[k / DRAWS];
        sample s;
        vec3 f[4], sum = {0, 0, 0}, torque = {0, 0, 0};
        draw(l, &s);
        if (!l->elastic) {
            continue;
        }
        l->force(&s, f);
        for (int i = 0; i < l->corners; i++) {
            sum = v3_plus(sum, f[i]);
        }
        check_below("sum of forces", l->name, v3_length(sum) / norm(f, l->corners), 1e-14);
        s.constant[l->damping] = 0;
        l->force(&s, f);
        for (int i = 0; i < l->corners; i++) {
            torque = v3_plus(torque, v3_cross(s.q[i], f[i]));
        }
        check_below("sum of torques", l->name, v3_length(torque) / norm(f, l->corners), 1e-13);
    }
}

static void shapes_at_rest_stay(void **state)
{
    for (int k = 0; k < LAWS * DRAWS; k++) {
        const law *l = &laws[k / DRAWS];
        sample s;
        vec3 f[4];
        draw(l, &s);
        memcpy(s.q, s.rest, sizeof s.q);
        memset(s.u, 0, sizeof s.u);
        if (l->constants == 4) {
            s.constant[3] = 0; /* activation */
        } else if (l->constants == 5) {
            memset(s.constant + 2, 0, 3 * sizeof *s.constant); /* wind */
        } else {
            s.constant[2] = l->corners == 2 ? v3_length(v3_minus(s.q[0], s.q[1])) : fem_edge_angle(s.q);
        }
        l->force(&s, f);
        check_below("force at rest", l->name, norm(f, l->corners) / 100, 1e-14);
    }
}

static vec3 turned(vec3 a)
{
    /* rotated about (1, 2, 2)/3 by 0.8 */
    const vec3 n = {1.0 / 3, 2.0 / 3, 2.0 / 3};
    const vec3 across = v3_cross(n, a);
    return v3_along(v3_along(v3_times(cos(0.8), a), sin(0.8), across), (1 - cos(0.8)) * v3_dot(n, a), n);
}

static void laws_do_not_see_the_frame(void **state)
{
    for (int k = 0; k < LAWS * DRAWS; k++) {
        const law *l = &laws[k / DRAWS];
        sample s;
        vec3 f[4], moved[4];
        draw(l, &s);
        memset(s.constant + 2, 0, l->constants == 5 ? 3 * sizeof *s.constant : 0); /* wind */
        l->force(&s, f);
        for (int i = 0; i < 4; i++) {
            s.q[i] = v3_plus(turned(s.q[i]), (vec3){3, -2, 1});
            s.u[i] = v3_plus(turned(s.u[i]), l->elastic ? (vec3){5, 7, -3} : (vec3){0, 0, 0});
            f[i] = turned(f[i]);
        }
        l->force(&s, moved);
        check_below("change by a motion", l->name, difference(f, moved, l->corners) / norm(f, l->corners),
                    1e-12);
    }
}

static double *component(sample *s, int velocity, int corner, int axis)
{
    vec3 *v = velocity ? &s->u[corner] : &s->q[corner];
    return axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z;
}

static void elastic_forces_are_slopes_of_the_energy(void **state)
{
    const double h = 1e-5;
    for (int k = 0; k < LAWS * DRAWS; k++) {
        const law *l = &laws[k / DRAWS];
        sample s;
        vec3 f[4];
        draw(l, &s);
        if (!l->energy) {
            continue;
        }
        s.constant[l->damping] = 0;
        l->force(&s, f);
        for (int i = 0; i < 3 * l->corners; i++) {
            double *x = component(&s, 0, i / 3, i % 3), at = *x, by[3];
            *x = at + h;
            double up = l->energy(&s);
            *x = at - h;
            double slope = (up - l->energy(&s)) / (2 * h);
            *x = at;
            numbers_of(f[i / 3], by);
            check_below("force + dE/dq", l->name, fabs(by[i % 3] + slope) / norm(f, l->corners), 1e-8);
        }
    }
}

/* Central difference of fb . f by one number. */
static double slope_of(const law *l, sample *s, double *x, const vec3 fb[4])
{
    const double h = 1e-6, at = *x;
    vec3 up[4], down[4];
    *x = at + h;
    l->force(s, up);
    *x = at - h;
    l->force(s, down);
    *x = at;
    return (inner(fb, up, l->corners) - inner(fb, down, l->corners)) / (2 * h);
}

static void derivatives_match_differences(void **state)
{
    for (int k = 0; k < LAWS * DRAWS; k++) {
        const law *l = &laws[k / DRAWS];
        sample s;
        vec3 fb[4], qb[4], ub[4];
        double bar[MOST_CONSTANTS], by[3];
        draw(l, &s);
        for (int i = 0; i < 4; i++) {
            fb[i] = random_vector(1);
        }
        l->vjp(&s, fb, qb, ub, bar);
        const double scale_q = norm(qb, l->corners), scale_u = norm(ub, l->corners);
        for (int i = 0; i < 3 * l->corners; i++) {
            numbers_of(qb[i / 3], by);
            double slope = slope_of(l, &s, component(&s, 0, i / 3, i % 3), fb);
            check_below("derivative by a position", l->name, fabs(by[i % 3] - slope) / scale_q, 1e-6);
            numbers_of(ub[i / 3], by);
            slope = slope_of(l, &s, component(&s, 1, i / 3, i % 3), fb);
            check_below("derivative by a velocity", l->name, fabs(by[i % 3] - slope) / (scale_u + 1e-3),
                        1e-6);
        }
        for (int i = 0; i < l->constants; i++) {
            double slope = slope_of(l, &s, &s.constant[i], fb);
            check_below("derivative by a constant", l->name, fabs(bar[i] - slope) / (fabs(slope) + 1), 1e-6);
        }
    }
}

/* A triangle that flies along its normal, up to an angle: near it the lift changes fast with the direction.
 * Below 3e-4 rad the differences have no accurate digits, because the cosine of the angle has few. */
static void lift_is_differentiated_up_to_head_on(void **state)
{
    for (int k = 0; k < 400; k++) {
        const double angle = pow(10, uniform(-3.5, -1)), h = 1e-3 * angle;
        const fem_air_law air = {.drag = uniform(0, 10), .lift = uniform(1, 30)};
        const vec3 q[3] = {random_vector(1), random_vector(1), random_vector(1)}, fb = random_vector(1);
        const vec3 n = v3_cross(v3_minus(q[1], q[0]), v3_minus(q[2], q[0]));
        const vec3 across = v3_cross(n, random_vector(1)), b[3] = {fb, fb, fb};
        vec3 f[3], u[3], qb[3], ub[3];
        fem_air_law bar;
        if (v3_length(n) < 0.1 || v3_length(across) < 0.01) {
            continue;
        }
        const vec3 v =
            v3_along(v3_times((k % 2 ? 1 : -1) / v3_length(n), n), angle / v3_length(across), across);
        u[0] = u[1] = u[2] = v;
        fem_air_vjp(&air, q, u, b, qb, ub, &bar);
        const vec3 turn = v3_times(1 / v3_length(across), across);
        double slope = 0;
        for (int side = -1; side <= 1; side += 2) {
            u[0] = u[1] = u[2] = v3_along(v, side * h, turn);
            fem_air_force(&air, q, u, f);
            slope += side * 3 * v3_dot(fb, f[0]) / (2 * h);
        }
        check_below("derivative along the cloth", "air",
                    fabs(3 * v3_dot(ub[0], turn) - slope) / (norm(ub, 3) + 1), 1e-5);
    }
}

static void tangents_are_adjoint_to_the_reverse(void **state)
{
    for (int k = 0; k < LAWS * DRAWS; k++) {
        const law *l = &laws[k / DRAWS];
        sample s;
        vec3 fb[4], qb[4], ub[4], dq[4], du[4], df[4];
        double bar[MOST_CONSTANTS], dot[MOST_CONSTANTS], sum = 0;
        draw(l, &s);
        for (int i = 0; i < 4; i++) {
            fb[i] = random_vector(1);
            dq[i] = random_vector(1);
            du[i] = random_vector(1);
            dot[i] = uniform(-1, 1);
        }
        l->vjp(&s, fb, qb, ub, bar);
        l->jvp(&s, dq, du, dot, df);
        for (int i = 0; i < l->constants; i++) {
            sum += bar[i] * dot[i];
        }
        const double left = inner(fb, df, l->corners),
                     right = inner(qb, dq, l->corners) + inner(ub, du, l->corners) + sum;
        check_below("<fb, J v> - <J' fb, v>", l->name, fabs(left - right) / (norm(df, l->corners) + 1),
                    1e-12);
    }
}

/* ---- the ground ---- */

static double ground_dot(const fem_ground *g, double y, const double *u, const double *fb)
{
    double f[3] = {0, 0, 0}, q[3] = {0, y, 0};
    ground_force(g, ground_depth(g, q), u, f);
    return fb[0] * f[0] + fb[1] * f[1] + fb[2] * f[2];
}

static void ground_derivatives_match_differences(void **state)
{
    const double h = 1e-7;
    for (int k = 0; k < 300; k++) {
        fem_ground g = {
            1, k % 3, 0.01, uniform(100, 1000), uniform(1, 10), uniform(1, 50), uniform(0.1, 0.9), 0.002};
        double u[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}, fb[3], qb[3] = {0}, ub[3] = {0};
        double y = uniform(-0.1, 0), *constant[6] = {&g.ke, &g.kd, &g.kf, &g.mu, &g.offset, &g.height};
        for (int i = 0; i < 3; i++) {
            fb[i] = uniform(-1, 1);
        }
        fem_ground_bar bar = {0};
        ground_vjp(&g, y - g.offset - g.height, u, fb, qb, ub, &bar);
        const double by[6] = {bar.ke, bar.kd, bar.kf, bar.mu, bar.offset, bar.offset};
        double slope = (ground_dot(&g, y + h, u, fb) - ground_dot(&g, y - h, u, fb)) / (2 * h);
        check_below("derivative by the height", "ground", fabs(slope - qb[1]), 1e-4);
        for (int i = 0; i < 3; i++) {
            double at = u[i];
            u[i] = at + h;
            slope = ground_dot(&g, y, u, fb);
            u[i] = at - h;
            slope = (slope - ground_dot(&g, y, u, fb)) / (2 * h);
            u[i] = at;
            check_below("derivative by a velocity", "ground", fabs(slope - ub[i]), 1e-5);
        }
        for (int i = 0; i < 6; i++) {
            double at = *constant[i];
            *constant[i] = at + h;
            slope = ground_dot(&g, y, u, fb);
            *constant[i] = at - h;
            slope = (slope - ground_dot(&g, y, u, fb)) / (2 * h);
            *constant[i] = at;
            check_below("derivative by a constant", "ground", fabs(slope - by[i]), i < 4 ? 1e-5 : 1e-4);
        }
        const double du[3] = {0.3, -0.7, 0.2};
        double df[3] = {0};
        ground_jvp(&g, y - g.offset - g.height, u, 0.4, du, &(fem_ground_bar){0.5, -0.3, 0.9, 0.6, 0.2}, df);
        const double left = fb[0] * df[0] + fb[1] * df[1] + fb[2] * df[2];
        const double right = 0.4 * qb[1] + du[0] * ub[0] + du[1] * ub[1] + du[2] * ub[2] + 0.5 * by[0] -
                             0.3 * by[1] + 0.9 * by[2] + 0.6 * by[3] + 0.2 * by[4];
        check_below("<fb, J v> - <J' fb, v>", "ground", fabs(left - right), 1e-10);
    }
}

/* ---- the kernels ---- */

/* All kinds of elements in one model, with one or two membranes: a bent cloth above a squeezed block that
 * touches the ground. */
static void mixed_model(fem_model *m, size_t sheets)
{
    fem_mesh block, cloth;
    fem_model_open(m);
    fem_mesh_block(&block, 3, 2, 2, (double[]){0.2, 0.2, 0.2});
    fem_mesh_grid(&cloth, 5, 4, (double[]){0.15, 0, 0}, (double[]){0, 0.05, 0.15});
    uint32_t low =
        fem_add_soft(m, &block, &(fem_placing){.position = {0, -0.05, 0}}, 50, (fem_solid){300, 500, 2});
    uint32_t high = fem_add_cloth(m, &cloth, &(fem_placing){.position = {0, 0.6, 0}}, 0.01, 0.3, 1);
    for (uint32_t i = 0; i < 11; i++) {
        fem_add_spring(m, low + 3 * i, high + 2 * i, uniform(1, 9), 0.3, -1);
    }
    m->membrane[0] = (fem_membrane){100, 80, 3, 2, 1};
    m->bending[0] = (fem_bending){0.7, 0.02};
    m->sheets = sheets;
    m->membrane[1] = (fem_membrane){70, 110, 2, 1, 3};
    m->bending[1] = (fem_bending){0.3, 0.05};
    memcpy(m->wind, (double[]){0.4, -0.3, 0.2}, sizeof m->wind);
    m->ground = (fem_ground){1, FEM_FRICTION_BOX, 0.01, 500, 7, 4, 0.6, 0};
    assert_int_equal(fem_model_finish(m), DS_OK);
    for (size_t i = 0; i < 3 * m->particles; i++) {
        m->q[i] += uniform(-0.02, 0.02);
        m->u[i] = uniform(-1, 1);
    }
    for (size_t t = 0; t < m->tets; t++) {
        m->tet_act[t] = uniform(-0.1, 0.1);
        m->solid[t].mu *= uniform(0.5, 2);
    }
    for (size_t t = 0; t < m->triangles; t++) {
        m->triangle_act[t] = uniform(-0.1, 0.1);
        m->triangle_sheet[t] = (uint8_t)(t % sheets);
    }
    for (size_t t = 0; t < m->edges; t++) {
        m->edge_act[t] = uniform(-0.1, 0.1);
        m->edge_sheet[t] = (uint8_t)(t % sheets);
    }
    m->fixed[high] = 1;
    fem_mesh_free(&block);
    fem_mesh_free(&cloth);
}

/* All results of force and vjp of a variant, one after the other. */
typedef struct outcome {
    double *at;
    size_t n;
} outcome;

static void append(outcome *o, const double *from, size_t n)
{
    o->at = realloc(o->at, (o->n + n) * sizeof *from);
    memcpy(o->at + o->n, from, n * sizeof *from);
    o->n += n;
}

/* Bars of the existing elements; shared ones as sums over the lanes. */
static void append_bars(outcome *o, const fem_set *s, size_t bars, int shared)
{
    for (size_t k = 0; k < bars; k++) {
        double sum = 0;
        for (size_t lane = 0; lane < FEM_CHUNK && shared; lane++) {
            sum += s->bar[k * FEM_CHUNK + lane];
        }
        append(o, &sum, 1);
        for (size_t i = 0; i < s->count && !shared; i++) {
            append(o, &s->bar[(i / FEM_CHUNK * bars + k) * FEM_CHUNK + i % FEM_CHUNK], 1);
        }
    }
    append(o, s->act_bar, s->count);
}

static outcome outcome_of(const fem_model *m, const fem_kernels *kernels)
{
    outcome o = {0};
    ds_memory room = {0};
    fem_pack p;
    fem_pack_open(&p, &room, m);
    double *state = ds_memory_doubles(&room, 8 * m->particles),
           *bar = ds_memory_doubles(&room, 8 * m->particles);
    double *force = ds_memory_doubles(&room, 4 * m->particles),
           *fb = ds_memory_doubles(&room, 4 * m->particles);
    fem_pack_load(&p, m);
    fem_pack_to_state(m->particles, m->q, state, 0);
    fem_pack_to_state(m->particles, m->u, state, 4);
    for (size_t i = 0; i < 4 * m->particles; i++) {
        fb[i] = i % 4 < 3 ? cos((double)(i * i % 101)) : 0;
    }
    p.want_material = 1;
    kernels->force(&p, state, force);
    kernels->vjp(&p, state, fb, bar);
    append(&o, force, 4 * m->particles);
    append(&o, bar, 8 * m->particles);
    append_bars(&o, &p.spring, FEM_SPRING_BARS, 0);
    append_bars(&o, &p.triangle, FEM_TRIANGLE_BARS, !p.mixed);
    append_bars(&o, &p.edge, FEM_EDGE_BARS, !p.mixed);
    append_bars(&o, &p.tet, FEM_TET_BARS, 0);
    append(&o, &p.ground_bar.ke, sizeof p.ground_bar / sizeof(double));
    ds_memory_free(&room);
    return o;
}

static void kernels_match(size_t sheets)
{
    fem_model m;
    mixed_model(&m, sheets);
    const outcome plain = outcome_of(&m, &fem_kernels_plain),
                  fast = outcome_of(&m, fem_kernels_find("baseline"));
    assert_int_equal(plain.n, fast.n);
    double most = 0;
    for (size_t i = 0; i < plain.n; i++) {
        most = fmax(most, fabs(plain.at[i]));
    }
    for (size_t i = 0; i < plain.n; i++) {
        if (!(fabs(plain.at[i] - fast.at[i]) <= 1e-12 * (fabs(plain.at[i]) + 1e-2 * most))) {
            fail_msg("number %zu: %.17g, not %.17g", i, fast.at[i], plain.at[i]);
        }
    }
    free(plain.at);
    free(fast.at);
    fem_model_close(&m);
}

static void kernels_match_the_plain_laws(void **state)
{
    kernels_match(1);
    kernels_match(2);
}

static void instruction_sets_agree(size_t sheets)
{
    static const char *const sets[] = {"avx2", "avx512"};
    fem_model m;
    mixed_model(&m, sheets);
    const outcome baseline = outcome_of(&m, fem_kernels_find("baseline"));
    for (int k = 0; k < 2; k++) {
        const fem_kernels *kernels = fem_kernels_find(sets[k]);
        if (!kernels) {
            print_message("# %s does not run here: not compared\n", sets[k]);
            continue;
        }
        outcome other = outcome_of(&m, kernels);
        assert_int_equal(other.n, baseline.n);
        assert_memory_equal(other.at, baseline.at, other.n * sizeof *other.at);
        free(other.at);
    }
    free(baseline.at);
    fem_model_close(&m);
}

static void instruction_sets_give_the_same_bits(void **state)
{
    instruction_sets_agree(1);
    instruction_sets_agree(2);
}

static void awkward_elements_stay_finite(void **state)
{
    static const char *const sets[] = {"plain", "baseline", "avx2", "avx512"};
    fem_model m;
    mixed_model(&m, 2);
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < 3 * m.particles; i++) { /* at one point, on a line, in a plane and at rest */
            m.q[i] = pass == 0 ? 0.3 : i % 3 == 0 || (pass == 2 && i % 3 == 2) ? cos((double)i) : 0;
            m.u[i] = pass == 2 ? 0 : sin((double)i);
        }
        for (int k = 0; k < 4; k++) {
            const fem_kernels *kernels = k > 0 ? fem_kernels_find(sets[k]) : &fem_kernels_plain;
            outcome o = kernels ? outcome_of(&m, kernels) : (outcome){0};
            for (size_t i = 0; i < 4 * m.particles && i < o.n; i++) { /* forces */
                assert_true(isfinite(o.at[i]));
            }
            free(o.at);
        }
    }
    fem_model_close(&m);
}

/* ---- recorded values ---- */

static void copy_vectors(const json_t *c, const char *key, int n, vec3 *out)
{
    double x[12] = {0};
    assert_int_equal(golden_array(c, key, x), 3 * n);
    for (int i = 0; i < n; i++) {
        out[i] = v3(x + 3 * i);
    }
}

/* Relative to the largest component. */
static void compare(const char *what, size_t at, const vec3 *have, const vec3 *want, int n)
{
    double most = 0, worst = 0;
    for (int i = 0; i < n; i++) {
        const vec3 d = v3_minus(have[i], want[i]);
        most = fmax(most, fmax(fabs(want[i].x), fmax(fabs(want[i].y), fabs(want[i].z))));
        worst = fmax(worst, fmax(fabs(d.x), fmax(fabs(d.y), fabs(d.z))));
    }
    if (!(worst <= 2e-5 * most)) {
        fail_msg("%s of case %zu differs by %g of %g", what, at, worst, most);
    }
}

static void compare_numbers(const char *what, size_t at, const double *have, const double *want, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(want[i]));
    }
    for (int i = 0; i < n; i++) {
        if (!(fabs(have[i] - want[i]) <= 2e-5 * most)) {
            fail_msg("%s %d of case %zu: %g, not %g", what, i, at, have[i], want[i]);
        }
    }
}

static void recorded_tetrahedra(void **state)
{
    json_t *root = golden_or_skip("fem/warp_elements.json"), *cases = golden_list(root, "tetrahedra");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        const json_t *c = json_array_get(cases, k), *vjp = json_object_get(c, "vjp");
        double rest[12], material[3], want[3], act;
        vec3 q[4], u[4], f[4], fb[4], have[4], qb[4], ub[4];
        fem_tet_rest r;
        fem_tet_law by;
        golden_array(c, "rest", rest);
        golden_array(c, "mu_lambda_kd", material);
        copy_vectors(c, "x", 4, q);
        copy_vectors(c, "v", 4, u);
        copy_vectors(c, "force", 4, f);
        copy_vectors(c, "force_bar", 4, fb);
        r.volume = fem_rest_tet(rest, rest + 3, rest + 6, rest + 9, r.inverse);
        assert_true(r.volume > 0);
        const fem_tet_law l = {material[0], material[1], material[2], golden_number(c, "activation")};
        fem_tet_force(&r, &l, q, u, have);
        compare("force", k, have, f, 4);
        fem_tet_vjp(&r, &l, q, u, fb, qb, ub, &by);
        copy_vectors(vjp, "x", 4, have);
        compare("derivative by positions", k, qb, have, 4);
        copy_vectors(vjp, "v", 4, have);
        compare("derivative by velocities", k, ub + 1, have + 1, material[2] > 0 ? 3 : 0);
        golden_array(vjp, "material", want);
        compare_numbers("derivative by material", k, (double[]){by.mu, by.lambda, by.kd}, want, 3);
        golden_array(vjp, "activation", &act);
        compare_numbers("derivative by activation", k, &by.act, &act, 1);
    }
    json_decref(root);
}

/* The recorded flow is the mean velocity times 0.9999: its forces and derivatives scale with it. */
static void recorded_triangles(void **state)
{
    json_t *root = golden_or_skip("fem/warp_elements.json"), *cases = golden_list(root, "triangles");
    const double flow = 0.9999;
    for (size_t k = 0; k < json_array_size(cases); k++) {
        const json_t *c = json_array_get(cases, k), *vjp = json_object_get(c, "vjp");
        double p[6], constant[5], want[5], act;
        vec3 q[3], u[3], slow[3], f[3], fb[3], have[3], air[3], qb[3], ub[3], air_q[3], air_u[3];
        fem_triangle_rest r;
        fem_triangle_law by;
        fem_air_law by_air;
        golden_array(c, "rest_2d", p);
        golden_array(c, "mu_lambda_kd_drag_lift", constant);
        copy_vectors(c, "x", 3, q);
        copy_vectors(c, "v", 3, u);
        copy_vectors(c, "force", 3, f);
        copy_vectors(c, "force_bar", 3, fb);
        /* recorded in the given plane: the inverse of its edges, whatever their direction */
        const double a = p[2] - p[0], b = p[4] - p[0], d = p[3] - p[1], e = p[5] - p[1], det = a * e - b * d;
        r = (fem_triangle_rest){{e / det, -b / det, -d / det, a / det}, det / 2};
        const fem_triangle_law l = {constant[0], constant[1], constant[2], golden_number(c, "activation")};
        const fem_air_law wind = {.drag = constant[3], .lift = constant[4]};
        for (int i = 0; i < 3; i++) {
            slow[i] = v3_times(flow, u[i]);
        }
        fem_triangle_force(&r, &l, q, u, have);
        fem_air_force(&wind, q, slow, air);
        fem_triangle_vjp(&r, &l, q, u, fb, qb, ub, &by);
        fem_air_vjp(&wind, q, slow, fb, air_q, air_u, &by_air);
        for (int i = 0; i < 3; i++) {
            have[i] = v3_plus(have[i], air[i]);
            qb[i] = v3_plus(qb[i], air_q[i]);
            ub[i] = v3_along(ub[i], flow, air_u[i]);
        }
        compare("force", k, have, f, 3);
        copy_vectors(vjp, "x", 3, have);
        compare("derivative by positions", k, qb, have, 3);
        copy_vectors(vjp, "v", 3, have);
        compare("derivative by velocities", k, ub, have, 3);
        golden_array(vjp, "activation", &act);
        compare_numbers("derivative by activation", k, &by.act, &act, 1);
        golden_array(vjp, "material", want);
        compare_numbers("derivative by material", k, (double[]){by.mu, by.lambda}, want, 2);
        compare_numbers("derivative by drag and lift", k, (double[]){by_air.drag, by_air.lift}, want + 3, 2);
    }
    json_decref(root);
}

static void recorded_ground(void **state)
{
    json_t *root = golden_or_skip("fem/warp_elements.json"), *cases = golden_list(root, "ground");
    for (size_t k = 0; k < json_array_size(cases); k++) {
        const json_t *c = json_array_get(cases, k), *vjp = json_object_get(c, "vjp");
        double x[3], v[3], f[3], fb[3], want[3], constant[4], have[3] = {0}, qb[3] = {0}, ub[3] = {0};
        golden_array(c, "x", x);
        golden_array(c, "v", v);
        golden_array(c, "force", f);
        golden_array(c, "force_bar", fb);
        golden_array(c, "ke_kd_kf_mu", constant);
        const fem_ground g = {1,
                              FEM_FRICTION_COULOMB,
                              golden_number(c, "radius"),
                              constant[0],
                              constant[1],
                              constant[2],
                              constant[3],
                              0};
        fem_ground_bar bar = {0};
        const double depth = ground_depth(&g, x);
        if (depth < 0) {
            ground_force(&g, depth, v, have);
            ground_vjp(&g, depth, v, fb, qb, ub, &bar);
        }
        compare_numbers("force", k, have, f, 3);
        golden_array(vjp, "x", want);
        compare_numbers("derivative by the position", k, qb, want, 3);
        golden_array(vjp, "v", want);
        compare_numbers("derivative by the velocity", k, ub, want, 3);
    }
    json_decref(root);
}

static int set_up(void **state)
{
    random_numbers = ds_random_open(11, "laws", 0);
    return 0;
}

RUN_TESTS_WITH(set_up, NULL, forces_balance, shapes_at_rest_stay, laws_do_not_see_the_frame,
               elastic_forces_are_slopes_of_the_energy, derivatives_match_differences,
               lift_is_differentiated_up_to_head_on, tangents_are_adjoint_to_the_reverse,
               ground_derivatives_match_differences, kernels_match_the_plain_laws,
               instruction_sets_give_the_same_bits, awkward_elements_stay_finite, recorded_tetrahedra,
               recorded_triangles, recorded_ground)
