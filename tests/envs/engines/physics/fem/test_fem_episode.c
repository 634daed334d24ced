/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_episode.c - roll-outs of deformable bodies: exact solutions, energy, the same bits for every
 * instruction set and memory limit, explosions; gradients against central differences and tangents; a
 * recording of another simulator; gradSim's scenes (Jatavallabhula et al., ICLR 2021) against values of
 * independent prototypes. With SLOW more weights of the controllers. */
#include "engines/physics/fem/episode.h"
#include "engines/physics/fem/laws/law.h"
#include "fem_scenes.h"
#include "golden.h"
#include "host.h"
#include "test.h"
#include "tests/envs/engines/physics/fem/fem_scenes.h"

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
    bar->q[1] += 1;
}

static void particles_fall(void **state)
{
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

/* A cloth that is larger by the growth of its rest area, and folded by its rest angles, feels no force. */
static void other_shapes_are_at_rest(void **state)
{
    static const double grown = 0.1;
    fem_model m;
    fem_mesh mesh;
    fem_episode *e;
    int64_t bad;
    fem_model_open(&m);
    assert_int_equal(fem_mesh_bell(&mesh, 3, 8, 0.5, 1), DS_OK);
    m.membrane[0] = (fem_membrane){100, 200, 1, 0, 0};
    m.bending[0] = (fem_bending){5, 0.1};
    m.gravity[1] = 0;
    fem_add_cloth(&m, &mesh, &(fem_placing){.axis = {0, 0, 0}}, 1, 0, 1);
    assert_int_equal(fem_model_finish(&m), DS_OK);
    for (int fold = 0; fold < 2; fold++) {
        for (size_t i = 0; i < 3 * m.particles; i++) {
            m.q[i] = sqrt(1 + grown) * mesh.point[i];
        }
        for (size_t i = 0; i < m.triangles; i++) {
            m.triangle_act[i] = -grown;
        }
        for (size_t k = 0; k < m.edges; k++) { /* second round: another angle, and the force is felt */
            m.edge_rest[k] += fold * 0.1;
        }
        assert_int_equal(fem_episode_open(&e, &m, &(fem_options){.dt = 1e-2, .steps = 1}, NULL), DS_OK);
        assert_int_equal(fem_episode_run(e, NULL, NULL, 0, &bad), DS_OK);
        double most = 0;
        for (size_t i = 0; i < 3 * m.particles; i++) {
            most = fmax(most, fabs(fem_episode_state(e).u[i]));
        }
        assert_true(fold == 0 ? most < 1e-12 : most > 1e-4);
        fem_episode_close(e);
    }
    fem_mesh_free(&mesh);
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
        const fem_triangle_law law = {m->membrane[0].mu, m->membrane[0].lambda, 0, m->triangle_act[i]};
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
        sum += m->bending[0].ke * m->edge_length[i] * turn * turn / 2;
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
        m.membrane[0] = (fem_membrane){.mu = 100, .lambda = 100};
        m.bending[0] = (fem_bending){.ke = 0.1};
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

/* A symplectic method: the energy oscillates by an amount of the order of dt and does not grow. */
static void energy_stays(void **state)
{
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
        assert_near(energy[2] - energy[0], 0, 1e-4 * laws[k].mu); /* no force at rest */
        fem_mesh_free(&mesh);
        fem_model_close(&m);
    }
}

/* ---- gradients ---- */

typedef struct agreement {
    size_t compared, wrong;
    double worst;
} agreement;

/* The derivative by one number from central differences of second or fourth order. */
static double by_differences(everything *s, double *at, double h, int order)
{
    const double here = *at;
    double by[2];
    for (int k = 0; k < order / 2; k++) {
        const double far = h * (k + 1);
        *at = here + far;
        by[k] = everything_run(s, 0);
        *at = here - far;
        by[k] = (by[k] - everything_run(s, 0)) / (2 * far);
    }
    *at = here;
    return order == 4 ? (4 * by[0] - by[1]) / 3 : by[0];
}

/* Compares every `stride`-th number, relative to the largest derivative of its kind. */
static agreement compare_gradient(everything *s, double tolerance, size_t stride, double h, int order)
{
    everything_variable v[EVERYTHING_VARIABLES];
    const size_t kinds = everything_list(s, v);
    agreement out = {0};
    everything_run(s, 1);
    for (size_t k = 0; k < kinds; k++) {
        double most = 0;
        for (size_t i = 0; i < v[k].n; i++) {
            most = fmax(most, fabs(v[k].by[i]));
        }
        for (size_t i = 0; i < v[k].n; i += stride) {
            const double step = h * fmax(strcmp(v[k].name, "mass") == 0 ? 0.01 : 0.1, fabs(v[k].at[i]));
            const double by = by_differences(s, &v[k].at[i], step, order), off = fabs(by - v[k].by[i]);
            const double error = off == 0 ? 0 : off / most;
            out.compared++;
            out.worst = fmax(out.worst, error);
            if (!(error <= tolerance)) {
                out.wrong++;
                print_message("# %s %zu: %.10g, by differences %.10g\n", v[k].name, i, v[k].by[i], by);
            }
        }
    }
    print_message("# %zu of %zu derivatives differ by more than %g; the worst by %.2g\n", out.wrong,
                  out.compared, tolerance, out.worst);
    return out;
}

static void smooth_gradients_match_differences(void **state)
{
    everything s;
    assert_true(everything_open(&s, 0, NULL, 0));
    const agreement a = compare_gradient(&s, 1e-6, 3, 1e-4, 4);
    assert_int_equal(a.wrong, 0);
    assert_true(a.compared > 100);
    everything_close(&s);
}

/* Contact makes kinks: a step of the differences may cross one. */
static void contact_gradients_match_differences(void **state)
{
    for (int friction = FEM_FRICTION_BOX; friction <= FEM_FRICTION_COULOMB; friction++) {
        everything s;
        assert_true(everything_open(&s, 1, NULL, 0));
        s.model.ground.friction = friction;
        const agreement a = compare_gradient(&s, 1e-3, 5, 1e-6, 2);
        assert_true(a.wrong * 50 <= a.compared);
        everything_variable v[EVERYTHING_VARIABLES];
        const size_t kinds = everything_list(&s, v);
        for (size_t k = 0; k < kinds; k++) { /* the ground had an effect */
            assert_true(strncmp(v[k].name, "ground", 6) != 0 || v[k].by[0] != 0);
        }
        everything_close(&s);
    }
}

/* Sets a direction for each variable. */
static void set_direction(fem_variation *d, everything *s)
{
    fem_variation_open(d, &s->room, &s->model);
    const fem_variation keep = s->gradient;
    everything_variable v[EVERYTHING_VARIABLES];
    s->gradient = *d;
    const size_t kinds = everything_list(s, v);
    for (size_t k = 0; k + 1 < kinds; k++) {
        for (size_t i = 0; i < v[k].n; i++) {
            v[k].by[i] = sin((double)(k + 3 * i)) * fmax(0.1, fabs(v[k].at[i]));
        }
    }
    *d = s->gradient;
    for (size_t i = 0; i < s->model.particles; i++) {
        d->mass[i] = s->model.fixed[i] ? 0 : d->mass[i];
    }
    s->gradient = keep;
}

static void tangents_are_adjoint_to_gradients(void **state)
{
    for (int friction = 0; friction <= FEM_FRICTION_COULOMB; friction++) {
        everything s;
        fem_variation d;
        everything_variable v[EVERYTHING_VARIABLES];
        double sum = 0, size = 0;
        assert_true(everything_open(&s, 1, NULL, 0));
        s.model.ground.friction = friction;
        everything_run(&s, 1);
        set_direction(&d, &s);
        const size_t kinds = everything_list(&s, v);
        const fem_variation gradient = s.gradient;
        double *by[EVERYTHING_VARIABLES];
        s.gradient = d;
        everything_variable w[EVERYTHING_VARIABLES];
        everything_list(&s, w);
        for (size_t k = 0; k < kinds; k++) {
            by[k] = k + 1 < kinds ? w[k].by : s.weights_dot;
            for (size_t i = 0; i < v[k].n; i++) {
                const double *g = k >= 9 && k <= 18 && k != 11 ? NULL : v[k].by;
                sum += (g ? g[i] : 0) * by[k][i];
            }
        }
        /* numbers in the structure itself */
        const double *own = &gradient.membrane[0].mu, *along = &d.membrane[0].mu;
        const size_t numbers =
            (offsetof(fem_variation, obstacle) - offsetof(fem_variation, membrane)) / sizeof(double);
        for (size_t i = 0; i < numbers; i++) {
            sum += own[i] * along[i];
        }
        s.loss_dot = 0;
        assert_int_equal(fem_tangent(s.episode, &s.driver, &s, &d, &s.bad), DS_OK);
        assert_true(s.bad < 0);
        size = fmax(fabs(sum), fabs(s.loss_dot));
        if (!(fabs(sum - s.loss_dot) <= 1e-9 * size)) {
            fail_msg("<J v, w> = %.15g, <v, J' w> = %.15g", s.loss_dot, sum);
        }
        everything_close(&s);
    }
}

/* ---- a sheet in its plane ---- */

enum { PLANE_STEPS = 200 };

/* The loss is a sum of positions and velocities in the last state. */
static void see_plane(void *self, uint64_t k, const fem_state *s, fem_state *bar)
{
    const size_t n = *(const size_t *)self;
    (void)k;
    (void)s;
    for (size_t i = 0; i < 3 * n; i++) {
        bar->q[i] += sin((double)i + 1);
        bar->u[i] += cos((double)i + 1);
    }
}

/* The walker's model, slightly compressed, falls to the ground; its plane is z = 0, or x = 0. */
static void open_plane(fem_model *m, fem_mesh *mesh, int turned)
{
    const fem_placing where = {{0, 0.02, 0}, {0, 0, 0}, {0, 1, 0}, turned ? 0.5 * 3.14159265358979323846 : 0};
    fem_model_open(m);
    assert_int_equal(fem_mesh_walker(mesh), DS_OK);
    m->membrane[0] = (fem_membrane){1e4, 1e4, 100, 0, 0};
    fem_add_cloth(m, mesh, &where, 1, 0, 0);
    assert_int_equal(fem_model_finish(m), DS_OK);
    m->ground = (fem_ground){.on = 1,
                             .friction = FEM_FRICTION_ISOTROPIC,
                             .offset = 0.01,
                             .ke = 1e4,
                             .kd = 1e3,
                             .kf = 1e3,
                             .mu = 0.5};
    for (size_t t = 0; t < m->triangles; t++) {
        m->triangle_act[t] = 0.1 * sin((double)t);
    }
    for (size_t i = 0; i < m->particles && turned; i++) {
        m->q[3 * i] = 0;
    }
}

static void run_plane(fem_model *m, uint32_t want, int plain, ds_memory *room, fem_variation *out)
{
    static const uint64_t last = PLANE_STEPS;
    const fem_driver driver = {.frames = &last, .frame_count = 1, .state_bar = see_plane};
    const fem_options o = {.dt = 1.0 / 1920,
                           .steps = PLANE_STEPS,
                           .want = FEM_WANT_MATERIAL | FEM_WANT_ACTIVATION | want,
                           .kernels = plain ? &fem_kernels_plain : NULL};
    fem_episode *e = NULL;
    int64_t bad = 0;
    fem_variation_open(out, room, m);
    assert_int_equal(fem_episode_open(&e, m, &o, NULL), DS_OK);
    assert_int_equal(fem_episode_run(e, &driver, &m->particles, 1, &bad), DS_OK);
    assert_true(bad < 0);
    assert_int_equal(fem_episode_adjoint(e, out, &bad), DS_OK);
    assert_true(bad < 0);
    fem_episode_close(e);
}

/* The share of nonzero numbers along `axis`; along the other axes both have the same bits. */
static size_t across(const double *a, const double *b, size_t n, size_t axis)
{
    size_t moved = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        if (i % 3 == axis) {
            moved += a[i] != 0;
            assert_true(b[i] == 0);
        } else {
            assert_true(a[i] == b[i]);
        }
    }
    return moved;
}

static void in_plane_changes_nothing_in_the_plane(void **state)
{
    for (int k = 0; k < 4; k++) {
        const size_t axis = k % 2 ? 0 : 2;
        fem_model m;
        fem_mesh mesh;
        ds_memory room = {0};
        fem_variation a, b;
        open_plane(&m, &mesh, k % 2);
        run_plane(&m, 0, k >= 2, &room, &a);
        run_plane(&m, FEM_WANT_IN_PLANE, k >= 2, &room, &b);
        assert_true(across(a.q, b.q, m.particles, axis) == m.particles);
        assert_true(across(a.u, b.u, m.particles, axis) == m.particles);
        assert_memory_equal(a.mass, b.mass, m.particles * sizeof *a.mass);
        assert_memory_equal(a.triangle_act, b.triangle_act, m.triangles * sizeof *a.mass);
        assert_memory_equal(&a.membrane, &b.membrane, sizeof a.membrane);
        assert_true(a.ke == b.ke && a.mu == b.mu && a.gravity[1] == b.gravity[1] && b.gravity[axis] == 0);
        /* A motion that leaves the plane has all its derivatives. */
        m.u[axis] = 1e-9;
        run_plane(&m, 0, 0, &room, &a);
        run_plane(&m, FEM_WANT_IN_PLANE, 0, &room, &b);
        assert_memory_equal(a.q, b.q, 3 * m.particles * sizeof *a.q);
        assert_memory_equal(a.u, b.u, 3 * m.particles * sizeof *a.u);
        fem_model_close(&m);
        fem_mesh_free(&mesh);
        ds_memory_free(&room);
    }
}

/* ---- a recorded episode ---- */

enum { POINTS = 200 };

typedef struct recorded {
    const json_t *frames;
    double target[3 * POINTS], loss;
    size_t n;
    uint64_t steps;
    double worst_before, worst_after;
} recorded;

static void compare_frame(void *self, uint64_t k, const fem_state *s)
{
    recorded *r = self;
    char key[24];
    double x[3 * POINTS];
    snprintf(key, sizeof key, "%llu", (unsigned long long)k);
    const json_t *frame = json_object_get(r->frames, key);
    if (frame) {
        assert_int_equal(golden_array(frame, "x", x), 3 * r->n);
        double *worst = k <= 100 ? &r->worst_before : &r->worst_after;
        for (size_t i = 0; i < 3 * r->n; i++) {
            *worst = fmax(*worst, fabs(x[i] - s->q[i]));
        }
    }
    r->loss = 0;
    for (size_t i = 0; i < 3 * r->n; i++) {
        r->loss += (s->q[i] - r->target[i]) * (s->q[i] - r->target[i]) / (double)r->n;
    }
}

static void recorded_bar(void *self, uint64_t k, const fem_state *s, fem_state *bar)
{
    recorded *r = self;
    for (size_t i = 0; i < 3 * r->n && k == r->steps; i++) {
        bar->q[i] += 2 * (s->q[i] - r->target[i]) / (double)r->n;
    }
}

static void check_share(const char *what, double have, double want, double share)
{
    print_message("# %s: %.6g, recorded %.6g\n", what, have, want);
    if (!(fabs(have - want) <= share * fabs(want))) {
        fail_msg("%s: %.8g, recorded %.8g", what, have, want);
    }
}

static void build_recorded(fem_model *m, const json_t *c, size_t n, double mu, double lambda,
                           const double v0[3])
{
    double x[3 * POINTS], mass[POINTS], ground[4];
    const json_t *tets = json_object_get(c, "tetrahedra");
    golden_array(c, "points", x);
    golden_array(c, "mass", mass);
    golden_array(c, "ke_kd_kf_mu", ground);
    fem_model_open(m);
    for (size_t i = 0; i < n; i++) {
        fem_add_particle(m, x + 3 * i, v0, mass[i]);
    }
    for (size_t t = 0; t < json_array_size(tets); t++) {
        double corner[4];
        golden_copy(json_array_get(tets, t), corner);
        fem_add_tet(m,
                    (const uint32_t[]){(uint32_t)corner[0], (uint32_t)corner[1], (uint32_t)corner[2],
                                       (uint32_t)corner[3]},
                    (fem_solid){mu, lambda, 0});
    }
    m->gravity[1] = golden_number(c, "gravity");
    m->ground = (fem_ground){
        1, FEM_FRICTION_COULOMB, golden_number(c, "radius"), ground[0], ground[1], ground[2], ground[3], 0};
    assert_int_equal(fem_model_finish(m), DS_OK);
}

static void recorded_episode(void **state)
{
    static const uint64_t all[] = {1, 50, 100, 200, 300};
    json_t *root = golden_or_skip("fem/warp_elements.json");
    const json_t *c = json_object_get(root, "episode"), *grad = json_object_get(c, "grad");
    static recorded r;
    double v0[3], want[3], by[3] = {0}, mu = 0, lambda = 0;
    fem_model m;
    fem_episode *e;
    fem_variation g;
    ds_memory room = {0};
    int64_t bad;
    r = (recorded){.frames = json_object_get(c, "frames"), .steps = (uint64_t)golden_number(c, "steps")};
    r.n = golden_array(c, "target", r.target) / 3;
    assert_true(r.n <= POINTS && r.steps == 300);
    golden_array(c, "v0", v0);
    build_recorded(&m, c, r.n, golden_number(c, "mu"), golden_number(c, "lambda"), v0);
    const fem_options o = {.dt = golden_number(c, "dt"), .steps = r.steps, .want = FEM_WANT_MATERIAL};
    assert_int_equal(fem_episode_open(&e, &m, &o, NULL), DS_OK);
    fem_variation_open(&g, &room, &m);
    const fem_driver d = {.frames = all, .frame_count = 5, .state = compare_frame, .state_bar = recorded_bar};
    assert_int_equal(fem_episode_run(e, &d, &r, 1, &bad), DS_OK);
    print_message("# frames differ by %.2g m before the contact, %.2g m after it\n", r.worst_before,
                  r.worst_after);
    assert_true(r.worst_before > 0 && r.worst_before <= 1e-5 && r.worst_after <= 2e-3);
    check_share("loss", r.loss, golden_number(c, "loss"), 1e-3);
    assert_int_equal(fem_episode_adjoint(e, &g, &bad), DS_OK);
    for (size_t i = 0; i < 3 * r.n; i++) {
        by[i % 3] += g.u[i];
    }
    for (size_t i = 0; i < m.tets; i++) {
        mu += g.solid[i].mu;
        lambda += g.solid[i].lambda;
    }
    golden_array(grad, "v0", want);
    check_share("derivative by v0x", by[0], want[0], 0.02);
    check_share("derivative by v0z", by[2], want[2], 0.02);
    check_share("derivative by mu", mu, golden_number(grad, "mu"), 0.02);
    check_share("derivative by lambda", lambda, golden_number(grad, "lambda"), 0.02);
    /* v0y is finer than the recording: compared with our own differences */
    double loss[2];
    const double h = 1e-7;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < r.n; i++) {
            m.u[3 * i + 1] = v0[1] + (side ? h : -h);
        }
        fem_episode_run(e, &d, &r, 0, &bad);
        loss[side] = r.loss;
    }
    check_share("derivative by v0y (against our differences)", by[1], (loss[1] - loss[0]) / (2 * h), 0.01);
    ds_memory_free(&room);
    fem_episode_close(e);
    fem_model_close(&m);
    json_decref(root);
}

/* ---- gradSim's scenes ---- */

static double sag(double mu, double lambda, double seconds)
{
    fem_scene s;
    const uint64_t at = (uint64_t)(seconds * 1920 + 1.5);
    assert_true(fem_scene_beam(&s, at, NULL, mu, lambda));
    assert_true(fem_step_limit(&s.model, 1.0 / 1920).load < 1);
    const size_t node = 3 * (size_t)fem_block_index(20, 2, 10, 0, 1) + 1;
    int64_t bad;
    fem_episode_run(s.episode, NULL, NULL, 0, &bad);
    assert_true(bad == -1);
    const double out = fem_episode_state(s.episode).q[node] - s.model.q[node];
    print_message("# mu %g, lambda %g, t = %g s: %.4f m\n", mu, lambda, seconds, out);
    fem_scene_close(&s);
    return out;
}

static void beams_sag(void **state)
{
    static const double measured[][4] = {
        {1000, 1000, 0.3, -0.3464}, {1000, 1000, 0.6, -0.2726}, {1000, 1000, 0.9, -0.2317},
        {1000, 1000, 1.2, -0.3385}, {100, 50, 0.6, -1.2122},    {2000, 1000, 0.6, -0.1505},
        {1000, 210, 0.6, -0.4459},
    };
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double *m = measured[i];
        assert_true(fabs(sag(m[0], m[1], m[2]) - m[3]) < 1e-4);
    }
    const double stiff = sag(2e4, 2e4, 0.3); /* still stable */
    assert_true(stiff < 0 && stiff > -0.1);
}

static void balls_bounce(void **state)
{
    /* state after 384 steps k: x and y of the centre. Before the contact the shape does not matter; after it,
     * the directions of the icosahedron's corners do, which are not part of the measured scene. */
    static const struct {
        int k;
        double x, y, tolerance;
    } measured[] = {
        {1, -1.6, 1.80349, 1e-5},       {2, -1.2, 1.21498, 1e-5},       {3, -0.81371, 0.44481, 1.5e-3},
        {5, -0.26490, 1.26751, 1.5e-3}, {10, 0.89763, 1.13572, 1.5e-3},
    };
    fem_scene s;
    assert_true(fem_scene_ball(&s, 3840, NULL));
    assert_true(fabs(s.total_mass - 36.587) < 1e-3);
    fem_scene_run(&s, 0);
    assert_true(s.bad == -1 && s.seen == 10);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double *c = s.centre[measured[i].k - 1];
        print_message("# t = %g s: (%.5f, %.5f), measured (%.5f, %.5f)\n", 0.2 * measured[i].k, c[0], c[1],
                      measured[i].x, measured[i].y);
        assert_true(fabs(c[0] - measured[i].x) < measured[i].tolerance);
        assert_true(fabs(c[1] - measured[i].y) < measured[i].tolerance);
    }
    fem_scene_close(&s);
}

static void bodies_without_actuation(void **state)
{
    fem_scene s;
    assert_true(fem_scene_gear(&s, 5760, NULL));
    memset(s.weights, 0, control_weights(s.net) * sizeof *s.weights);
    fem_scene_run(&s, 0);
    print_message("# gear: %.4f\n", s.centre[0][0]);
    assert_true(s.bad == -1 && fabs(s.centre[0][0] + 2.558) < 0.02);
    fem_scene_close(&s);
    assert_true(fem_scene_walker(&s, 9600, NULL));
    memset(s.weights, 0, control_weights(s.net) * sizeof *s.weights);
    fem_scene_run(&s, 0);
    print_message("# walker: %.5f\n", s.centre[0][0]);
    assert_true(s.bad == -1 && fabs(s.centre[0][0]) < 0.01);
    fem_scene_close(&s);
}

/* Derivatives by some weights over the whole episode. Contact has kinks: a few may lie within a difference.
 */
static void compare_weights(fem_scene *s, size_t count, double h)
{
    const size_t n = control_weights(s->net);
    size_t wrong = 0;
    double errors = 0, most = 0;
    fem_scene_run(s, 1);
    assert_true(s->bad == -1);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(s->bar[i]));
    }
    for (size_t k = 0; k < count; k++) {
        const size_t i = k * n / count;
        const double at = s->weights[i];
        s->weights[i] = at + h;
        fem_scene_run(s, 0);
        const double up = s->loss;
        s->weights[i] = at - h;
        fem_scene_run(s, 0);
        const double by = (up - s->loss) / (2 * h), error = fabs(by - s->bar[i]) / most;
        s->weights[i] = at;
        errors += error / (double)count;
        wrong += error > 1e-3;
        if (error > 1e-3) {
            print_message("# weight %zu: %.6g, by differences %.6g\n", i, s->bar[i], by);
        }
    }
    print_message(
        "# %zu of %zu derivatives by weights differ by more than 1e-3 of the largest, %.3g; mean %.2g\n",
        wrong, count, most, errors);
    assert_true(most > 0 && wrong * 5 <= count && errors < 1e-2);
}

static void gradients_of_whole_episodes(void **state)
{
#ifdef SLOW
    const size_t count = 200;
#else
    const size_t count = 2;
#endif
    fem_scene s;
    assert_true(fem_scene_gear(&s, 5760, NULL));
    assert_true(fem_episode_bytes(s.episode) <= 300000000);
    compare_weights(&s, count, 1e-6);
    fem_scene_close(&s);
    assert_true(fem_scene_walker(&s, 9600, NULL));
    assert_true(fem_episode_bytes(s.episode) <= 300000000);
    compare_weights(&s, count, 1e-6);
    fem_scene_close(&s);
}

/* ---- obstacles, driven and pushed particles ---- */

enum { DRAPE_SIDE = 7, DRAPE_STEPS = 160, DRAPE_HANDS = 2, DRAPE_NUMBERS = 3 * DRAPE_HANDS * DRAPE_STEPS };

/* A cloth falls on a ball, a turned box, a turned capsule and a bowl; two corners are driven, two vertices
 * pushed, in each step. */
typedef struct drape {
    fem_model model;
    fem_mesh mesh;
    fem_episode *episode;
    fem_variation gradient, along;
    ds_memory room;
    fem_driver driver;
    double drive[DRAPE_NUMBERS], push[DRAPE_NUMBERS], drive_bar[DRAPE_NUMBERS], push_bar[DRAPE_NUMBERS],
        drive_dot[DRAPE_NUMBERS], push_dot[DRAPE_NUMBERS];
    double loss, loss_dot;
} drape;

static const uint64_t drape_frames[] = {70, DRAPE_STEPS};
static const uint32_t drape_driven[] = {0, DRAPE_SIDE}, drape_pushed[] = {20, 60};

static double *of_step(double *all, uint64_t step)
{
    return all + 3 * DRAPE_HANDS * step;
}

#define DRAPE_HAND(name_)                                                                                    \
    static void name_##_set(void *self, uint64_t step, double *out)                                          \
    {                                                                                                        \
        memcpy(out, of_step(((drape *)self)->name_, step), 3 * DRAPE_HANDS * sizeof *out);                   \
    }                                                                                                        \
    static void name_##_take(void *self, uint64_t step, const double *bar)                                   \
    {                                                                                                        \
        memcpy(of_step(((drape *)self)->name_##_bar, step), bar, 3 * DRAPE_HANDS * sizeof *bar);             \
    }                                                                                                        \
    static void name_##_along(void *self, uint64_t step, double *out)                                        \
    {                                                                                                        \
        memcpy(out, of_step(((drape *)self)->name_##_dot, step), 3 * DRAPE_HANDS * sizeof *out);             \
    }
DRAPE_HAND(drive)
DRAPE_HAND(push)

/* The loss is a sum of squared positions and velocities with different weights. */
static double drape_weight(size_t i)
{
    return 1.5 + sin(0.7 * (double)i);
}

static void drape_state(void *self, uint64_t k, const fem_state *at)
{
    drape *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        s->loss += drape_weight(i) * (at->q[i] * at->q[i] + 0.01 * at->u[i] * at->u[i]);
    }
}

static void drape_state_bar(void *self, uint64_t k, const fem_state *at, fem_state *bar)
{
    const drape *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        bar->q[i] += 2 * drape_weight(i) * at->q[i];
        bar->u[i] += 0.02 * drape_weight(i) * at->u[i];
    }
}

static void drape_state_dot(void *self, uint64_t k, const fem_state *at, const fem_state *dot)
{
    drape *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        s->loss_dot += drape_weight(i) * (2 * at->q[i] * dot->q[i] + 0.02 * at->u[i] * dot->u[i]);
    }
}

/* A paraboloid y = x^2 / 4 + z^2 / 8, whose gradient is not of unit length. */
static double bowl(const void *body, const double x[3], double g[3], double h[9])
{
    static const double second[9] = {-0.5, 0, 0, 0, 0, 0, 0, 0, -0.25};
    memcpy(h, second, sizeof second);
    g[0] = -0.5 * x[0];
    g[1] = 1;
    g[2] = -0.25 * x[2];
    return x[1] - 0.25 * x[0] * x[0] - 0.125 * x[2] * x[2];
}

static void open_drape(drape *s, size_t memory_bytes)
{
    static const double half[4] = {0.9914448613738104, 0.13052619222005157, 0, 0}, straight[4] = {1, 0, 0, 0};
    memset(s, 0, sizeof *s);
    fem_model_open(&s->model);
    assert_int_equal(
        fem_mesh_grid(&s->mesh, DRAPE_SIDE, DRAPE_SIDE, (double[]){0.1, 0, 0}, (double[]){0, 0.01, 0.1}),
        DS_OK);
    s->model.membrane[0] = (fem_membrane){100, 100, 0.3, 0.1, 0.2};
    s->model.bending[0] = (fem_bending){0.1, 1e-3};
    fem_add_cloth(&s->model, &s->mesh, &(fem_placing){.velocity = {0.3, -2, 0.1}}, 0.01, 0.3, 1);
    const fem_obstacle law = {.offset = 0.02, .ke = 400, .kd = 1, .kf = 2, .mu = 0.4};
    fem_obstacle o[4] = {law, law, law, law};
    const struct {
        fem_obstacle_shape shape;
        double size[3], position[3];
    } kinds[4] = {{FEM_SPHERE, {0.12}, {0.2, -0.2, 0.2}},
                  {FEM_BOX, {0.1, 0.1, 0.15}, {0.5, -0.2, 0.2}},
                  {FEM_CAPSULE, {0.08, 0.1}, {0.2, -0.2, 0.55}},
                  {FEM_SURFACE, {1, 1, 1}, {0.55, -0.3, 0.55}}};
    for (int i = 0; i < 4; i++) {
        o[i].shape = kinds[i].shape;
        memcpy(o[i].size, kinds[i].size, sizeof o[i].size);
        memcpy(o[i].position, kinds[i].position, sizeof o[i].position);
        memcpy(o[i].rotation, i % 2 ? half : straight, sizeof o[i].rotation);
        o[i].distance = bowl;
        o[i].scale = 1;
        fem_add_obstacle(&s->model, &o[i]);
    }
    s->model.fixed[drape_driven[0]] = s->model.fixed[drape_driven[1]] = 1;
    assert_int_equal(fem_model_finish(&s->model), DS_OK);
    const fem_options options = {
        .dt = 1e-3, .steps = DRAPE_STEPS, .want = FEM_WANT_MATERIAL, .memory_bytes = memory_bytes};
    assert_int_equal(fem_episode_open(&s->episode, &s->model, &options, NULL), DS_OK);
    fem_variation_open(&s->gradient, &s->room, &s->model);
    fem_variation_open(&s->along, &s->room, &s->model);
    s->driver = (fem_driver){.drive = {drape_driven, DRAPE_HANDS, drive_set, drive_take, drive_along},
                             .push = {drape_pushed, DRAPE_HANDS, push_set, push_take, push_along},
                             .frames = drape_frames,
                             .frame_count = 2,
                             .state = drape_state,
                             .state_bar = drape_state_bar,
                             .state_dot = drape_state_dot};
    for (size_t i = 0; i < DRAPE_NUMBERS; i++) {
        s->drive[i] = sin(0.02 * (double)i + (double)(i % 3)) - (i % 3 == 1 ? 1 : 0);
        s->push[i] = 0.1 * cos(0.03 * (double)i + (double)(i % 5));
        s->drive_dot[i] = cos(0.4 * (double)i);
        s->push_dot[i] = 0.3 * sin(1.3 * (double)i);
    }
}

static void close_drape(drape *s)
{
    fem_episode_close(s->episode);
    ds_memory_free(&s->room);
    fem_model_close(&s->model);
    fem_mesh_free(&s->mesh);
}

static double run_drape(drape *s, int gradient)
{
    int64_t bad;
    s->loss = 0;
    assert_int_equal(fem_episode_run(s->episode, &s->driver, s, gradient, &bad), DS_OK);
    assert_true(bad < 0);
    if (gradient) {
        assert_int_equal(fem_episode_adjoint(s->episode, &s->gradient, &bad), DS_OK);
        assert_true(bad < 0);
    }
    return s->loss;
}

static void obstacles_and_hands_match_differences(void **state)
{
    drape s;
    open_drape(&s, 0);
    for (size_t k = 0; k < 4; k++) { /* every obstacle has an effect */
        const double with = run_drape(&s, 0);
        s.model.obstacle[k].offset -= 10;
        assert_true(run_drape(&s, 0) != with);
        s.model.obstacle[k].offset += 10;
    }
    run_drape(&s, 1);
    const struct {
        const char *name;
        double *at, *by;
        size_t n, stride;
        double step;
    } v[] = {{"q", s.model.q, s.gradient.q, 3 * s.model.particles, 1, 1e-7},
             {"u", s.model.u, s.gradient.u, 3 * s.model.particles, 1, 1e-6},
             {"mass", s.model.mass, s.gradient.mass, s.model.particles, 5, 1e-8},
             {"stretch", &s.model.membrane[0].mu, &s.gradient.membrane[0].mu, 1, 1, 1e-2},
             {"drive", s.drive, s.drive_bar, DRAPE_NUMBERS, 5, 1e-4},
             {"push", s.push, s.push_bar, DRAPE_NUMBERS, 11, 1e-3}};
    size_t compared = 0, wrong = 0;
    double worst = 0;
    for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
        double most = 0;
        for (size_t i = 0; i < v[k].n; i++) {
            most = fmax(most, fabs(v[k].by[i]));
        }
        assert_true(most > 0);
        for (size_t i = 0; i < v[k].n; i += v[k].stride) {
            const double here = v[k].at[i];
            if ((v[k].at == s.model.u && s.model.fixed[i / 3]) ||
                (v[k].at == s.model.mass && s.model.fixed[i])) {
                assert_true(v[k].by[i] == 0); /* a driven particle has another velocity */
                continue;
            }
            v[k].at[i] = here + v[k].step;
            const double above = run_drape(&s, 0);
            v[k].at[i] = here - v[k].step;
            const double by = (above - run_drape(&s, 0)) / (2 * v[k].step);
            const double error = fabs(by - v[k].by[i]) / most;
            v[k].at[i] = here;
            compared++;
            worst = fmax(worst, error);
            if (!(error <= 1e-6)) { /* a contact begins or ends within the difference */
                wrong++;
                print_message("# %s %zu: %.10g, by differences %.10g\n", v[k].name, i, v[k].by[i], by);
            }
        }
    }
    print_message("# %zu of %zu derivatives differ; the worst by %.2g\n", wrong, compared, worst);
    assert_true(compared > 600 && wrong * 50 <= compared && worst < 1e-2);
    close_drape(&s);
}

static void obstacles_and_hands_have_tangents(void **state)
{
    drape s, few;
    int64_t bad;
    open_drape(&s, 0);
    open_drape(&few, 20000);
    run_drape(&s, 1);
    run_drape(&few, 1);
    assert_true(s.loss == few.loss);
    assert_memory_equal(s.gradient.q, few.gradient.q, 3 * s.model.particles * sizeof(double));
    assert_memory_equal(s.drive_bar, few.drive_bar, sizeof s.drive_bar);
    assert_memory_equal(s.push_bar, few.push_bar, sizeof s.push_bar);
    double sum = 0;
    for (size_t i = 0; i < 3 * s.model.particles; i++) {
        s.along.q[i] = 0.01 * sin((double)i);
        s.along.u[i] = 0.1 * cos(1.7 * (double)i);
        sum += s.gradient.q[i] * s.along.q[i] + s.gradient.u[i] * s.along.u[i];
    }
    for (size_t i = 0; i < DRAPE_NUMBERS; i++) {
        sum += s.drive_bar[i] * s.drive_dot[i] + s.push_bar[i] * s.push_dot[i];
    }
    assert_int_equal(fem_tangent(s.episode, &s.driver, &s, &s.along, &bad), DS_OK);
    assert_true(fabs(sum - s.loss_dot) <= 1e-10 * fabs(sum));
    close_drape(&s);
    close_drape(&few);
}

/* Signed distances and normals against differences, outside and inside, in turned bodies. */
static void distances_have_derivatives(void **state)
{
    drape s;
    open_drape(&s, 0);
    size_t inside = 0;
    for (size_t i = 0; i < 800; i++) {
        const fem_obstacle *o = &s.model.obstacle[i % 4];
        double q[3], n[3], turn[9], slope, other[9], size, a[3], b[3];
        for (size_t d = 0; d < 3; d++) {
            q[d] = o->position[d] + 0.3 * sin(1.1 * (double)(3 * i + d) + (double)d);
        }
        const double phi = fem_obstacle_distance(o, q, n, turn, &slope);
        inside += phi < 0;
        assert_true(fabs(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] - 1) < 1e-12);
        for (size_t d = 0; d < 3; d++) {
            const double h = 1e-6, here = q[d];
            q[d] = here + h;
            const double above = fem_obstacle_distance(o, q, a, other, &size);
            q[d] = here - h;
            const double below = fem_obstacle_distance(o, q, b, other, &size);
            q[d] = here;
            assert_true(fabs((above - below) / (2 * h) - slope * n[d]) < 1e-6);
            for (size_t k = 0; k < 3; k++) {
                assert_true(fabs((a[k] - b[k]) / (2 * h) - turn[3 * k + d]) <
                            1e-5 * (1 + fabs(turn[3 * k + d])));
            }
        }
    }
    assert_true(inside > 80);
    close_drape(&s);
}

RUN_TESTS(bulk_modulus, particles_fall, other_shapes_are_at_rest, energy_stays,
          results_do_not_depend_on_memory_or_instructions, fast_episodes_match_the_plain_one,
          episodes_go_on_from_any_state, explosions_are_told, nonsense_is_refused,
          smooth_gradients_match_differences, contact_gradients_match_differences,
          tangents_are_adjoint_to_gradients, in_plane_changes_nothing_in_the_plane, recorded_episode,
          beams_sag, balls_bounce, bodies_without_actuation, gradients_of_whole_episodes,
          obstacles_and_hands_match_differences, obstacles_and_hands_have_tangents,
          distances_have_derivatives)
