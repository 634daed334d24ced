/* SPDX-License-Identifier: Apache-2.0 */
/* fem_scenes.c - episodes of gradSim's scenes (see fem_scenes.h). */
#include "fem_scenes.h"

#include "test.h"

#include <diffsim/helper/random.h>

/* The scalar oracle where `isa` names it. */
static const fem_kernels *oracle(const char *isa)
{
    return isa != NULL && strcmp(isa, "plain") == 0 ? &fem_kernels_plain : NULL;
}

static void activate(void *self, uint64_t step, fem_activation *act)
{
    fem_scene *s = self;
    control_activate(s->net, step, s->model.tets ? act->tet : act->triangle);
}

static void activate_bar(void *self, uint64_t step, const fem_activation *bar)
{
    fem_scene *s = self;
    control_adjoint(s->net, step, s->model.tets ? bar->tet : bar->triangle);
}

static void state(void *self, uint64_t k, const fem_state *now)
{
    fem_scene *s = self;
    double *c = s->centre[s->seen < 15 ? s->seen++ : 15];
    fem_centre(&s->model, now->q, c);
    memcpy(s->last, now->q, 3 * s->model.particles * sizeof *s->last);
    if (k == s->frames[s->driver.frame_count - 1]) {
        for (int i = 0; i < 3; i++) {
            s->loss += (c[i] - s->target[i]) * (c[i] - s->target[i]);
        }
    }
}

static void state_bar(void *self, uint64_t k, const fem_state *now, fem_state *bar)
{
    fem_scene *s = self;
    double c[3];
    if (k != s->frames[s->driver.frame_count - 1]) {
        return;
    }
    fem_centre(&s->model, now->q, c);
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        bar->q[i] += 2 * (c[i % 3] - s->target[i % 3]) * s->model.mass[i / 3] / s->total_mass;
    }
}

int fem_scene_open(fem_scene *s, const fem_options *o)
{
    if (fem_model_finish(&s->model) != DS_OK || fem_episode_open(&s->episode, &s->model, o, NULL) != DS_OK) {
        fem_scene_close(s);
        return 0;
    }
    fem_variation_open(&s->gradient, &s->room, &s->model);
    s->last = ds_memory_doubles(&s->room, 3 * s->model.particles);
    for (size_t i = 0; i < s->model.particles; i++) {
        s->total_mass += s->model.mass[i];
    }
    if (s->driver.frame_count == 0) {
        s->driver.frame_count = 1;
        s->frames[0] = o->steps;
    }
    s->driver.frames = s->frames;
    s->driver.state = state;
    s->driver.state_bar = state_bar;
    if (s->net) {
        s->driver.activate = activate;
        s->driver.activate_bar = activate_bar;
        s->weights = ds_memory_doubles(&s->room, control_weights(s->net));
        s->bar = ds_memory_doubles(&s->room, control_weights(s->net));
    }
    return !s->room.failed;
}

void fem_scene_close(fem_scene *s)
{
    fem_episode_close(s->episode);
    fem_model_close(&s->model);
    ds_memory_free(&s->room);
}

void fem_scene_run(fem_scene *s, int gradient)
{
    s->seen = 0;
    s->loss = 0;
    if (s->net) {
        control_set(s->net, s->weights);
        control_clear(s->net);
    }
    fem_episode_run(s->episode, &s->driver, s, gradient, &s->bad);
    if (gradient && s->bad < 0) {
        fem_episode_adjoint(s->episode, &s->gradient, &s->bad);
    }
    if (s->net && gradient) {
        control_gradient(s->net, s->bar);
    }
}

static void random_weights(fem_scene *s)
{
    ds_random r = ds_random_open(1, "weights", 0);
    const size_t phases = 8;
    for (size_t i = 0; s->net && i < control_weights(s->net); i++) {
        s->weights[i] = (2 * ds_random_uniform(&r) - 1) / sqrt((double)phases);
    }
}

static int open_moving(fem_scene *s, const fem_options *o, double (*phases)(size_t, double *), double scale,
                       size_t elements)
{
    double phase[8];
    const double rate = phases(8, phase);
    s->net = control_open(&s->room, &(control_options){.elements = elements,
                                                       .phases = 8,
                                                       .phase = phase,
                                                       .rate = rate,
                                                       .scale = scale,
                                                       .dt = o->dt,
                                                       .steps = o->steps,
                                                       .isa = o->kernels ? NULL : o->isa});
    if (!s->net) {
        fem_scene_close(s);
        return 0;
    }
    int opened = fem_scene_open(s, o);
    if (opened) {
        random_weights(s);
    }
    return opened;
}

int fem_scene_gear(fem_scene *s, uint64_t steps, const char *isa)
{
    const fem_options o = {.dt = 1.0 / 1920, .steps = steps, .isa = isa, .kernels = oracle(isa)};
    fem_mesh mesh;
    *s = (fem_scene){.target = {2, 2, 0}};
    fem_mesh_gear(&mesh);
    fem_model_open(&s->model);
    fem_add_soft(&s->model, &mesh, &(fem_placing){.position = {-4, 2, 0}, .velocity = {1.5, 0, 0}}, 1,
                 (fem_solid){1000, 1000, 1});
    fem_mesh_free(&mesh);
    s->model.ground = (fem_ground){.on = 1, .offset = 0.01, .ke = 1e4, .kd = 1, .kf = 10, .mu = 0.5};
    return open_moving(s, &o, control_gear_phases, 0.3, s->model.tets);
}

int fem_scene_walker(fem_scene *s, uint64_t steps, const char *isa)
{
    const fem_options o = {.dt = 1.0 / 1920, .steps = steps, .isa = isa, .kernels = oracle(isa)};
    fem_mesh mesh;
    *s = (fem_scene){.target = {2, 1, 0}};
    fem_mesh_walker(&mesh);
    fem_model_open(&s->model);
    fem_add_cloth(&s->model, &mesh, &(fem_placing){.position = {0, 0, 0}}, 1, 0, 0);
    fem_mesh_free(&mesh);
    s->model.membrane[0] = (fem_membrane){.mu = 1e4, .lambda = 1e4, .kd = 100};
    s->model.ground = (fem_ground){.on = 1, .offset = 0.01, .ke = 1e4, .kd = 1000, .kf = 1000, .mu = 0.5};
    return open_moving(s, &o, control_walker_phases, 0.2, s->model.triangles);
}

int fem_scene_beam(fem_scene *s, uint64_t steps, const char *isa, double mu, double lambda)
{
    const fem_options o = {
        .dt = 1.0 / 1920, .steps = steps, .isa = isa, .kernels = oracle(isa), .want = FEM_WANT_MATERIAL};
    fem_mesh mesh;
    *s = (fem_scene){.target = {0, 0, 0}};
    fem_mesh_beam(&mesh);
    fem_model_open(&s->model);
    fem_add_soft(&s->model, &mesh, &(fem_placing){.position = {0, 0, 0}}, 10, (fem_solid){mu, lambda, 5});
    for (size_t i = 0; i < mesh.points; i++) {
        s->model.fixed[i] = fabs(mesh.point[3 * i]) > 0.999;
    }
    fem_mesh_free(&mesh);
    for (uint64_t k = 1; 576 * k + 1 <= steps; k++) {
        s->frames[s->driver.frame_count++] = 576 * k + 1;
    }
    return fem_scene_open(s, &o);
}

int fem_scene_ball(fem_scene *s, uint64_t steps, const char *isa)
{
    const fem_options o = {
        .dt = 1.0 / 1920, .steps = steps, .isa = isa, .kernels = oracle(isa), .want = FEM_WANT_MATERIAL};
    fem_mesh mesh;
    *s = (fem_scene){.target = {1, 1, 0}};
    fem_mesh_ball(&mesh);
    fem_model_open(&s->model);
    fem_add_soft(&s->model, &mesh, &(fem_placing){.position = {-2, 2, 0}, .velocity = {2, 0, 0}}, 10,
                 (fem_solid){1000, 1000, 1});
    fem_mesh_free(&mesh);
    s->model.ground = (fem_ground){.on = 1, .offset = 0.01, .ke = 1e4, .kd = 1, .kf = 10, .mu = 0.5};
    for (uint64_t k = 1; 384 * k <= steps; k++) {
        s->frames[s->driver.frame_count++] = 384 * k;
    }
    return fem_scene_open(s, &o);
}

/* ---- an episode with every feature ---- */

/* A smooth function of a state, and its slope by one number. */
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
    everything *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        s->loss += term(k, i, now->q[i]) + 0.01 * term(k, i + 1, now->u[i]);
    }
}

static void show_bar(void *self, uint64_t k, const fem_state *now, fem_state *bar)
{
    everything *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        bar->q[i] += slope(k, i, now->q[i]);
        bar->u[i] += 0.01 * slope(k, i + 1, now->u[i]);
    }
}

static void show_dot(void *self, uint64_t k, const fem_state *now, const fem_state *dot)
{
    everything *s = self;
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        s->loss_dot += slope(k, i, now->q[i]) * dot->q[i] + 0.01 * slope(k, i + 1, now->u[i]) * dot->u[i];
    }
}

static void everything_activate(void *self, uint64_t step, fem_activation *act)
{
    control_activate(((everything *)self)->net, step, act->tet);
}

static void everything_activate_bar(void *self, uint64_t step, const fem_activation *bar)
{
    control_adjoint(((everything *)self)->net, step, bar->tet);
}

static void everything_activate_dot(void *self, uint64_t step, fem_activation *dot)
{
    control_tangent(((everything *)self)->net, step, ((everything *)self)->weights_dot, NULL, dot->tet);
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
    m->membrane[0] = (fem_membrane){100, 80, 1, 0.7, 0.4};
    m->bending[0] = (fem_bending){0.7, 0.02};
    if (contact) { /* two membranes */
        m->sheets = 2;
        m->membrane[1] = (fem_membrane){70, 110, 0.6, 0.4, 0.9};
        m->bending[1] = (fem_bending){0.3, 0.05};
        for (size_t t = 0; t < m->triangles; t++) {
            m->triangle_sheet[t] = t % 3 == 1;
        }
        for (size_t e = 0; e < m->edges; e++) {
            m->edge_sheet[e] = e % 2;
        }
    }
    memcpy(m->wind, (double[]){0.3, -0.2, 0.1}, sizeof m->wind);
    m->ground = (fem_ground){contact, FEM_FRICTION_BOX, 0.01, 3000, 5, 8, 0.6, 0.003};
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

int everything_open(everything *s, int contact, const char *isa, size_t memory_bytes)
{
    const fem_options o = {.dt = 1e-3,
                           .steps = EVERYTHING_STEPS,
                           .want = FEM_WANT_MATERIAL | FEM_WANT_ACTIVATION,
                           .memory_bytes = memory_bytes,
                           .isa = isa,
                           .kernels = oracle(isa)};
    double phase[4];
    *s = (everything){.frames = {0, EVERYTHING_STEPS / 3, EVERYTHING_STEPS}};
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
                                                       .isa = o.kernels ? NULL : isa});
    assert_non_null(s->net);
    ds_memory_each(&s->room, control_weights(s->net),
                   (double **const[]){&s->weights, &s->bar, &s->weights_dot, NULL});
    for (size_t i = 0; i < control_weights(s->net); i++) {
        s->weights[i] = cos((double)(i * i));
        s->weights_dot[i] = sin((double)i);
    }
    s->driver = (fem_driver){.frames = s->frames,
                             .frame_count = EVERYTHING_FRAMES,
                             .activate = everything_activate,
                             .activate_bar = everything_activate_bar,
                             .state = show,
                             .state_bar = show_bar,
                             .activate_dot = everything_activate_dot,
                             .state_dot = show_dot};
    assert_false(s->room.failed);
    return 1;
}

void everything_close(everything *s)
{
    fem_episode_close(s->episode);
    fem_model_close(&s->model);
    ds_memory_free(&s->room);
}

double everything_run(everything *s, int gradient)
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

size_t everything_list(everything *s, everything_variable out[EVERYTHING_VARIABLES])
{
    fem_model *m = &s->model;
    fem_variation *g = &s->gradient;
    const everything_variable all[] = {
        {"q", m->q, g->q, 3 * m->particles},
        {"u", m->u, g->u, 3 * m->particles},
        {"mass", m->mass, g->mass, m->particles},
        {"spring ke", m->spring_ke, g->spring_ke, m->springs},
        {"spring kd", m->spring_kd, g->spring_kd, m->springs},
        {"spring rest", m->spring_rest, g->spring_rest, m->springs},
        {"triangle act", m->triangle_act, g->triangle_act, m->triangles},
        {"edge act", m->edge_act, g->edge_act, m->edges},
        {"edge rest", m->edge_rest, g->edge_rest, m->edges},
        {"membrane", &m->membrane[0].mu, &g->membrane[0].mu, 5 * m->sheets},
        {"bending", &m->bending[0].ke, &g->bending[0].ke, 2 * m->sheets},
        {"solid", &m->solid[0].mu, &g->solid[0].mu, 3 * m->tets},
        {"ground ke", &m->ground.ke, &g->ke, 1},
        {"ground kd", &m->ground.kd, &g->kd, 1},
        {"ground kf", &m->ground.kf, &g->kf, 1},
        {"ground mu", &m->ground.mu, &g->mu, 1},
        {"ground offset", &m->ground.offset, &g->offset, 1},
        {"gravity", m->gravity, g->gravity, 3},
        {"wind", m->wind, g->wind, 3},
        {"weights", s->weights, s->bar, control_weights(s->net)},
    };
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof *all;
}
