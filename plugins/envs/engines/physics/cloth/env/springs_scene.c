/* SPDX-License-Identifier: Apache-2.0 */
/* springs_scene.c - from the sections of a scene file to the sheets, slabs and lifts of the spring model. */
#include "engines/physics/cloth/env/springs_scene.h"

#include "engines/data/scene_camera.h"
#include "engines/physics/cloth/env/disc_env.h"
#include "engines/physics/cloth/env/lift_env.h"
#include "engines/physics/cloth/env/sheet_env.h"
#include "engines/physics/soft/scene/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an instance keeps of its file: texts and values that its environment refers to. */
typedef struct opened {
    scene_file *file;
    scene_params params;
} opened;

#define CAMERA_KEYS                                                                                          \
    {"camera", "size", "image_size"}, {"camera", "orbit", "camera"}, {"camera", "look_at", "look_at"},       \
        {"camera", "observe", "obs"}, {"camera", "renderer", "renderer"}, {"camera", "shading", "shading"},  \
        {"camera", "texture", "texture"}, {"camera", "antialias", "antialias"},                              \
        {"camera", "sigma_scale", "sigma_scale"}, {"loss", "compare", "loss"}, {"loss", "frames", "frames"}, \
    {                                                                                                        \
        "target", "image", "target_image"                                                                    \
    }

/* Without a file: a small cloth is swung to where another one lies. */
static const char own_scene[] = "[scene]\n"
                                "model = springs\n"
                                "step = 1e-3\n"
                                "duration = 0.6\n"
                                "[cloth sheet]\n"
                                "cells = 8\n"
                                "mass = 0.02\n"
                                "stiffness = 40\n"
                                "velocity = variable -1..1\n"
                                "[hold]\n"
                                "duration = 0.2\n"
                                "[floor]\n"
                                "[target]\n"
                                "velocity = 0 -0.4 0.6\n";

const char *const cloth_scene_models[] = {"membrane", "springs", NULL};

scene_file *cloth_scene_open(ds_param_reader *in)
{
    const char *path = ds_param_text(in, "scene");
    if (in->status != DS_OK) {
        return NULL;
    }
    scene_file *f =
        *path ? scene_file_read(path) : scene_file_parse(own_scene, sizeof own_scene - 1, "own scene", "");
    if (!f) {
        in->status = ds_host_fail(in->host, DS_E_NOMEM, "no memory for the scene");
    }
    return f;
}

/* ---- what all have ---- */

/* Opens the file, refuses other sections and reads the keys of the table into `o->params`; `variables` says
 * what can be one. */
static void open_keys(opened *o, ds_param_reader *in, const char *const *kinds, const char *variables,
                      const ds_param *const *schema, const scene_key *keys, ds_env_kit *kit)
{
    o->file = cloth_scene_open(in);
    if (in->status != DS_OK) {
        return;
    }
    scene_kinds(o->file, kinds);
    scene_variables(o->file, variables);
    for (const char *const *kind = kinds; *kind; kind++) {
        const scene_section *first = scene_next(o->file, NULL, *kind),
                            *second = first ? scene_next(o->file, first, *kind) : NULL;
        if (second && strcmp(*kind, "obstacle") != 0) {
            scene_fail(o->file, second, NULL, "a second section [%s]: this model has one", *kind);
        }
    }
    const scene_section *s = scene_find(o->file, "scene", "");
    scene_text(o->file, s, "include", "");
    scene_choice(o->file, s, "model", cloth_scene_models, 0);
    in->status = scene_params_open(&o->params, o->file, in->host, schema, keys, &kit->memory);
    kit->camera = scene_camera_read(o->file, "orbit", true);
}

/* ---- constants that can be variables ---- */

typedef enum worst_end { START, LOWER, UPPER } worst_end; /* where the longest stable step is shortest */

/* What is read of a scene whose constants can be variables. */
typedef struct constants_reader {
    opened *o;
    cloth_constants *to;
    bool has_truth; /* the target is an episode */
} constants_reader;

/* A number that a constant of the engine is made of: `scale` times the number is at `at`. */
typedef struct constant_place {
    double *at;
    const double *bar; /* derivative by *at */
    double scale;
    worst_end worst;
} constant_place;

static constant_place place_of(double *at, const double *bar, worst_end worst)
{
    return (constant_place){at, bar, 1, worst};
}

/* Adds the number of key `key` to the variables, under the name of its section unless that is [scene] or
 * [cloth]; `part`: "" or ".x" for one of several numbers. */
static void add_constant(const constants_reader *r, const scene_section *s, const char *of, const char *key,
                         const char *part, const char *unit, const scene_quantity *q,
                         const constant_place *place)
{
    scene_file *f = r->o->file;
    if (r->to->count == CLOTH_MOST_CONSTANTS) {
        scene_fail(f, s, key, "more than %d constants are variables", CLOTH_MOST_CONSTANTS);
        return;
    }
    if (r->has_truth && isnan(q->truth)) {
        scene_fail(f, s, key, "%s is a variable: add 'truth VALUE', its value in the target", key);
    } else if (!r->has_truth && !isnan(q->truth)) {
        scene_fail(f, s, key, "%s has a truth, but the target is not an episode: remove 'truth'", key);
    }
    cloth_constant *c = &r->to->item[r->to->count++];
    *c = (cloth_constant){.unit = unit,
                          .log = q->log,
                          .lower = q->lower,
                          .upper = q->upper,
                          .start = q->value,
                          .truth = isnan(q->truth) ? q->value : q->truth,
                          .worst = place->worst == LOWER   ? q->lower
                                   : place->worst == UPPER ? q->upper
                                                           : q->value,
                          .scale = place->scale,
                          .at = place->at,
                          .bar = place->bar};
    snprintf(c->name, sizeof c->name, "%s%s%s%s", of, *of ? "." : "", key, part);
}

/* Reads a number of the first section of a kind, which is parameter `param`. */
static void read_constant(const constants_reader *r, const char *kind, const char *key, const char *param,
                          constant_place place)
{
    opened *o = r->o;
    const scene_section *s = scene_next(o->file, NULL, kind);
    for (const ds_param *const *p = o->params.schema; *p; p++) {
        if (strcmp((*p)->name, param) == 0) {
            const scene_quantity q =
                scene_quantity_of(o->file, s, key, (*p)->min, (*p)->max, strtod((*p)->default_text, NULL));
            const bool own = strcmp(kind, "cloth") == 0 || strcmp(kind, "scene") == 0;
            scene_params_set(&o->params, param, q.value);
            *place.at = q.value;
            if (q.variable) {
                add_constant(r, s, own ? "" : kind, key, "", (*p)->unit, &q, &place);
            }
        }
    }
}

/* Downward gravity, as the spring model has it. */
static void read_gravity(const constants_reader *r, constant_place place)
{
    opened *o = r->o;
    const scene_section *s = scene_find(o->file, "scene", "");
    double g[3] = {0, -9.81, 0};
    if (scene_varies(o->file, s, "gravity")) {
        if (scene_count(o->file, s, "gravity") != 1) {
            scene_fail(o->file, s, "gravity",
                       "with model = springs a variable gravity is one number, downward: write 'variable "
                       "LOWER..UPPER'");
        }
        read_constant(r, "scene", "gravity", "gravity", place);
        return;
    }
    scene_numbers(o->file, s, "gravity", 3, false, -1e3, 1e3, g);
    if (g[0] < 0 || g[0] > 0 || g[2] < 0 || g[2] > 0) {
        scene_fail(o->file, s, "gravity", "gravity = %g %g %g: with model = springs it must be along y", g[0],
                   g[1], g[2]);
    }
    scene_params_set(&o->params, "gravity", -g[1]);
}

/* Refuses unknown keys; reports the first mistake. Returns whether there is none. */
static bool is_good(opened *o, ds_param_reader *in)
{
    if (in->status == DS_OK) {
        scene_done(o->file);
    }
    if (in->status == DS_OK && scene_failed(o->file)) {
        in->status = ds_host_fail(in->host, DS_E_DATA, "%s", scene_error(o->file));
    }
    return in->status == DS_OK;
}

/* ---- a sheet on the floor ---- */

typedef struct sheet_scene {
    sheet_env env; /* first */
    opened scene;
} sheet_scene;

/* The target is an episode of the same cloth, with the true values of the variables. */
static void read_truth(opened *o, const char *key, const char *const *params, size_t n, double low,
                       double high, const scene_quantity *q)
{
    const scene_section *target = scene_next(o->file, NULL, "target");
    double v[3] = {q[0].truth, q[n > 1].truth, q[n > 2 ? 2 : 0].truth};
    scene_numbers(o->file, target, key, n, true, low, high, v);
    for (size_t i = 0; i < n; i++) {
        if (q[i].variable && isnan(v[i])) {
            scene_fail(o->file, target, NULL,
                       "%s is a variable: section [target] needs the key '%s', its value in the target", key,
                       key);
        }
        v[i] = isnan(v[i]) ? q[i].value : v[i];
    }
    if (params[1]) {
        scene_params_set(&o->params, params[0], v[0]);
        scene_params_set(&o->params, params[1], v[1]);
    } else {
        scene_params_set_list(&o->params, params[0], n, v);
    }
}

/* Those of a cloth and of what it touches. */
static void read_sheet_constants(sheet_scene *e)
{
    cloth_constants *k = &e->env.constants;
    cloth *c = &e->env.c;
    const constants_reader r = {&e->scene, k, true};
    read_gravity(&r, place_of(&c->gravity, &c->gravity_bar, START));
    read_constant(&r, "cloth", "mass", "mass", place_of(&k->mass, &k->mass_bar, LOWER));
    read_constant(&r, "cloth", "damping", "damping", place_of(&k->damping, &k->damping_bar, UPPER));
    read_constant(&r, "cloth", "drag", "drag", place_of(&c->drag, &c->drag_bar, UPPER));
    read_constant(&r, "cloth", "height", "height", place_of(&e->env.height, &e->env.height_bar, START));
    read_constant(&r, "floor", "height", "floor", place_of(&c->floor.height, &c->height_bar, START));
    read_constant(&r, "floor", "friction", "mu", place_of(&c->floor.mu, &c->mu_bar, START));
    c->by_constants = k->count > 0;
}

static void vary_obstacle(void *self, const soft_obstacle_number *n)
{
    sheet_scene *e = self;
    const constants_reader r = {&e->scene, &e->env.constants, true};
    const constant_place place = {n->at, n->bar, n->scale, START};
    add_constant(&r, n->section, scene_name(n->section), n->key, n->part, n->unit, &n->number, &place);
    e->env.c.solid_bar = e->env.solid_bar;
    e->env.c.by_constants = 1;
}

static void read_variables(opened *o, const cloth_constants *constants, scene_quantity *k,
                           scene_quantity v[3], scene_quantity size[2])
{
    static const char *const truths[] = {"stiffness", "velocity", "size"};
    scene_file *f = o->file;
    const scene_section *s = scene_next(f, NULL, "cloth");
    *k = scene_quantity_of(f, s, "stiffness", 1e-6, 1e4, 80);
    scene_quantities(f, s, "velocity", 3, -100, 100, v);
    scene_quantities(f, s, "size", 2, 1e-3, 10, size);
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
        scene_has(f, scene_next(f, NULL, "target"), truths[i]);
    }
    scene_done(f); /* before what is missing: a misspelt key is both */
    if (!k->variable && !v[0].variable && !size[0].variable && constants->count == 0) {
        scene_fail(f, s, NULL,
                   "no number of this scene is a variable: write 'variable LOWER..UPPER', for example at "
                   "the stiffness or velocity of the cloth");
    }
    if (k->variable && !k->log) {
        scene_fail(f, s, "stiffness", "a variable stiffness must be logarithmic: add 'log'");
    }
    scene_params_set(&o->params, "variables", v[0].variable);
    scene_params_set(&o->params, "size", size[0].variable);
    if (k->variable) {
        scene_params_set_list(&o->params, "stiffness_range", 2, (double[]){k->lower, k->upper});
    }
    scene_params_set(&o->params, "stiffness", k->value);
    scene_params_set_list(&o->params, "velocity", 3, (double[]){v[0].value, v[1].value, v[2].value});
    read_truth(o, "velocity", (const char *const[]){"target_velocity", NULL}, 3, -100, 100, v);
    read_truth(o, "size", (const char *const[]){"width", "length"}, 2, 1e-3, 10, size);
}

/* The stiffness of the target: one number, or one for each patch. */
static void read_true_stiffness(opened *o, const scene_quantity *k)
{
    const scene_section *target = scene_next(o->file, NULL, "target");
    if (scene_has(o->file, target, "stiffness")) {
        return; /* a key of the table */
    }
    if (k->variable && isnan(k->truth)) {
        scene_fail(o->file, target, NULL,
                   "stiffness is a variable: section [target] needs the key 'stiffness', its value in the "
                   "target");
    }
    scene_params_set_list(&o->params, "target_stiffness", 1, (double[]){k->variable ? k->truth : k->value});
}

static void read_sheet(void *self, ds_param_reader *in)
{
    static const char *const kinds[] = {"scene",  "cloth", "hold",   "floor", "obstacle",
                                        "target", "loss",  "camera", NULL};
    static const char *const shapes[] = {"grid", NULL};
    static const scene_key keys[] = {{"scene", "step", "h"},
                                     {"scene", "duration", "duration"},
                                     {"cloth", "cells", "cells"},
                                     {"cloth", "patches", "patches"},
                                     {"hold", "duration", "hold"},
                                     {"floor", "time_of_impact", "toi"},
                                     {"target", "stiffness", "target_stiffness"},
                                     CAMERA_KEYS,
                                     {NULL, NULL, NULL}};
    sheet_scene *e = self;
    opened *o = &e->scene;
    open_keys(o, in, kinds,
              "gravity; stiffness, velocity, size, mass, damping, drag and height of [cloth]; height and "
              "friction of [floor]; position, rotation, sizes, scale, friction and offset of [obstacle]",
              sheet_env_params, keys, &e->env.kit);
    if (in->status != DS_OK) {
        return;
    }
    scene_quantity k, v[3] = {{.value = 0}, {.value = 0}, {.value = 0}},
                      size[2] = {{.value = 0.2}, {.value = 0.2}};
    read_sheet_constants(e);
    scene_choice(o->file, scene_next(o->file, NULL, "cloth"), "shape", shapes, 0);
    if (!scene_next(o->file, NULL, "cloth")) {
        scene_fail(o->file, NULL, NULL, "section [cloth NAME] is missing");
    }
    if (!scene_next(o->file, NULL, "hold")) {
        scene_params_set(&o->params, "hold", 0);
    }
    if (!scene_next(o->file, NULL, "floor")) {
        scene_params_set(&o->params, "floor", -1e6);
    }
    if (!scene_failed(o->file)) {
        e->env.solids = soft_setup_obstacles(o->file, &e->env.kit.memory, e->env.solid, e->env.solid_bar,
                                             vary_obstacle, e);
    }
    read_variables(o, &e->env.constants, &k, v, size);
    read_true_stiffness(o, &k);
    if (is_good(o, in)) {
        ds_param_reader own = {&o->params.host, DS_OK};
        sheet_env_read(&e->env, &own);
        in->status = own.status;
        e->env.of_k = k.variable ? e->env.patches : 0;
        e->env.of_v = v[0].variable ? 3 : 0;
        sheet_env_count(&e->env);
    }
    for (int i = 0; i < 3; i++) {
        e->env.lower[i] = v[i].lower;
        e->env.upper[i] = v[i].upper;
        e->env.start[i] = v[i].value;
        e->env.size_lower[i % 2] = size[i % 2].lower;
        e->env.size_upper[i % 2] = size[i % 2].upper;
    }
    if (in->status == DS_OK && k.variable) {
        const double start = sheet_env_variable_of(&e->env, k.value);
        e->env.start_k = fabs(start) < 1e-12 ? 0 : start; /* the middle, but for rounding */
    }
}

static void release_sheet(void *self)
{
    sheet_env_release(self);
    scene_file_free(((sheet_scene *)self)->scene.file);
}

static const ds_env_table sheet_table = {SHEET_ENV_TABLE, .size = sizeof(sheet_scene), .read = read_sheet,
                                         .release = release_sheet, .hook_points = sheet_env_hooks};

/* ---- a slab in a pan ---- */

typedef struct disc_scene {
    disc_env env; /* first */
    opened scene;
} disc_scene;

/* A number of the profile of the pan. */
static double read_profile(const constants_reader *r, disc_scene *e, const char *key, const char *unit,
                           double high, double otherwise, double *at, const double *bar)
{
    const scene_section *pan = scene_next(r->o->file, NULL, "pan");
    const scene_quantity q = scene_quantity_of(r->o->file, pan, key, 0, high, otherwise);
    const constant_place place = place_of(at, bar, START);
    if (q.variable) {
        add_constant(r, pan, "pan", key, "", unit, &q, &place);
        e->env.c.pan_bar = &e->env.pan_bar;
    }
    return q.variable && strcmp(key, "flat") == 0 ? q.upper : q.value;
}

/* Those of a slab and its pan. */
static void read_disc_constants(disc_scene *e, touch_pan *shape)
{
    cloth_constants *k = &e->env.constants;
    cloth *c = &e->env.c;
    const constants_reader r = {&e->scene, k, false};
    read_gravity(&r, place_of(&c->gravity, &c->gravity_bar, START));
    read_constant(&r, "cloth", "mass", "mass", place_of(&k->mass, &k->mass_bar, LOWER));
    read_constant(&r, "cloth", "stiffness", "stiffness",
                  place_of(&e->env.stiffness, &e->env.stiffness_bar, UPPER));
    read_constant(&r, "cloth", "damping", "damping", place_of(&k->damping, &k->damping_bar, UPPER));
    read_constant(&r, "cloth", "drag", "drag", place_of(&c->drag, &c->drag_bar, UPPER));
    read_constant(&r, "pan", "friction", "mu", place_of(&c->pan.mu, &c->mu_bar, START));
    shape->flat = read_profile(&r, e, "flat", "m", 10, 0.15, &c->pan.flat, &e->env.pan_bar.flat);
    shape->curve = read_profile(&r, e, "curve", "1/m", 1e4, 16, &c->pan.curve, &e->env.pan_bar.curve);
    c->by_constants = k->count > 0;
}

static void read_disc(void *self, ds_param_reader *in)
{
    static const char *const kinds[] = {"scene", "cloth", "pan", "actions", "target", "loss", "camera", NULL};
    static const char *const shapes[] = {"disc", NULL};
    static const scene_key keys[] = {{"scene", "step", "h"},
                                     {"scene", "duration", "duration"},
                                     {"pan", "lower", "lower"},
                                     {"pan", "upper", "upper"},
                                     {"pan", "softness", "softness"},
                                     {"pan", "softness_width", "width"},
                                     {"pan", "contact_grad", "contact_grad"},
                                     {"pan", "grad_softness", "grad_softness"},
                                     {"pan", "grad_width", "grad_width"},
                                     {"actions", "segments", "segments"},
                                     {"loss", "proximity_weight", "contact_loss"},
                                     {"loss", "proximity", "proximity"},
                                     {"loss", "proximity_scale", "proximity_scale"},
                                     CAMERA_KEYS,
                                     {NULL, NULL, NULL}};
    disc_scene *e = self;
    opened *o = &e->scene;
    open_keys(o, in, kinds,
              "gravity; stiffness, mass, damping and drag of [cloth]; friction, flat and curve of [pan]",
              disc_env_params, keys, &e->env.kit);
    if (in->status != DS_OK) {
        return;
    }
    const scene_section *slab = scene_next(o->file, NULL, "cloth"), *pan = scene_next(o->file, NULL, "pan");
    touch_pan shape = {.flat = 0};
    read_disc_constants(e, &shape);
    if (!slab) {
        scene_fail(o->file, NULL, NULL, "section [cloth NAME] is missing");
    }
    scene_choice(o->file, slab, "shape", shapes, 0);
    const uint32_t cells = scene_whole(o->file, slab, "cells", 1, 40, 8);
    const double spacing = scene_number(o->file, slab, "spacing", 1e-4, 1, 0.01);
    shape.radius = scene_number(o->file, pan, "radius", 1e-3, 10, 0.2);
    shape.thickness = scene_number(o->file, pan, "thickness", 1e-4, 10, 0.03);
    if (!(shape.flat < shape.radius)) {
        scene_fail(o->file, pan, "flat", "flat = %g must be below radius = %g", shape.flat, shape.radius);
    }
    if (is_good(o, in)) {
        ds_param_reader own = {&o->params.host, DS_OK};
        disc_env_read(&e->env, &own);
        in->status = own.status;
        shape.mu = e->env.c.pan.mu;
        shape.soft = e->env.c.pan.soft;
        e->env.c.pan = shape;
        e->env.radius = cells;
        e->env.spacing = spacing;
    }
}

static void release_disc(void *self)
{
    disc_env_release(self);
    scene_file_free(((disc_scene *)self)->scene.file);
}

static const ds_env_table disc_table = {DISC_ENV_TABLE, .size = sizeof(disc_scene), .read = read_disc,
                                        .release = release_disc, .hook_points = disc_env_hooks};

/* ---- a recorded lift ---- */

typedef struct lift_scene {
    lift_env env; /* first */
    opened scene;
} lift_scene;

static void read_lift(void *self, ds_param_reader *in)
{
    static const char *const kinds[] = {"scene", "recording", "floor", "target", "loss", "camera", NULL};
    static const scene_key keys[] = {{"scene", "step", "h"},
                                     {"recording", "data", "data"},
                                     {"recording", "file", "file"},
                                     {"recording", "columns", "columns"},
                                     {"recording", "column_scale", "column_scale"},
                                     {"recording", "time_column", "time_column"},
                                     {"recording", "sample_rate", "sample_rate"},
                                     {"recording", "first_row", "first_row"},
                                     {"recording", "samples", "n_samples"},
                                     {"recording", "held_out", "held_out"},
                                     {"recording", "gaps", "gaps"},
                                     {"recording", "nominal_size", "nominal_size"},
                                     {"floor", "time_of_impact", "toi"},
                                     {"loss", "norm", "r2s_norm"},
                                     {"target", "reference", "reference"},
                                     CAMERA_KEYS,
                                     {NULL, NULL, NULL}};
    lift_scene *e = self;
    opened *o = &e->scene;
    open_keys(o, in, kinds, "none with [recording], where the cloth itself is unknown", lift_env_params, keys,
              &e->env.kit);
    if (is_good(o, in)) {
        ds_param_reader own = {&o->params.host, DS_OK};
        lift_env_read(&e->env, &own);
        in->status = own.status;
    }
}

static void release_lift(void *self)
{
    lift_env_release(self);
    scene_file_free(((lift_scene *)self)->scene.file);
}

static const ds_env_table lift_table = {LIFT_ENV_TABLE, .size = sizeof(lift_scene), .read = read_lift,
                                        .release = release_lift, .hook_points = lift_env_hooks};

const ds_env_table *springs_scene_table(scene_file *f)
{
    return scene_next(f, NULL, "recording") ? &lift_table
           : scene_next(f, NULL, "pan")     ? &disc_table
                                            : &sheet_table;
}
