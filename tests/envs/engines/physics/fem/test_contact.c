/* SPDX-License-Identifier: Apache-2.0 */
/* test_contact.c - contact between bodies: the search against all triangles, sides, momentum, weight,
 * derivatives. */
#include "engines/physics/fem/episode.h"
#include "test.h"

#include <diffsim/helper/random.h>

#include <math.h>
#include <string.h>

typedef struct two {
    fem_model model;
    fem_mesh mesh[2];
    uint32_t triangle[3000], body[1000];
    size_t triangles, first; /* first: particle of the second body */
    ds_memory room;
} two;

/* Two blocks, the second one turned, at `high` m. */
static void two_open(two *s, double high, double angle, const double velocity[3])
{
    *s = (two){.triangles = 0};
    fem_model_open(&s->model);
    for (uint32_t b = 0; b < 2; b++) {
        const fem_placing where = {{b ? 0.05 : 0, b ? high : 0.011, b ? 0.04 : 0},
                                   {b ? velocity[0] : 0, b ? velocity[1] : 0, b ? velocity[2] : 0},
                                   {0.1, 1, b ? 0.2 : 0},
                                   b ? angle : 0};
        const double cell[3] = {b ? 0.07 : 0.1, 0.08, b ? 0.09 : 0.1};
        assert_int_equal(fem_mesh_block(&s->mesh[b], b ? 2 : 3, 2, b ? 2 : 3, cell), DS_OK);
        s->first = fem_add_soft(&s->model, &s->mesh[b], &where, 100, (fem_solid){1e4, 1e4, 8});
        assert_int_equal(fem_mesh_surface(&s->mesh[b], NULL), DS_OK);
        for (size_t i = 0; i < 3 * s->mesh[b].triangles; i++) {
            s->body[s->triangles + i / 3] = b;
            s->triangle[3 * s->triangles + i] = (uint32_t)s->first + s->mesh[b].triangle[i];
        }
        s->triangles += s->mesh[b].triangles;
    }
    fem_contact *c = &s->model.contact;
    c->law = (fem_contact_law){0.015, 300, 0.4, 0.6, 0.5};
    c->surfaces = fem_surfaces_open(&s->room, s->triangle, s->body, s->triangles, 2);
    assert_non_null(c->surfaces);
    c->reach = fem_surfaces_edge(c->surfaces, s->model.q);
    assert_int_equal(fem_model_finish(&s->model), DS_OK);
}

static void two_close(two *s)
{
    fem_mesh_free(&s->mesh[0]);
    fem_mesh_free(&s->mesh[1]);
    fem_model_close(&s->model);
    ds_memory_free(&s->room);
}

/* ---- the search ---- */

static double inner(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double from_segment(const double *a, const double *b, const double *p)
{
    double e[3], r[3], off[3];
    for (int d = 0; d < 3; d++) {
        e[d] = b[d] - a[d];
        r[d] = p[d] - a[d];
    }
    const double t = fmax(0, fmin(1, inner(r, e) / inner(e, e)));
    for (int d = 0; d < 3; d++) {
        off[d] = r[d] - t * e[d];
    }
    return sqrt(inner(off, off));
}

/* Distance from a triangle: by the normal equations where their solution is inside, else from the edges. */
static double from_triangle(const double *a, const double *b, const double *c, const double *p)
{
    double e[3], f[3], r[3], off[3];
    for (int d = 0; d < 3; d++) {
        e[d] = b[d] - a[d];
        f[d] = c[d] - a[d];
        r[d] = p[d] - a[d];
    }
    const double ee = inner(e, e), ef = inner(e, f), ff = inner(f, f), det = ee * ff - ef * ef;
    const double s = (ff * inner(r, e) - ef * inner(r, f)) / det,
                 t = (ee * inner(r, f) - ef * inner(r, e)) / det;
    if (!(s >= 0 && t >= 0 && s + t <= 1)) {
        return fmin(from_segment(a, b, p), fmin(from_segment(b, c, p), from_segment(c, a, p)));
    }
    for (int d = 0; d < 3; d++) {
        off[d] = r[d] - s * e[d] - t * f[d];
    }
    return sqrt(inner(off, off));
}

/* Each vertex has a pair if and only if some triangle of the other body is within reach; its distance is the
 * smallest one. */
static void search_finds_the_nearest(void **state)
{
    const double none[3] = {0, 0, 0};
    size_t met = 0;
    for (int k = 0; k < 4; k++) {
        two s;
        const fem_near_pair *pair;
        two_open(&s, 0.12 + 0.03 * k, 0.5 * k, none);
        const double *q = s.model.q, reach = 0.03;
        const size_t n = fem_surfaces_near(s.model.contact.surfaces, q, 3, reach, &pair);
        for (size_t i = 0; i < s.model.particles; i++) {
            double best = HUGE_VAL;
            int surface = 0;
            for (size_t t = 0; t < s.triangles; t++) {
                const uint32_t *v = s.triangle + 3 * t;
                surface |= v[0] == i || v[1] == i || v[2] == i;
                if (s.body[t] != (i >= s.first)) {
                    best = fmin(best, from_triangle(q + 3 * v[0], q + 3 * v[1], q + 3 * v[2], q + 3 * i));
                }
            }
            size_t at = 0;
            while (at < n && pair[at].vertex != i) {
                at++;
            }
            assert_true(surface || at == n);
            if (surface && best <= reach) {
                assert_true(at < n);
                const uint32_t *v = pair[at].corner;
                met++;
                assert_near(from_triangle(q + 3 * v[0], q + 3 * v[1], q + 3 * v[2], q + 3 * i), best, 1e-12);
            } else {
                assert_true(at == n);
            }
        }
        two_close(&s);
    }
    assert_true(met > 30);
}

/* A vertex is inside where all faces of a block have it on their inner side. */
static void sides_are_right(void **state)
{
    const double none[3] = {0, 0, 0};
    size_t inside = 0, outside = 0;
    for (int k = 0; k < 6; k++) {
        two s;
        const fem_near_pair *pair;
        two_open(&s, 0.1 + 0.02 * k, 0.3 * k, none);
        const double *q = s.model.q;
        const size_t n = fem_surfaces_near(s.model.contact.surfaces, q, 3, HUGE_VAL, &pair);
        for (size_t i = 0; i < n; i++) {
            if (pair[i].body != 0) {
                continue;
            }
            const double *x = q + 3 * (size_t)pair[i].vertex; /* the first block: 0 .. 0.3 from its corner */
            const int in = x[0] > 0 && x[0] < 0.3 && x[1] > 0.011 && x[1] < 0.171 && x[2] > 0 && x[2] < 0.3;
            assert_true((pair[i].sign < 0) == in);
            inside += (size_t)in;
            outside += (size_t)!in;
        }
        two_close(&s);
    }
    assert_true(inside > 5 && outside > 20);
}

/* ---- physics ---- */

static void momentum_of(const fem_model *m, const fem_state *at, double p[3])
{
    memset(p, 0, 3 * sizeof *p);
    for (size_t i = 0; i < 3 * m->particles; i++) {
        p[i % 3] += m->mass[i / 3] * at->u[i];
    }
}

/* Two bodies that collide in space keep their momentum and exchange a part of it. */
static void momentum_is_kept(void **state)
{
    const double velocity[3] = {0.2, -1.5, 0.1};
    two s;
    int64_t bad;
    double before[3], after[3];
    two_open(&s, 0.22, 0.3, velocity);
    memset(s.model.gravity, 0, sizeof s.model.gravity);
    fem_episode *e;
    const fem_options o = {.dt = 1.0 / 3840, .steps = 700};
    assert_int_equal(fem_episode_open(&e, &s.model, &o, NULL), DS_OK);
    fem_episode_begin(e, NULL, NULL, 0);
    fem_state at = fem_episode_state(e);
    momentum_of(&s.model, &at, before);
    assert_int_equal(fem_episode_advance(e, o.steps, &bad), DS_OK);
    assert_true(bad < 0);
    at = fem_episode_state(e);
    momentum_of(&s.model, &at, after);
    double low = 0;
    for (size_t i = 0; i < s.first; i++) {
        low += s.model.mass[i] * at.u[3 * i + 1];
    }
    for (int d = 0; d < 3; d++) {
        assert_near(after[d], before[d], 1e-13 * fabs(before[1]));
    }
    assert_true(low < 0.2 * before[1]);
    fem_episode_close(e);
    two_close(&s);
}

/* A body on another one is carried by contact with its weight, in the mean over half a second. */
static void weight_is_carried(void **state)
{
    const double none[3] = {0, 0, 0};
    two s;
    int64_t bad;
    double mass = 0, carried = 0;
    two_open(&s, 0.19, 0, none);
    s.model.ground = (fem_ground){.on = 1, .offset = 0.01, .ke = 300, .kd = 3, .kf = 1, .mu = 0.5};
    s.model.contact.law.kd = 3;
    fem_episode *e;
    enum { FROM = 2000, STEPS = 4000, EACH = 20 };
    const fem_options o = {.dt = 1.0 / 3840, .steps = STEPS};
    double *full = calloc(12 * s.model.particles, sizeof *full), *force = full + 8 * s.model.particles;
    assert_int_equal(fem_episode_open(&e, &s.model, &o, NULL), DS_OK);
    fem_episode_begin(e, NULL, NULL, 0);
    for (uint64_t k = FROM; k < STEPS; k += EACH) {
        assert_int_equal(fem_episode_advance(e, k, &bad), DS_OK);
        assert_true(bad < 0);
        const fem_state at = fem_episode_state(e);
        memset(force, 0, 4 * s.model.particles * sizeof *force);
        for (size_t i = 0; i < 3 * s.model.particles; i++) {
            full[8 * (i / 3) + i % 3] = at.q[i];
            full[8 * (i / 3) + 4 + i % 3] = at.u[i];
        }
        fem_contact_force(&s.model.contact, full, force);
        for (size_t i = s.first; i < s.model.particles; i++) {
            carried += force[4 * i + 1] * EACH / (STEPS - FROM);
        }
    }
    for (size_t i = s.first; i < s.model.particles; i++) {
        mass += s.model.mass[i];
    }
    assert_near(carried, 9.8 * mass, 0.03 * 9.8 * mass);
    free(full);
    fem_episode_close(e);
    two_close(&s);
}

/* ---- derivatives of the forces ---- */

static double along(const fem_contact *c, size_t n, const double *at, const double *way, double h,
                    const double *weight)
{
    double *x = calloc(12 * n, sizeof *x), *f = x + 8 * n, sum = 0;
    for (size_t i = 0; i < 8 * n; i++) {
        x[i] = at[i] + h * way[i];
    }
    fem_contact_force(c, x, f);
    for (size_t i = 0; i < 4 * n; i++) {
        sum += weight[i] * f[i];
    }
    free(x);
    return sum;
}

/* By the state: the tangent and the reverse agree with each other and with central differences at random
 * states, outside and inside, sticking and sliding. */
static void forces_have_derivatives(void **state)
{
    const double none[3] = {0, 0, 0};
    int touched = 0;
    for (uint64_t k = 0; k < 12; k++) {
        two s;
        two_open(&s, 0.165 + 0.002 * (double)k, 0.1 * (double)k, none);
        fem_contact *c = &s.model.contact;
        c->law.kf = k % 2 ? 0.05 : 2;
        const size_t n = s.model.particles;
        double *x = calloc(36 * n, sizeof *x), *way = x + 8 * n, *bar = way + 8 * n, *weight = bar + 8 * n,
               *dot = weight + 4 * n;
        ds_random r = ds_random_open(k, "contact", 0);
        for (size_t i = 0; i < 8 * n; i++) {
            const double u = 2 * ds_random_uniform(&r) - 1, v = 2 * ds_random_uniform(&r) - 1;
            const int place = i % 8 < 3, speed = i % 8 >= 4 && i % 8 < 7;
            x[i] = place ? s.model.q[3 * (i / 8) + i % 8] + 1e-3 * u : speed ? u : 0;
            way[i] = place || speed ? v : 0;
        }
        for (size_t i = 0; i < 4 * n; i++) {
            weight[i] = i % 4 < 3 ? 2 * ds_random_uniform(&r) - 1 : 0;
        }
        const fem_contact_law still = {0};
        fem_contact_law by = {0};
        fem_contact_jvp(c, x, way, &still, dot);
        fem_contact_vjp(c, x, weight, bar, &by);
        double left = 0, right = 0;
        for (size_t i = 0; i < 4 * n; i++) {
            left += weight[i] * dot[i];
        }
        for (size_t i = 0; i < 8 * n; i++) {
            right += way[i] * bar[i];
        }
        const double h = 1e-8;
        const double q = (along(c, n, x, way, h, weight) - along(c, n, x, way, -h, weight)) / (2 * h);
        assert_near(left, right, 1e-10 * (fabs(left) + 1));
        assert_near(q, left, 1e-5 * (fabs(left) + 1));
        touched += left != 0;
        free(x);
        two_close(&s);
    }
    assert_true(touched > 8);
}

RUN_TESTS(search_finds_the_nearest, sides_are_right, momentum_is_kept, weight_is_carried,
          forces_have_derivatives)
