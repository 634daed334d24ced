/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_episode.c - roll-outs: exact solutions, energy, the same bits for every instruction set and memory
 * limit, explosions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "engines/physics/fem/episode.h"
#include "engines/physics/fem/laws/law.h"
#include "everything.h"
#include "host.h"

/* ---- the same bits ---- */

static size_t collect(everything *s, double *out)
{
    everything_variable v[EVERYTHING_VARIABLES];
    const size_t kinds = everything_list(s, v);
    size_t n = 0;
    out[n++] = s->loss;
    for (size_t k = 0; k < kinds; k++) {
        memcpy(out + n, v[k].by, v[k].n * sizeof *out);
        n += v[k].n;
    }
    return n;
}

static void results_do_not_depend_on_memory_or_instructions(void **state)
{
    (void)state;
    static const char *const sets[] = {"baseline", "baseline", "avx2", "avx512"};
    static const size_t limits[] = {0, 1, 0, 20000};
    static double first[4096], other[4096];
    size_t n = 0, most = 0;
    for (int k = 0; k < 4; k++) {
        everything s;
        if (!everything_open(&s, 1, sets[k], limits[k])) {
            print_message("# %s does not run here: not compared\n", sets[k]);
            continue;
        }
        most = k == 0 ? fem_episode_bytes(s.episode) : most;
        assert_true(limits[k] == 0 || fem_episode_bytes(s.episode) < most / 2);
        everything_run(&s, 1);
        const size_t have = collect(&s, k == 0 ? first : other);
        n = k == 0 ? have : n;
        assert_int_equal(have, n);
        if (k > 0) {
            assert_memory_equal(first, other, n * sizeof *first);
        }
        /* again: the first run leaves nothing behind */
        everything_run(&s, 1);
        collect(&s, other);
        assert_memory_equal(first, other, n * sizeof *first);
        everything_close(&s);
    }
}

static void fast_episodes_match_the_plain_one(void **state)
{
    (void)state;
    static double plain[4096], fast[4096];
    for (int k = 0; k < 2; k++) {
        everything s;
        assert_true(everything_open(&s, 1, k ? "baseline" : "plain", 0));
        everything_run(&s, 1);
        const size_t n = collect(&s, k ? fast : plain);
        for (size_t i = 0; i < n && k; i++) {
            if (!(fabs(plain[i] - fast[i]) <= 1e-8 * (1 + fabs(plain[i])))) {
                fail_msg("number %zu: %.17g, plain %.17g", i, fast[i], plain[i]);
            }
        }
        everything_close(&s);
    }
}

/* In parts, from frame to frame: same as the whole. */
static void episodes_go_on_from_any_state(void **state)
{
    (void)state;
    everything s;
    assert_true(everything_open(&s, 1, NULL, 20000));
    const double whole = everything_run(&s, 1);
    static double first[4096], other[4096];
    const size_t n = collect(&s, first);
    s.loss = 0;
    control_clear(s.net);
    fem_episode_begin(s.episode, &s.driver, &s, 1);
    for (uint64_t until = 7; until < EVERYTHING_STEPS + 7; until += 7) {
        assert_int_equal(fem_episode_advance(s.episode, until, &s.bad), DS_OK);
    }
    assert_int_equal(fem_episode_adjoint(s.episode, &s.gradient, &s.bad), DS_OK);
    control_gradient(s.net, s.bar);
    assert_true(s.loss == whole);
    collect(&s, other);
    assert_memory_equal(first, other, n * sizeof *first);
    everything_close(&s);
}

/* ---- exact solutions ---- */

static void last_state(void *self, uint64_t k, const fem_state *now, fem_state *bar)
{
    (void)self;
    (void)k;
    (void)now;
    bar->q[1] += 1;
}

static void particles_fall(void **state)
{
    (void)state;
    enum { N = 500 };
    const double dt = 1e-3;
    fem_model m;
    fem_episode *e;
    fem_variation g;
    ds_memory room = {0};
    int64_t bad;
    fem_model_open(&m);
    fem_add_particle(&m, (double[]){1, 20, 3}, (double[]){0.5, 0, 0}, 2);
    fem_add_particle(&m, (double[]){1, 20, 3}, (double[]){0, 0.25, 0}, 2);
    m.fixed[1] = 1;
    assert_int_equal(fem_model_finish(&m), DS_OK);
    assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = dt, .steps = N}, NULL), DS_OK);
    fem_variation_open(&g, &room, &m);
    const fem_driver d = {.frames = (uint64_t[]){N}, .frame_count = 1, .state_bar = last_state};
    assert_int_equal(fem_episode_run(e, &d, NULL, 1, &bad), DS_OK);
    const fem_state s = fem_episode_state(e);
    assert_true(fabs(s.u[1] + 9.8 * N * dt) < 1e-12);
    assert_true(fabs(s.q[1] - 20 + 9.8 * dt * dt * N * (N + 1) / 2) < 1e-11);
    assert_true(fabs(s.q[0] - 1 - 0.5 * N * dt) < 1e-12);
    assert_true(fabs(s.q[4] - 20 - 0.25 * N * dt) < 1e-12 && s.u[4] == 0.25);
    assert_int_equal(fem_episode_adjoint(e, &g, &bad), DS_OK);
    assert_true(fabs(g.u[1] - N * dt) < 1e-13 && g.q[1] == 1 && g.u[0] == 0);
    assert_true(fabs(g.gravity[1] - dt * dt * N * (N + 1) / 2) < 1e-13);
    assert_true(fabs(g.mass[0]) < 1e-12); /* independent of gravity, except for rounding */
    ds_memory_free(&room);
    fem_episode_close(e);
    fem_model_close(&m);
}

/* ---- energy ---- */

static void corners(const double *q, const uint32_t *vertex, int n, vec3 *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = v3(q + 3 * (size_t)vertex[i]);
    }
}

static double of_springs(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[2];
    for (size_t i = 0; i < m->springs; i++) {
        corners(q, m->spring + 2 * i, 2, x);
        const double longer = v3_length(v3_minus(x[0], x[1])) - m->spring_rest[i];
        sum += m->spring_ke[i] / 2 * longer * longer;
    }
    return sum;
}

static double of_triangles(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[3];
    for (size_t i = 0; i < m->triangles; i++) {
        fem_triangle_rest r = {.area = m->triangle_area[i]};
        const fem_triangle_law law = {m->membrane.mu, m->membrane.lambda, 0, m->triangle_act[i]};
        memcpy(r.inverse, m->triangle_inverse + 4 * i, sizeof r.inverse);
        corners(q, m->triangle + 3 * i, 3, x);
        sum += fem_triangle_energy(&r, &law, x);
    }
    return sum;
}

static double of_edges(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[4];
    for (size_t i = 0; i < m->edges; i++) {
        corners(q, m->edge + 4 * i, 4, x);
        const double turn = fem_edge_angle(x) - m->edge_rest[i] - m->edge_act[i];
        sum += m->bending.ke * m->edge_length[i] * turn * turn / 2;
    }
    return sum;
}

static double of_tets(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[4];
    for (size_t i = 0; i < m->tets; i++) {
        fem_tet_rest r = {.volume = m->tet_volume[i]};
        const fem_tet_law law = {m->solid[i].mu, m->solid[i].lambda, 0, m->tet_act[i]};
        memcpy(r.inverse, m->tet_inverse + 9 * i, sizeof r.inverse);
        corners(q, m->tet + 4 * i, 4, x);
        sum += fem_tet_energy(&r, &law, x);
    }
    return sum;
}

/* Energy, J, of springs, membranes, bending and solids at positions q, without gravity, ground and motion. */
static double elastic_energy(const fem_model *m, const double *q)
{
    return of_springs(m, q) + of_triangles(m, q) + of_edges(m, q) + of_tets(m, q);
}

/* Largest deviation of the energy of a patch that swings freely in space. */
static double drift(int cloth, double dt, uint64_t steps)
{
    fem_model m;
    fem_mesh mesh;
    fem_episode *e;
    double first = 0, worst = 0;
    int64_t bad;
    fem_model_open(&m);
    memset(m.gravity, 0, sizeof m.gravity);
    if (cloth) {
        fem_mesh_grid(&mesh, 3, 3, (double[]){0.1, 0, 0}, (double[]){0, 0.1, 0});
        fem_add_cloth(&m, &mesh, &(fem_placing){.angle = 0}, 0, 10, 1);
        m.membrane = (fem_membrane){.mu = 100, .lambda = 100};
        m.bending = (fem_bending){.ke = 0.1};
    } else {
        fem_mesh_block(&mesh, 2, 1, 1, (double[]){0.1, 0.1, 0.1});
        fem_add_soft(&m, &mesh, &(fem_placing){.angle = 0}, 100, (fem_solid){1000, 1000, 0});
    }
    fem_mesh_free(&mesh);
    assert_int_equal(fem_model_finish(&m), DS_OK);
    for (size_t i = 0; i < 3 * m.particles; i++) {
        m.q[i] *= i % 3 == 0 ? 1.05 : 0.98;
        m.u[i] = 0.1 * cos((double)(i * i));
    }
    assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = dt, .steps = steps}, NULL), DS_OK);
    fem_episode_begin(e, NULL, NULL, 0);
    for (uint64_t k = 0; k <= steps; k += 20) {
        assert_int_equal(fem_episode_advance(e, k, &bad), DS_OK);
        const fem_state s = fem_episode_state(e);
        double energy = elastic_energy(&m, s.q);
        for (size_t i = 0; i < 3 * m.particles; i++) {
            energy += m.mass[i / 3] * s.u[i] * s.u[i] / 2;
        }
        first = k == 0 ? energy : first;
        worst = fmax(worst, fabs(energy - first));
    }
    fem_episode_close(e);
    fem_model_close(&m);
    return worst;
}

/* A symplectic method: the energy swings about its value, by an amount of the order of dt, and does
 * not grow. */
static void energy_stays(void **state)
{
    (void)state;
#ifdef SLOW
    const uint64_t many = 100000;
#else
    const uint64_t many = 20000;
#endif
    for (int cloth = 0; cloth < 2; cloth++) {
        const double dt = cloth ? 4e-4 : 4e-4, coarse = drift(cloth, dt, 4000),
                     fine = drift(cloth, dt / 2, 8000);
        print_message("# drift %g, with half the step %g\n", coarse, fine);
        assert_true(fine < 0.6 * coarse && fine > 0.3 * coarse);
        assert_true(drift(cloth, dt, many) < 1.5 * coarse);
    }
}

/* ---- explosions ---- */

static void explosions_are_told(void **state)
{
    (void)state;
    fem_model m;
    fem_mesh mesh;
    fem_episode *e;
    int64_t bad;
    fem_model_open(&m);
    fem_mesh_block(&mesh, 2, 1, 1, (double[]){0.1, 0.1, 0.1});
    fem_add_soft(&m, &mesh, &(fem_placing){.position = {0, 1, 0}}, 10, (fem_solid){1e5, 1e5, 1});
    fem_mesh_free(&mesh);
    m.q[0] += 0.001;
    assert_int_equal(fem_model_finish(&m), DS_OK);
    const fem_limit limit = fem_step_limit(&m, 1e-3);
    assert_true(limit.load > 1 && limit.dt < 1e-3 && limit.dt > 0);
    for (int k = 0; k < 2; k++) { /* slightly above the limit, and below */
        const double dt = limit.dt * (k == 0 ? 1.1 : 0.9);
        assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = dt, .steps = 20000}, NULL), DS_OK);
        assert_int_equal(fem_episode_run(e, NULL, NULL, 0, &bad), DS_OK);
        assert_true(k == 0 ? bad > 0 : bad == -1);
        const fem_state s = fem_episode_state(e);
        for (size_t i = 0; i < 3 * m.particles; i++) {
            assert_true(isfinite(s.q[i]) && isfinite(s.u[i]));
        }
        int64_t again;
        assert_int_equal(fem_episode_advance(e, 20000, &again), DS_OK);
        assert_true(again == bad);
        fem_episode_close(e);
    }
    fem_model_close(&m);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    fem_model m;
    fem_episode *e;
    static const double o[3] = {0, 0, 0}, x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0.5, 0.5, 0};
    fem_model_open(&m);
    fem_add_particle(&m, o, o, 1);
    fem_add_particle(&m, x, o, 1);
    fem_add_particle(&m, y, o, 1);
    fem_add_particle(&m, z, o, 1);
    fem_add_tet(&m, (const uint32_t[]){0, 1, 2, 3}, (fem_solid){1, 1, 1});
    fem_add_triangle(&m, 0, 1, 1);
    assert_int_equal(fem_model_finish(&m), DS_E_PARAM);
    assert_string_equal(m.problem, "tetrahedron 0 (particles 0, 1, 2, 3) has no volume");
    fem_model_close(&m);
    fem_model_open(&m);
    fem_add_particle(&m, o, o, 1);
    fem_add_particle(&m, x, o, 0);
    fem_add_spring(&m, 0, 1, 1, 1, -1);
    assert_int_equal(fem_model_finish(&m), DS_E_PARAM);
    assert_non_null(strstr(m.problem, "particle 1 has the mass 0"));
    fem_model_close(&m);
    fem_model_open(&m);
    fem_add_particle(&m, o, o, 1);
    fem_add_spring(&m, 0, 7, 1, 1, -1);
    assert_int_equal(fem_model_finish(&m), DS_E_PARAM);
    assert_string_equal(m.problem, "spring 0: particle 7 of 1");
    fem_model_close(&m);
    fem_model_open(&m);
    fem_add_particle(&m, o, o, 1);
    assert_int_equal(fem_model_finish(&m), DS_OK);
    assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = 0, .steps = 1}, NULL), DS_E_PARAM);
    assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = 1, .steps = 0}, NULL), DS_E_PARAM);
    assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = 1, .steps = 1, .isa = "mmx"}, NULL),
                     DS_E_PARAM);
    fem_model_close(&m);
}

/* The solid resists a change of its volume by lambda - mu/8, which is 9 V times the second derivative of its
 * energy by its size; with lambda below mu/8 it swells instead. */
static void bulk_modulus(void **state)
{
    (void)state;
    static const fem_solid laws[] = {{1000, 1000, 0}, {1000, 125.5, 0}, {1000, 124.5, 0}, {2638, 86.2, 0}};
    const double h = 1e-3;
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
        fem_mesh mesh;
        fem_model m;
        double energy[3], at[3 * 85];
        fem_model_open(&m);
        assert_int_equal(fem_mesh_ball(&mesh), DS_OK);
        fem_add_soft(&m, &mesh, &(fem_placing){.angle = 0}, 10, laws[k]);
        assert_int_equal(m.particles, 85);
        assert_int_equal(fem_model_finish(&m), DS_OK);
        for (int j = 0; j < 3; j++) {
            for (size_t i = 0; i < 3 * m.particles; i++) {
                at[i] = (1 + (j - 1) * h) * m.q[i];
            }
            energy[j] = elastic_energy(&m, at);
        }
        const double volume = 3.658712, second = (energy[0] - 2 * energy[1] + energy[2]) / (h * h);
        assert_near(second / (9 * volume), laws[k].lambda - laws[k].mu / 8, 0.01 + 3e-6 * laws[k].mu);
        assert_near(energy[2] - energy[0], 0, 1e-4 * laws[k].mu); /* at rest there is no force */
        fem_mesh_free(&mesh);
        fem_model_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_modulus),
        cmocka_unit_test(particles_fall),
        cmocka_unit_test(energy_stays),
        cmocka_unit_test(results_do_not_depend_on_memory_or_instructions),
        cmocka_unit_test(fast_episodes_match_the_plain_one),
        cmocka_unit_test(episodes_go_on_from_any_state),
        cmocka_unit_test(explosions_are_told),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
