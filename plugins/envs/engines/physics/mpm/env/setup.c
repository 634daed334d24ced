/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - from the sections of a scene file to an mpm_task. */
#include "engines/physics/mpm/env/setup.h"

#include "engines/data/scene_camera.h"
#include "engines/physics/mpm/env/setup_targets.h"
#include "engines/physics/mpm/env/setup_tools.h"

#include <math.h>
#include <string.h>

static const char *const kinds[] = {"scene",  "grid",    "material", "body",   "tool",
                                    "target", "actions", "loss",     "camera", NULL};
static const char *const drawn[] = {"body", "tool", NULL}, *const reserved[] = {"target", NULL};
static const char *const motion_names[] = {"pieces", "lines", "spline", NULL};
static const char *const control_names[] = {"displacement", "velocity", NULL};
static const char *const loss_names[] = {"segment_sum", "step_sum", "final", "image", NULL};
static const char *const contact_names[] = {"soft", "hard", NULL};

static const char can_vary[] = "gravity, ground_friction and softness of [scene], constants and density of "
                               "[material], center, rotation, velocity, sizes (not of a lattice) and scale "
                               "of [body], position, rotation, friction, gap, sizes and, of a mesh, scale of "
                               "[tool]";

/* [grid]: a tank in SI units in place of the unit cube of a preset. */
static void read_grid(mpm_setup_reader *r)
{
    scene_file *f = r->f;
    mpm_setup *setup = r->setup;
    const scene_section *s = scene_find(f, "grid", "");
    for (int d = 0; d < 3; d++) {
        r->size[d] = 1.0;
    }
    if (!s) {
        return;
    }
    if (scene_needs(f, s, "size")) {
        scene_numbers(f, s, "size", 3, true, 1e-3, MPM_MOST_SIZE, r->size);
    }
    const double spacing =
        scene_needs(f, s, "spacing") ? scene_number(f, s, "spacing", 1e-5, 1.0, 0.02) : 0.02;
    const double dt = scene_needs(f, s, "dt") ? scene_number(f, s, "dt", 1e-7, 1.0, 5e-4) : 5e-4;
    const double step = scene_needs(f, s, "step") ? scene_number(f, s, "step", 1e-6, 10.0, 0.02) : 0.02;
    const double margin = scene_number(f, s, "margin", 0.0, 1.0, 0.001), substeps = floor(step / dt + 0.5);
    for (int d = 0; d < 3 && !scene_failed(f); d++) {
        const double cells = r->size[d] / spacing;
        if (fabs(cells - floor(cells + 0.5)) > 1e-6 || cells < 2.0 || cells > 120.0) {
            scene_fail(f, s, "size",
                       "%.6g m along %c are %.6g spacings: use a whole number of them, 2 to 120", r->size[d],
                       "xyz"[d], cells);
        } else if (margin > 0.25 * r->size[d]) {
            scene_fail(f, s, "margin", "margin is more than a quarter of the grid along %c", "xyz"[d]);
        }
    }
    if (!scene_failed(f) &&
        (substeps < 1.0 || substeps > 10000.0 || fabs(substeps * dt / step - 1.0) > 1e-6)) {
        scene_fail(f, s, "dt",
                   "a step of %.6g s must hold a whole number of time steps, 1 to 10000, not %.6g", step,
                   step / dt);
    }
    if (!scene_failed(f)) {
        const uint32_t steps = setup->choices.steps > 0 ? setup->choices.steps : 50;
        setup->domain = mpm_domain_tank(spacing, r->size, margin, dt, (int)substeps, steps);
        setup->task.domain = &setup->domain;
    }
}

/* Explicit steps explode where sound passes more than a cell in one (Courant, Friedrichs, Lewy). */
static void check_steps(const mpm_setup_reader *r)
{
    const mpm_task *task = &r->setup->task;
    const mpm_domain domain = task->domain ? *task->domain : mpm_domain_make(MPM_PRESET_FULL);
    for (uint32_t i = 0; i < r->n_materials; i++) {
        const mpm_matter *m = &r->materials[i].matter;
        const double nu = m->poisson_ratio,
                     modulus = m->law == MPM_PLASTICINE || m->law == MPM_SAND
                                   ? m->youngs_modulus * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
                                   : m->modulus,
                     cells = sqrt(modulus / m->density) * domain.dt / domain.dx;
        if (cells > 1.0) {
            ds_host_say(
                r->host, DS_LOG_WARNING,
                "sound in material %s passes %.3g cells in a substep, which becomes unstable above 1: %s",
                r->materials[i].name, cells,
                task->domain ? "shorten dt of [grid], or make the material softer or denser"
                             : "make the material softer or denser");
        }
    }
}

static void read_general(mpm_setup_reader *r)
{
    scene_file *f = r->f;
    mpm_scene *scene = &r->setup->task.scene;
    mpm_choices *c = &r->setup->choices;
    const scene_section *s = scene_find(f, "scene", ""), *actions = scene_find(f, "actions", ""),
                        *loss = scene_find(f, "loss", "");
    scene_text(f, s, "include", "");
    scene_text(f, s, "small", "");
    scene->gravity[1] = -1.0;
    mpm_setup_quantities(r, s, "gravity", 3, false,
                         &(mpm_setup_meaning){.kind = MPM_GRAVITY, .unit = "m/s^2"}, -1e3, 1e3,
                         scene->gravity);
    scene->ground_friction =
        mpm_setup_quantity(r, s, "ground_friction",
                           &(mpm_setup_meaning){.kind = MPM_GROUND_FRICTION, .unit = ""}, 0.0, 1e6, 100.0);
    c->softness = mpm_setup_quantity(
        r, s, "softness", &(mpm_setup_meaning){.kind = MPM_SOFTNESS, .unit = "1/m"}, 0.0, 1e6, 666.0);
    for (uint32_t i = 0; i < r->setup->task.n_variables && !scene_failed(f); i++) {
        const mpm_variable *v = &r->setup->task.variables[i];
        if (v->kind == MPM_GROUND_FRICTION && !(v->lower > 0.0 && v->upper < MPM_STICKY_FRICTION)) {
            scene_fail(
                f, s, "ground_friction",
                "as a variable ground_friction must stay above 0 and below %g, from where on the floor "
                "holds",
                MPM_STICKY_FRICTION);
        } else if (v->kind == MPM_SOFTNESS && !(v->lower > 0.0)) {
            scene_fail(f, s, "softness", "as a variable softness must stay above 0");
        }
    }
    c->steps = scene_whole(f, actions, "steps", 1, 1000, 0);
    c->segments = scene_whole(f, actions, "segments", 1, 1000, 5);
    r->setup->task.motion = scene_choice(f, actions, "motion", motion_names, MPM_MOTION_PIECES);
    r->setup->task.velocity = scene_choice(f, actions, "control", control_names, 0) == 1;
    read_grid(r);
    c->loss = scene_choice(f, loss, "states", loss_names, 0);
    c->soft_contact = scene_choice(f, loss, "contact_measure", contact_names, 0) == 0;
    c->weight_density = scene_number(f, loss, "density", 0.0, 1e6, 10.0);
    c->weight_sdf = scene_number(f, loss, "distance", 0.0, 1e6, 10.0);
    c->weight_contact = scene_number(f, loss, "contact", 0.0, 1e6, 40.0);
    c->variant = 1;
}

static const scene_key camera_keys[] = {{"camera", "position", "camera"},
                                        {"camera", "look_at", "look_at"},
                                        {"camera", "size", "image_size"},
                                        {"camera", "threads", "image_threads"},
                                        {"camera", "disc_radius", "disc_radius"},
                                        {"camera", "disc_opacity", "disc_opacity"},
                                        {"loss", "frames", "frames"},
                                        {"loss", "images", "target_image"},
                                        {NULL, NULL, NULL}};

ds_status mpm_setup_read(mpm_setup *setup, scene_file *file, const ds_host *host)
{
    mpm_setup_reader r = {.setup = setup, .f = file, .host = host};
    if (!file) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the scene");
    }
    setup->file = file;
    scene_kinds(file, kinds);
    scene_names(file, drawn, reserved, false);
    scene_variables(file, can_vary);
    read_general(&r);
    for (const scene_section *s = NULL; (s = scene_next(file, s, "material"));) {
        mpm_setup_material_of(&r, s);
    }
    mpm_setup_bodies(&r);
    for (const scene_section *s = NULL; (s = scene_next(file, s, "tool"));) {
        mpm_setup_tool(&r, s);
    }
    if (!scene_failed(file) && mpm_action_dim(&setup->task.scene) == 0 && setup->task.n_variables == 0) {
        scene_fail(file, NULL, NULL, "nothing can be optimized: no tool moves, and no number is a variable");
    }
    if (!scene_failed(file)) {
        mpm_setup_check_places(&r);
        check_steps(&r);
    }
    if (!scene_failed(file)) {
        mpm_setup_terms(&r);
    }
    if (!scene_failed(file)) {
        mpm_setup_targets(&r);
    }
    if (!scene_failed(file) && setup->task.no_target && setup->choices.loss == MPM_LOSS_FRAMES) {
        scene_fail(file, scene_find(file, "loss", ""), "states",
                   "states = image compares the material with a target, whose size places the cameras, also "
                   "with images: add a section [target]");
    }
    if (!scene_failed(file)) {
        scene_existing(file, scene_find(file, "loss", ""), "images");
        scene_params_open(&setup->cameras, file, host, mpm_image_params, camera_keys, &setup->memory);
        setup->camera = scene_camera_read(file, "position", true);
    }
    scene_done(file);
    if (setup->memory.failed) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the scene");
    }
    return scene_failed(file) ? ds_host_fail(host, DS_E_DATA, "%s", scene_error(file)) : DS_OK;
}

scene_file *mpm_setup_file(const char *path, bool is_small)
{
    scene_file *whole = scene_file_read(path);
    if (!whole || !is_small || scene_failed(whole)) {
        return whole;
    }
    const char *other = scene_path(whole, scene_find(whole, "scene", ""), "small");
    if (!other[0]) {
        return whole;
    }
    scene_file *file = scene_file_read(other);
    scene_file_free(whole);
    return file;
}

void mpm_setup_free(mpm_setup *setup)
{
    scene_file_free(setup->file);
    ds_memory_free(&setup->memory);
    memset(setup, 0, sizeof *setup);
}
