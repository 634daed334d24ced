/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_episode.c - roll-outs: exact solutions, energy, gradients of whole episodes against central
 * differences, tangents against gradients, the same bits for every instruction set and memory limit,
 * explosions, a recorded episode, the controllers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/helper/random.h>
#include <math.h>

#include "engines/control/control.h"
#include "engines/fem/episode.h"
#include "engines/fem/stability.h"
#include "golden.h"

/* ---- an episode with everything: a block, a cloth in the air, springs, activations, ground ---- */

enum { FRAMES = 3, STEPS = 200, ELEMENTS = 3 };

typedef struct scene {
    fem_model model;
    fem_episode *episode;
    fem_variation gradient;
    memory room;
    fem_driver driver;
    uint64_t frames[FRAMES];
    control *net;
    double *weights, *bar, *weights_dot;
    double loss, loss_dot;
    int64_t bad;
} scene;

/* Some smooth function of a state, and its slope by one number. */
static double term(uint64_t k, size_t i, double x)
{
    return sin(3 * x + (double)(k + i)) + 0.1 * x * x;
}

static double slope(uint64_t k, size_t i, double x)
{
    return 3 * cos(3 * x + (double)(k + i)) + 0.2 * x;
}

static void show(void *self, uint64_t k, const fem_state *now)
{
    scene *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        s->loss += term(k, i, now->q[i]) + 0.01 * term(k, i + 1, now->u[i]);
    }
}

static void show_bar(void *self, uint64_t k, const fem_state *now, fem_state *bar)
{
    scene *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        bar->q[i] += slope(k, i, now->q[i]);
        bar->u[i] += 0.01 * slope(k, i + 1, now->u[i]);
    }
}

static void show_dot(void *self, uint64_t k, const fem_state *now, const fem_state *dot)
{
    scene *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        s->loss_dot += slope(k, i, now->q[i]) * dot->q[i] + 0.01 * slope(k, i + 1, now->u[i]) * dot->u[i];
    }
}

static void activate(void *self, uint64_t step, fem_activation *act)
{
    control_activate(((scene *)self)->net, step, act->tet);
}

static void activate_bar(void *self, uint64_t step, const fem_activation *bar)
{
    control_adjoint(((scene *)self)->net, step, bar->tet);
}

static void activate_dot(void *self, uint64_t step, fem_activation *dot)
{
    control_tangent(((scene *)self)->net, step, ((scene *)self)->weights_dot, dot->tet);
}

static void build(fem_model *m, int contact)
{
    fem_mesh block, cloth;
    ds_random r = ds_random_open(5, "episode", 0);
    fem_model_open(m);
    fem_mesh_block(&block, 2, 1, 1, (double[]){0.3, 0.3, 0.3});
    fem_mesh_grid(&cloth, 3, 2, (double[]){0.2, 0, 0}, (double[]){0, 0.1, 0.2});
    uint32_t low = fem_add_soft(
        m, &block, &(fem_placing){.position = {0, contact ? 0.02 : 0.2, 0}, .velocity = {1, 0, 0.3}}, 50,
        (fem_solid){3000, 5000, 10});
    uint32_t high = fem_add_cloth(
        m, &cloth, &(fem_placing){.position = {0, 0.8, 0}, .axis = {1, 2, 0}, .angle = 0.7}, 0.1, 0.3, 1);
    for (uint32_t i = 0; i < 5; i++) {
        fem_add_spring(m, low + 2 * i, high + 2 * i, 20 + i, 0.3, -1);
    }
    m->membrane = (fem_membrane){100, 80, 1, 0.7, 0.4};
    m->bending = (fem_bending){0.7, 0.02};
    m->ground = (fem_ground){contact, FEM_FRICTION_BOX, 0.01, 3000, 5, 8, 0.6};
    assert_int_equal(fem_model_finish(m), DS_OK);
    for (size_t i = 0; i < 3 * m->particles; i++) {
        m->q[i] += 0.01 * ds_random_uniform(&r);
        m->u[i] += 0.5 * ds_random_uniform(&r);
    }
    for (size_t i = 0; i < m->triangles; i++) {
        m->triangle_act[i] = 0.1 * ds_random_uniform(&r);
    }
    for (size_t i = 0; i < m->edges; i++) {
        m->edge_act[i] = 0.1 * ds_random_uniform(&r);
    }
    m->fixed[high] = 1;
    fem_mesh_free(&block);
    fem_mesh_free(&cloth);
}

static int open_scene(scene *s, int contact, const char *isa, size_t memory_bytes)
{
    const fem_options o = {.dt = 1e-3,
                           .steps = STEPS,
                           .want = FEM_WANT_MATERIAL | FEM_WANT_ACTIVATION,
                           .memory_bytes = memory_bytes,
                           .isa = isa};
    double phase[4];
    *s = (scene){.frames = {0, STEPS / 3, STEPS}};
    build(&s->model, contact);
    if (fem_episode_open(&s->episode, &s->model, &o, NULL) != DS_OK) {
        fem_model_close(&s->model);
        return 0;
    }
    fem_variation_open(&s->gradient, &s->room, &s->model);
    s->net = control_open(&s->room, &(control_options){.elements = s->model.tets,
                                                       .phases = 4,
                                                       .phase = phase,
                                                       .rate = control_walker_phases(4, phase),
                                                       .scale = 0.2,
                                                       .dt = o.dt,
                                                       .steps = o.steps,
                                                       .isa = isa});
    assert_non_null(s->net);
    memory_each(&s->room, control_weights(s->net),
                (double **const[]){&s->weights, &s->bar, &s->weights_dot, NULL});
    for (size_t i = 0; i < control_weights(s->net); i++) {
        s->weights[i] = cos((double)(i * i));
        s->weights_dot[i] = sin((double)i);
    }
    s->driver =
        (fem_driver){s->frames, FRAMES, activate, activate_bar, show, show_bar, activate_dot, show_dot};
    assert_false(s->room.failed);
    return 1;
}

static void close_scene(scene *s)
{
    fem_episode_close(s->episode);
    fem_model_close(&s->model);
    memory_free(&s->room);
}

static double run_scene(scene *s, int gradient)
{
    s->loss = 0;
    control_set(s->net, s->weights);
    control_clear(s->net);
    assert_int_equal(fem_episode_run(s->episode, &s->driver, s, gradient, &s->bad), DS_OK);
    assert_true(s->bad < 0);
    if (gradient) {
        assert_int_equal(fem_episode_adjoint(s->episode, &s->gradient, &s->bad), DS_OK);
        assert_true(s->bad < 0);
        control_gradient(s->net, s->bar);
    }
    return s->loss;
}

/* ---- gradients ---- */

/* Numbers of the episode with the places of their derivatives. */
typedef struct variable {
    const char *name;
    double *at, *by;
    size_t n;
} variable;

/* Constants of the solids are for all tetrahedra together. */
static size_t list_variables(scene *s, variable out[24])
{
    fem_model *m = &s->model;
    fem_variation *g = &s->gradient;
    const variable all[] = {
        {"q", m->q, g->q, 3 * m->particles},
        {"u", m->u, g->u, 3 * m->particles},
        {"mass", m->mass, g->mass, m->particles},
        {"spring ke", m->spring_ke, g->spring_ke, m->springs},
        {"spring kd", m->spring_kd, g->spring_kd, m->springs},
        {"spring rest", m->spring_rest, g->spring_rest, m->springs},
        {"triangle act", m->triangle_act, g->triangle_act, m->triangles},
        {"edge act", m->edge_act, g->edge_act, m->edges},
        {"edge rest", m->edge_rest, g->edge_rest, m->edges},
        {"membrane", &m->membrane.mu, &g->membrane.mu, 5},
        {"bending", &m->bending.ke, &g->bending.ke, 2},
        {"solid", &m->solid[0].mu, &g->solid[0].mu, 3 * m->tets},
        {"ground ke", &m->ground.ke, &g->ke, 1},
        {"ground kd", &m->ground.kd, &g->kd, 1},
        {"ground kf", &m->ground.kf, &g->kf, 1},
        {"ground mu", &m->ground.mu, &g->mu, 1},
        {"gravity", m->gravity, g->gravity, 3},
        {"weights", s->weights, s->bar, control_weights(s->net)},
    };
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof *all;
}

typedef struct agreement {
    size_t compared, wrong;
    double worst;
} agreement;

/* The derivative by one number from central differences of second or fourth order. */
static double by_differences(scene *s, double *at, double h, int order)
{
    const double here = *at;
    double by[2];
    for (int k = 0; k < order / 2; k++) {
        const double far = h * (k + 1);
        *at = here + far;
        by[k] = run_scene(s, 0);
        *at = here - far;
        by[k] = (by[k] - run_scene(s, 0)) / (2 * far);
    }
    *at = here;
    return order == 4 ? (4 * by[0] - by[1]) / 3 : by[0];
}

/* Of every `stride`-th number, relative to the largest derivative of its kind. */
static agreement compare_gradient(scene *s, double tolerance, size_t stride, double h, int order)
{
    variable v[24];
    const size_t kinds = list_variables(s, v);
    agreement out = {0};
    run_scene(s, 1);
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
    (void)state;
    scene s;
    assert_true(open_scene(&s, 0, NULL, 0));
    const agreement a = compare_gradient(&s, 1e-6, 3, 1e-4, 4);
    assert_int_equal(a.wrong, 0);
    assert_true(a.compared > 100);
    close_scene(&s);
}

/* Contact makes kinks: a step of the differences may lie on both sides of one. */
static void contact_gradients_match_differences(void **state)
{
    (void)state;
    for (int friction = FEM_FRICTION_BOX; friction <= FEM_FRICTION_COULOMB; friction++) {
        scene s;
        assert_true(open_scene(&s, 1, NULL, 0));
        s.model.ground.friction = friction;
        const agreement a = compare_gradient(&s, 1e-3, 5, 1e-6, 2);
        assert_true(a.wrong * 50 <= a.compared);
        variable v[24];
        const size_t kinds = list_variables(&s, v);
        for (size_t k = 0; k < kinds; k++) { /* the ground has been felt */
            assert_true(strncmp(v[k].name, "ground", 6) != 0 || v[k].by[0] != 0);
        }
        close_scene(&s);
    }
}

/* A number for each variable. */
static void set_direction(fem_variation *d, scene *s)
{
    fem_variation_open(d, &s->room, &s->model);
    const fem_variation keep = s->gradient;
    variable v[24];
    s->gradient = *d;
    const size_t kinds = list_variables(s, v);
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
    (void)state;
    for (int friction = 0; friction <= FEM_FRICTION_COULOMB; friction++) {
        scene s;
        fem_variation d;
        variable v[24];
        double sum = 0, size = 0;
        assert_true(open_scene(&s, 1, NULL, 0));
        s.model.ground.friction = friction;
        run_scene(&s, 1);
        set_direction(&d, &s);
        const size_t kinds = list_variables(&s, v);
        const fem_variation gradient = s.gradient;
        double *by[24];
        s.gradient = d;
        variable w[24];
        list_variables(&s, w);
        for (size_t k = 0; k < kinds; k++) {
            by[k] = k + 1 < kinds ? w[k].by : s.weights_dot;
            for (size_t i = 0; i < v[k].n; i++) {
                const double *g = k >= 9 && k <= 16 && k != 11 ? NULL : v[k].by;
                sum += (g ? g[i] : 0) * by[k][i];
            }
        }
        /* those that are in the structure itself */
        const double *own = &gradient.membrane.mu, *along = &d.membrane.mu;
        const size_t numbers = 5 + 2 + 4 + 3;
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
        close_scene(&s);
    }
}

/* ---- the same bits ---- */

static size_t collect(scene *s, double *out)
{
    variable v[24];
    const size_t kinds = list_variables(s, v);
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
        scene s;
        if (!open_scene(&s, 1, sets[k], limits[k])) {
            print_message("# %s does not run here: not compared\n", sets[k]);
            continue;
        }
        most = k == 0 ? fem_episode_bytes(s.episode) : most;
        assert_true(limits[k] == 0 || fem_episode_bytes(s.episode) < most / 2);
        run_scene(&s, 1);
        const size_t have = collect(&s, k == 0 ? first : other);
        n = k == 0 ? have : n;
        assert_int_equal(have, n);
        if (k > 0) {
            assert_memory_equal(first, other, n * sizeof *first);
        }
        /* again: nothing is left over from the first time */
        run_scene(&s, 1);
        collect(&s, other);
        assert_memory_equal(first, other, n * sizeof *first);
        close_scene(&s);
    }
}

static void fast_episodes_match_the_plain_one(void **state)
{
    (void)state;
    static double plain[4096], fast[4096];
    for (int k = 0; k < 2; k++) {
        scene s;
        assert_true(open_scene(&s, 1, k ? "baseline" : "plain", 0));
        run_scene(&s, 1);
        const size_t n = collect(&s, k ? fast : plain);
        for (size_t i = 0; i < n && k; i++) {
            if (!(fabs(plain[i] - fast[i]) <= 1e-8 * (1 + fabs(plain[i])))) {
                fail_msg("number %zu: %.17g, plain %.17g", i, fast[i], plain[i]);
            }
        }
        close_scene(&s);
    }
}

/* In parts, from one frame to the next, as whole. */
static void episodes_go_on_from_any_state(void **state)
{
    (void)state;
    scene s;
    assert_true(open_scene(&s, 1, NULL, 20000));
    const double whole = run_scene(&s, 1);
    static double first[4096], other[4096];
    const size_t n = collect(&s, first);
    s.loss = 0;
    control_clear(s.net);
    fem_episode_begin(s.episode, &s.driver, &s, 1);
    for (uint64_t until = 7; until < STEPS + 7; until += 7) {
        assert_int_equal(fem_episode_advance(s.episode, until, &s.bad), DS_OK);
    }
    assert_int_equal(fem_episode_adjoint(s.episode, &s.gradient, &s.bad), DS_OK);
    control_gradient(s.net, s.bar);
    assert_true(s.loss == whole);
    collect(&s, other);
    assert_memory_equal(first, other, n * sizeof *first);
    close_scene(&s);
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
    memory room = {0};
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
    assert_true(fabs(g.mass[0]) < 1e-12); /* gravity does not know it, but to rounding */
    memory_free(&room);
    fem_episode_close(e);
    fem_model_close(&m);
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
        double energy = fem_elastic_energy(&m, s.q);
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
    for (int k = 0; k < 2; k++) { /* somewhat beyond the limit, and within */
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
        1, FEM_FRICTION_COULOMB, golden_number(c, "radius"), ground[0], ground[1], ground[2], ground[3]};
    assert_int_equal(fem_model_finish(m), DS_OK);
}

static void recorded_episode(void **state)
{
    (void)state;
    static const uint64_t all[] = {1, 50, 100, 200, 300};
    json_t *root = golden_or_skip("fem/warp_elements.json");
    const json_t *c = json_object_get(root, "episode"), *grad = json_object_get(c, "grad");
    static recorded r;
    double v0[3], want[3], by[3] = {0}, mu = 0, lambda = 0;
    fem_model m;
    fem_episode *e;
    fem_variation g;
    memory room = {0};
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
    /* v0y is finer than the recording: our own differences */
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
    memory_free(&room);
    fem_episode_close(e);
    fem_model_close(&m);
    json_decref(root);
}

/* ---- controllers ---- */

static void controllers_share_weights_in_groups(void **state)
{
    (void)state;
    enum { E = 11, G = 3, P = 2 };
    memory room = {0};
    uint32_t group[E];
    double phase[P], w[G * P], bar[G * P], act[E], act_bar[E], up, down;
    for (uint32_t i = 0; i < E; i++) {
        group[i] = i * i % G;
        act_bar[i] = cos(i);
    }
    control *c = control_open(&room, &(control_options){.elements = E,
                                                        .groups = G,
                                                        .group = group,
                                                        .phases = P,
                                                        .phase = phase,
                                                        .rate = control_walker_phases(P, phase),
                                                        .scale = 0.3,
                                                        .dt = 0.01,
                                                        .steps = 50});
    assert_non_null(c);
    assert_int_equal(control_weights(c), G * P);
    for (int i = 0; i < G * P; i++) {
        w[i] = sin(i + 1);
    }
    control_set(c, w);
    control_clear(c);
    control_activate(c, 13, act);
    for (int i = 0; i < E; i++) { /* the phases of two are sin and cos */
        const double *row = w + P * group[i], t = 20 * 13 * 0.01;
        assert_true(fabs(act[i] - 0.3 * tanh(row[0] * sin(t) + row[1] * cos(t))) < 1e-14);
    }
    control_adjoint(c, 13, act_bar);
    control_gradient(c, bar);
    for (int k = 0; k < G * P; k++) {
        const double at = w[k], h = 1e-6;
        up = down = 0;
        for (int side = 0; side < 2; side++) {
            w[k] = at + (side ? h : -h);
            control_set(c, w);
            control_activate(c, 13, act);
            for (int i = 0; i < E; i++) {
                *(side ? &up : &down) += act_bar[i] * act[i];
            }
        }
        w[k] = at;
        assert_true(fabs((up - down) / (2 * h) - bar[k]) < 1e-9);
    }
    group[4] = G;
    assert_null(control_open(
        &room, &(control_options){
                   .elements = E, .groups = G, .group = group, .phases = P, .phase = phase, .steps = 1}));
    assert_null(
        control_open(&room, &(control_options){.elements = E, .phases = 0, .phase = phase, .steps = 1}));
    memory_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(particles_fall),
        cmocka_unit_test(energy_stays),
        cmocka_unit_test(smooth_gradients_match_differences),
        cmocka_unit_test(contact_gradients_match_differences),
        cmocka_unit_test(tangents_are_adjoint_to_gradients),
        cmocka_unit_test(results_do_not_depend_on_memory_or_instructions),
        cmocka_unit_test(fast_episodes_match_the_plain_one),
        cmocka_unit_test(episodes_go_on_from_any_state),
        cmocka_unit_test(explosions_are_told),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(recorded_episode),
        cmocka_unit_test(controllers_share_weights_in_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
