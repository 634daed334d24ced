/* SPDX-License-Identifier: Apache-2.0 */
/* fem_scenes.c - episodes of gradSim's scenes (see fem_scenes.h). */
#include "fem_scenes.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

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
                                                       .isa = o->isa});
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
    const fem_options o = {.dt = 1.0 / 1920, .steps = steps, .isa = isa};
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
    const fem_options o = {.dt = 1.0 / 1920, .steps = steps, .isa = isa};
    fem_mesh mesh;
    *s = (fem_scene){.target = {2, 1, 0}};
    fem_mesh_walker(&mesh);
    fem_model_open(&s->model);
    fem_add_cloth(&s->model, &mesh, &(fem_placing){.position = {0, 0, 0}}, 1, 0, 0);
    fem_mesh_free(&mesh);
    s->model.membrane = (fem_membrane){.mu = 1e4, .lambda = 1e4, .kd = 100};
    s->model.ground = (fem_ground){.on = 1, .offset = 0.01, .ke = 1e4, .kd = 1000, .kf = 1000, .mu = 0.5};
    return open_moving(s, &o, control_walker_phases, 0.2, s->model.triangles);
}

int fem_scene_beam(fem_scene *s, uint64_t steps, const char *isa, double mu, double lambda)
{
    const fem_options o = {.dt = 1.0 / 1920, .steps = steps, .isa = isa, .want = FEM_WANT_MATERIAL};
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
    const fem_options o = {.dt = 1.0 / 1920, .steps = steps, .isa = isa, .want = FEM_WANT_MATERIAL};
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
