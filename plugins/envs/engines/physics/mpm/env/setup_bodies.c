/* SPDX-License-Identifier: Apache-2.0 */
/* setup_bodies.c - materials and bodies of a scene file. */
#include "engines/physics/mpm/env/setup_bodies.h"

#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/fem/read.h"

#include <diffsim/helper/nearest.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double most_stress = 1e9; /* Pa */
static const char *const law_names[] = {"plasticine", "elastic", "fluid", "sand", NULL};
static const char *const body_shapes[] = {"box",   "sphere", "lattice", "cylinder", "capsule",
                                          "torus", "points", "mesh",    NULL};
enum { BODY_MESH = MPM_BODY_POINTS + 1 }; /* becomes points */

/* ---- materials ---- */

/* A constant of the last material. */
static double constant_of(mpm_setup_reader *r, const scene_section *s, const char *key, uint32_t kind,
                          const char *unit, double low, double high, double otherwise)
{
    const uint32_t before = r->setup->task.n_variables;
    const double value =
        mpm_setup_quantity(r, s, key, &(mpm_setup_meaning){.kind = kind, .of = r->n_materials, .unit = unit},
                           low, high, otherwise);
    if (r->setup->task.n_variables > before) {
        r->materials[r->n_materials - 1].matter.number = r->n_materials;
    }
    return value;
}

void mpm_setup_material_of(mpm_setup_reader *r, const scene_section *s)
{
    scene_file *f = r->f;
    if (r->n_materials == MPM_MOST_MATERIALS) {
        scene_fail(f, s, NULL, "more than %d materials", MPM_MOST_MATERIALS);
        return;
    }
    mpm_setup_material *m = &r->materials[r->n_materials++];
    m->name = scene_name(s);
    m->matter.law = scene_choice(f, s, "law", law_names, MPM_PLASTICINE);
    if (m->matter.law == MPM_PLASTICINE || m->matter.law == MPM_SAND) {
        m->matter.youngs_modulus =
            constant_of(r, s, "youngs_modulus", MPM_YOUNGS_MODULUS, "Pa", 1.0, most_stress, 5000.0);
        m->matter.poisson_ratio = constant_of(r, s, "poisson_ratio", MPM_POISSON_RATIO, "", 0.0, 0.49, 0.2);
    }
    if (m->matter.law == MPM_PLASTICINE) {
        m->matter.yield_stress =
            constant_of(r, s, "yield_stress", MPM_YIELD_STRESS, "Pa", 0.0, most_stress, 50.0);
    } else if (m->matter.law == MPM_SAND) {
        m->matter.friction_angle =
            constant_of(r, s, "friction_angle", MPM_FRICTION_ANGLE, "degrees", 0.0, 60.0, 35.0);
    } else if (m->matter.law == MPM_ELASTIC) {
        m->matter.modulus =
            constant_of(r, s, "shear_modulus", MPM_SHEAR_MODULUS, "Pa", 0.0, most_stress, 1000.0);
    } else {
        m->matter.modulus =
            constant_of(r, s, "bulk_modulus", MPM_BULK_MODULUS, "Pa", 1.0, most_stress, 1000.0);
        m->matter.viscosity = constant_of(r, s, "viscosity", MPM_VISCOSITY, "Pa s", 0.0, 1e3, 0.1);
    }
    m->matter.density =
        constant_of(r, s, "density", MPM_DENSITY, "", 1e-3, m->matter.law == MPM_PLASTICINE ? 1e3 : 1e5, 1.0);
}

/* Has this body of the scene a variable of this kind? */
static bool has_variable(const mpm_task *task, uint32_t kind, const mpm_body *body)
{
    bool has = false;
    for (uint32_t i = 0; i < task->n_variables; i++) {
        const mpm_variable *v = &task->variables[i];
        has = has || (v->kind == kind && &task->scene.bodies[v->of] == body);
    }
    return has;
}

/* The first plasticine of density 1 that a body uses gives the constants of the scene, unless the body has a
 * mass of its own. */
static void use_material(mpm_setup_reader *r, const scene_section *s, mpm_body *body, bool *have)
{
    const char *name = scene_text(r->f, s, "material", "");
    const mpm_setup_material *m = NULL;
    for (uint32_t i = 0; i < r->n_materials; i++) {
        if (strcmp(r->materials[i].name, name) == 0) {
            m = &r->materials[i];
        }
    }
    if (!m && !name[0]) {
        scene_fail(r->f, s, "material", "the key 'material' must name a section [material ...]");
        return;
    } else if (!m) {
        const char *names[MPM_MOST_MATERIALS];
        for (uint32_t i = 0; i < r->n_materials; i++) {
            names[i] = r->materials[i].name;
        }
        const char *near = ds_nearest(name, names, r->n_materials);
        scene_fail(r->f, s, "material", "section [material %.47s] is missing%s%.47s%s", name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return;
    }
    mpm_scene *scene = &r->setup->task.scene;
    const mpm_matter *matter = &m->matter;
    if (matter->law != MPM_PLASTICINE) {
        body->matter = *matter;
        return;
    }
    const bool plain = !(matter->density < 1.0 || matter->density > 1.0) && matter->number == 0 &&
                       !r->setup->task.domain && !has_variable(&r->setup->task, MPM_BODY_SIZE, body);
    if (plain && !*have) {
        scene->youngs_modulus = matter->youngs_modulus;
        scene->poisson_ratio = matter->poisson_ratio;
        scene->yield_stress = matter->yield_stress;
        *have = true;
    }
    const double constants[3] = {scene->youngs_modulus, scene->poisson_ratio, scene->yield_stress};
    if (!plain || memcmp(constants, &matter->youngs_modulus, sizeof constants) != 0) {
        body->matter = *matter;
        body->matter.own = true;
    }
}

/* ---- bodies from files ---- */

static void check_points(mpm_setup_reader *r, const scene_section *s, uint64_t count)
{
    if (count == 0 || count > MPM_MOST_PARTICLES) {
        scene_fail(r->f, s, "file", "%llu points: use 1 to %d", (unsigned long long)count,
                   MPM_MOST_PARTICLES);
    }
}

/* Points of an .npy file, an array of n x 3 numbers. */
static void read_npy_points(mpm_setup_reader *r, const scene_section *s, double scale, mpm_body *body)
{
    uint64_t shape[2] = {0};
    double *points = mpm_setup_array(r, s, scene_path(r->f, s, "file"), 2, shape);
    if (!points) {
        return;
    }
    check_points(r, s, shape[0]);
    if (shape[1] != 3) {
        scene_fail(r->f, s, "file", "points are an array of n x 3 numbers; this one has %llu columns",
                   (unsigned long long)shape[1]);
    }
    for (uint64_t i = 0; !scene_failed(r->f) && i < 3 * shape[0]; i++) {
        points[i] *= scale;
    }
    body->points = points;
    body->count = scene_failed(r->f) ? 0 : (uint32_t)shape[0];
}

/* Points of a .ply file. */
static void read_ply_points(mpm_setup_reader *r, const scene_section *s, double scale, mpm_body *body)
{
    char error[FEM_READ_ERROR];
    fem_mesh mesh;
    if (fem_read_points(&mesh, scene_path(r->f, s, "file"), error) != 0) {
        scene_fail(r->f, s, "file", "%s", error);
        return;
    }
    check_points(r, s, mesh.points);
    if (!scene_failed(r->f)) {
        body->points = mpm_setup_keep(r, mesh.point, 3 * mesh.points, scale);
        body->count = body->points ? (uint32_t)mesh.points : 0;
    }
    fem_mesh_free(&mesh);
}

/* Points of a file. */
static void read_points(mpm_setup_reader *r, const scene_section *s, const mpm_setup_meaning *as,
                        mpm_body *body)
{
    const double scale = mpm_setup_scale(r, s, as);
    if (scene_needs(r->f, s, "file")) {
        scene_existing(r->f, s, "file");
    }
    if (scene_failed(r->f)) {
        return;
    }
    if (mpm_setup_ends_with(scene_text(r->f, s, "file", ""), ".npy")) {
        read_npy_points(r, s, scale, body);
    } else {
        read_ply_points(r, s, scale, body);
    }
}

/* Fills the inside of a mesh with points, drawn in the box around it. */
static void draw_inside(ds_memory *memory, const surface *inside, uint32_t count, uint32_t seed,
                        mpm_body *body)
{
    double *points = ds_memory_doubles(memory, 3 * (size_t)count);
    mpm_rng rng;
    mpm_rng_seed(&rng, seed);
    for (uint32_t p = 0; points && p < count;) {
        double *x = points + 3 * (size_t)p;
        for (int d = 0; d < 3; d++) {
            x[d] = inside->low[d] + mpm_rng_uniform(&rng) * (inside->high[d] - inside->low[d]);
        }
        p += surface_inside(inside, x);
    }
    body->points = points;
    body->count = points ? count : 0;
}

/* The same as a scene file wants it. */
static void fill_mesh(mpm_setup_reader *r, const scene_section *s, const mpm_setup_meaning *as,
                      mpm_body *body)
{
    surface inside;
    if (!mpm_setup_surface(r, s, mpm_setup_scale(r, s, as), &inside)) {
        return;
    }
    double wanted = scene_has(r->f, s, "per_volume")
                        ? scene_number(r->f, s, "per_volume", 1.0, 1e12, 1.0) * inside.volume
                        : scene_whole(r->f, s, "count", 1, MPM_MOST_PARTICLES, 1);
    if (scene_has(r->f, s, "per_volume") == scene_has(r->f, s, "count")) {
        scene_fail(r->f, s, NULL, "[%s] needs either count or per_volume", scene_name(s));
    } else if (wanted < 1.0 || wanted > MPM_MOST_PARTICLES) {
        scene_fail(r->f, s, "per_volume", "that makes %.0f particles: use 1 to %d per body", wanted,
                   MPM_MOST_PARTICLES);
    }
    const uint32_t seed = scene_whole(r->f, s, "seed", 0, UINT32_MAX, 0);
    if (!scene_failed(r->f)) {
        draw_inside(&r->setup->memory, &inside, (uint32_t)wanted, seed, body);
        body->volume = r->setup->task.domain ? inside.volume : 0.0;
    }
    surface_free(&inside);
}

/* Fills the shape of a body; returns its volume. */
static double read_shape(mpm_setup_reader *r, const scene_section *s, const mpm_scene *scene, mpm_body *body)
{
    const double pi = 3.14159265358979323846;
    scene_file *f = r->f;
    double *size = body->size;
    const bool own = scene == &r->setup->task.scene; /* not a target */
    const uint32_t of = scene->n_bodies - 1;
    const mpm_setup_meaning centre = {.kind = MPM_BODY_CENTER, .of = of, .unit = "m"},
                            rotation = {.kind = MPM_BODY_ROTATION, .of = of, .unit = ""},
                            velocity = {.kind = MPM_BODY_VELOCITY, .of = of, .unit = "m/s"},
                            first = {.kind = MPM_BODY_SIZE, .of = of, .factor = 1.0, .unit = "m"},
                            second = {.kind = MPM_BODY_SIZE, .of = of, .part = 1, .factor = 1.0, .unit = "m"},
                            scale = {.kind = MPM_BODY_SIZE, .of = of, .unit = ""},
                            *const across = own ? &first : NULL, *const along = own ? &second : NULL;
    body->shape = scene_needs(f, s, "shape") ? scene_choice(f, s, "shape", body_shapes, 0) : 0;
    if (scene_needs(f, s, "center") && own) {
        mpm_setup_quantities(r, s, "center", 3, false, &centre, -MPM_MOST_SIZE, MPM_MOST_SIZE, body->center);
    } else {
        scene_numbers(f, s, "center", 3, false, -MPM_MOST_SIZE, MPM_MOST_SIZE, body->center);
    }
    mpm_setup_rotation(r, s, own ? &rotation : NULL, body->rotation, &body->turned);
    if (own) {
        mpm_setup_quantities(r, s, "velocity", 3, false, &velocity, -1e3, 1e3, body->velocity);
    }
    switch (body->shape) {
    case MPM_BODY_POINTS:
        read_points(r, s, own ? &scale : NULL, body);
        return 0.0;
    case BODY_MESH:
        body->shape = MPM_BODY_POINTS;
        fill_mesh(r, s, own ? &scale : NULL, body);
        return 0.0;
    case MPM_BODY_SPHERE:
        size[0] = mpm_setup_size(r, s, "radius", across);
        return 4.0 / 3.0 * pi * size[0] * size[0] * size[0];
    case MPM_BODY_CYLINDER:
        size[0] = mpm_setup_size(r, s, "radius", across);
        size[1] = mpm_setup_size(r, s, "height", along);
        return pi * size[0] * size[0] * size[1];
    case MPM_BODY_CAPSULE:
        size[0] = mpm_setup_size(r, s, "radius", across);
        size[1] = mpm_setup_size(r, s, "length", along);
        return pi * size[0] * size[0] * (size[1] + 4.0 / 3.0 * size[0]);
    case MPM_BODY_TORUS:
        size[0] = mpm_setup_size(r, s, "radius", across);
        size[1] = mpm_setup_size(r, s, "tube", along);
        return 2.0 * pi * pi * size[0] * size[1] * size[1];
    default:
        if (scene_needs(f, s, "size") && own && body->shape == MPM_BODY_BOX) {
            mpm_setup_quantities(r, s, "size", 3, true, &first, 1e-4, MPM_MOST_SIZE, size);
        } else {
            scene_numbers(f, s, "size", 3, true, 1e-4, MPM_MOST_SIZE, size);
        }
        if (body->shape == MPM_BODY_LATTICE) {
            body->spacing =
                scene_needs(f, s, "spacing") ? scene_number(f, s, "spacing", 1e-4, 1.0, 0.01) : 0.01;
            body->jitter = scene_number(f, s, "jitter", 0.0, 1.0, 0.0);
        }
        return size[0] * size[1] * size[2];
    }
}

/* Half the edges of the axis-aligned box around a turned box. */
static void turn_half(const double q[4], const double half[3], double out[3])
{
    for (int d = 0; d < 3; d++) {
        out[d] = 0.0;
    }
    for (int k = 0; k < 3; k++) {
        const double edge[3] = {k == 0 ? half[0] : 0.0, k == 1 ? half[1] : 0.0, k == 2 ? half[2] : 0.0};
        double turned[3];
        quat_rotate(q, edge, turned);
        for (int d = 0; d < 3; d++) {
            out[d] += fabs(turned[d]);
        }
    }
}

/* The axis-aligned box around a body. */
static void box_of(const mpm_body *body, double low[3], double high[3])
{
    const bool points = body->shape == MPM_BODY_POINTS;
    double own[3], half[3] = {0.0}, turned[3];
    if (!points) {
        mpm_body_half(body, own);
        turn_half(body->rotation, own, half);
    }
    for (int d = 0; d < 3; d++) {
        low[d] = points ? (double)INFINITY : body->center[d] - half[d];
        high[d] = points ? -(double)INFINITY : body->center[d] + half[d];
    }
    for (uint32_t p = 0; points && p < body->count; p++) {
        quat_rotate(body->rotation, body->points + 3 * (size_t)p, turned);
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], body->center[d] + turned[d]);
            high[d] = fmax(high[d], body->center[d] + turned[d]);
        }
    }
}

/* The same with the sizes that are variables at one end of their ranges; of points, a factor. */
static void box_at_end(const mpm_task *task, const mpm_body *body, bool upper, double low[3], double high[3])
{
    mpm_body other = *body;
    double factor = 1.0;
    for (uint32_t i = 0; i < task->n_variables; i++) {
        const mpm_variable *v = &task->variables[i];
        if (v->kind == MPM_BODY_SIZE && &task->scene.bodies[v->of] == body) {
            const double size = v->factor * (upper ? v->upper : v->lower);
            factor = body->shape == MPM_BODY_POINTS ? size : 1.0;
            other.size[v->part] = size;
        }
    }
    box_of(&other, low, high);
    for (int d = 0; d < 3; d++) {
        low[d] = body->center[d] + factor * (low[d] - body->center[d]);
        high[d] = body->center[d] + factor * (high[d] - body->center[d]);
    }
}

/* A ring must stay one. */
static void check_ring(mpm_setup_reader *r, const scene_section *s, const mpm_body *body)
{
    double radius = body->size[0], tube = body->size[1];
    for (uint32_t i = 0; i < r->setup->task.n_variables; i++) {
        const mpm_variable *v = &r->setup->task.variables[i];
        if (v->kind == MPM_BODY_SIZE && &r->setup->task.scene.bodies[v->of] == body) {
            radius = v->part == 0 ? v->lower : radius;
            tube = v->part == 1 ? v->upper : tube;
        }
    }
    if (tube > radius) {
        scene_fail(r->f, s, "tube",
                   "a tube of %.4g is wider than the least radius %.4g: as variables, keep it below", tube,
                   radius);
    }
}

/* Also at the ends of the ranges of a centre and of sizes that are variables. */
static void check_inside(mpm_setup_reader *r, const scene_section *s, const mpm_scene *scene,
                         const mpm_body *body)
{
    const mpm_task *task = &r->setup->task;
    const bool resized = scene == &task->scene && has_variable(task, MPM_BODY_SIZE, body);
    double lower[3], upper[3];
    box_of(body, lower, upper);
    for (int end = 0; resized && end < 2; end++) {
        double low[3], high[3];
        box_at_end(task, body, end == 1, low, high);
        for (int d = 0; d < 3; d++) {
            lower[d] = fmin(lower[d], low[d]);
            upper[d] = fmax(upper[d], high[d]);
        }
    }
    if (resized && body->shape == MPM_BODY_TORUS) {
        check_ring(r, s, body);
    }
    for (uint32_t i = 0; scene == &task->scene && i < task->n_variables; i++) {
        const mpm_variable *v = &task->variables[i];
        if (v->kind == MPM_BODY_CENTER && v->of == scene->n_bodies - 1) {
            lower[v->part] += v->lower - v->start;
            upper[v->part] += v->upper - v->start;
        }
    }
    for (int d = 0; d < 3 && !scene_failed(r->f); d++) {
        const double low = lower[d], high = upper[d];
        if (!(low >= 0.0) || !(high <= r->size[d])) {
            scene_fail(r->f, s, "center",
                       "the %s reaches from %.4g to %.4g along %c, the grid from 0 to %.4g: move it or make "
                       "it smaller",
                       scene == &task->scene ? "body" : "target", low, high, "xyz"[d], r -> size[d]);
        }
    }
}

/* The number of particles: `count`, or `per_volume` times the volume. */
static uint32_t read_count(mpm_setup_reader *r, const scene_section *s, const mpm_body *body, double volume)
{
    scene_file *f = r->f;
    if (body->shape == MPM_BODY_LATTICE) {
        const double *size = body->size;
        double n = 1.0;
        for (int d = 0; d < 3; d++) {
            n *= floor(size[d] / body->spacing + 0.5);
        }
        if (n < 1.0 || n > MPM_MOST_PARTICLES) {
            scene_fail(f, s, "spacing", "the lattice has %.0f particles: use 1 to %d", n, MPM_MOST_PARTICLES);
            return 1;
        }
        return (uint32_t)n;
    }
    if (scene_has(f, s, "per_volume")) {
        if (scene_has(f, s, "count")) {
            scene_fail(f, s, "per_volume", "give either count or per_volume");
        }
        double n = scene_number(f, s, "per_volume", 1.0, 1e12, 1.0) * volume;
        if (n < 1.0 || n > MPM_MOST_PARTICLES) {
            scene_fail(f, s, "per_volume", "that makes %.0f particles: use 1 to %d per body", n,
                       MPM_MOST_PARTICLES);
            return 1;
        }
        return (uint32_t)n;
    }
    return scene_needs(f, s, "count") ? scene_whole(f, s, "count", 1, MPM_MOST_PARTICLES, 1) : 1;
}

void mpm_setup_body(mpm_setup_reader *r, const scene_section *s, mpm_scene *scene)
{
    if (scene->n_bodies == MPM_MAX_BODIES) {
        scene_fail(r->f, s, NULL, "more than %d bodies: join some of them", MPM_MAX_BODIES);
        return;
    }
    mpm_body *body = &scene->bodies[scene->n_bodies++];
    double volume = read_shape(r, s, scene, body);
    if (body->shape != MPM_BODY_POINTS) {
        uint32_t count = read_count(r, s, body, volume);
        body->count = body->shape == MPM_BODY_LATTICE ? 0 : count;
        body->volume = r->setup->task.domain && body->shape != MPM_BODY_LATTICE ? volume : 0.0;
    }
    body->seed = scene_whole(r->f, s, "seed", 0, UINT32_MAX, 0);
    check_inside(r, s, scene, body);
}

uint32_t mpm_setup_body_number(const mpm_task *task, const char *name)
{
    uint32_t b = 0;
    while (b < task->scene.n_bodies && strcmp(task->body_names[b], name) != 0) {
        b++;
    }
    return b;
}

void mpm_setup_bodies(mpm_setup_reader *r)
{
    mpm_task *task = &r->setup->task;
    bool have = false;
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "body"));) {
        uint32_t b = task->scene.n_bodies;
        mpm_setup_body(r, s, &task->scene);
        if (b < task->scene.n_bodies) {
            task->body_names[b] = scene_name(s);
            use_material(r, s, &task->scene.bodies[b], &have);
        }
    }
    uint32_t b = 0;
    for (const scene_section *s = NULL; !scene_failed(r->f) && (s = scene_next(r->f, s, "body")); b++) {
        const char *carve = scene_text(r->f, s, "carve", "");
        uint32_t other = mpm_setup_body_number(task, carve);
        if (carve[0] && (other == task->scene.n_bodies || task->scene.bodies[b].shape != MPM_BODY_LATTICE)) {
            scene_fail(r->f, s, "carve", "carve names a body whose box a lattice leaves free");
        } else if (carve[0]) {
            task->scene.bodies[b].carved = 1 + other;
        }
    }
    if (task->scene.n_bodies == 0) {
        scene_fail(r->f, NULL, NULL, "section [body NAME] is missing: a scene needs at least one body");
    }
}

/* ---- a body alone ---- */

/* Points of a .ply file without faces, or points inside a closed mesh; `error` receives what is wrong. */
static bool fill(mpm_setup *setup, const mpm_filling *filling, mpm_body *body, char error[SURFACE_ERROR])
{
    surface inside;
    fem_mesh mesh;
    if (mpm_setup_ends_with(filling->path, ".ply")) {
        if (fem_read_points(&mesh, filling->path, error) != 0) {
            return false;
        }
        if (mesh.triangles == 0 && mesh.points <= MPM_MOST_PARTICLES) {
            double *points = ds_memory_doubles(&setup->memory, 3 * mesh.points + 1);
            for (size_t i = 0; points && i < 3 * mesh.points; i++) {
                points[i] = mesh.point[i] * filling->scale;
            }
            body->points = points;
            body->count = points ? (uint32_t)mesh.points : 0;
        }
        const bool done = mesh.triangles == 0, many = mesh.points > MPM_MOST_PARTICLES;
        const size_t count = mesh.points;
        fem_mesh_free(&mesh);
        if (done && many) {
            snprintf(error, SURFACE_ERROR, "%.200s: %zu points: use at most %d", filling->path, count,
                     MPM_MOST_PARTICLES);
        }
        if (done) {
            return !many;
        }
    }
    if (surface_read(&inside, filling->path, filling->scale, error) != 0) {
        return false;
    }
    draw_inside(&setup->memory, &inside, filling->count, 0, body);
    surface_free(&inside);
    return true;
}

ds_status mpm_setup_fill(mpm_setup *setup, const mpm_filling *filling, const ds_host *host)
{
    mpm_scene *scene = &setup->task.scene;
    mpm_body *body = &scene->bodies[0];
    char error[SURFACE_ERROR] = "";
    double low[3], high[3];
    scene->gravity[1] = -1.0;
    scene->youngs_modulus = 5000.0;
    scene->poisson_ratio = 0.2;
    scene->yield_stress = 50.0;
    scene->n_bodies = 1;
    scene->n_tools = 1;
    scene->tools[0] = (mpm_tool)MPM_MOVED_BALL(0.01, 0.0, 0.9, 0.9, 0.9);
    body->shape = MPM_BODY_POINTS;
    body->rotation[0] = 1.0;
    memcpy(body->center, filling->center, sizeof body->center);
    setup->choices = (mpm_choices){.variant = 1, .steps = 1, .segments = 1, .loss = MPM_LOSS_FINAL};
    if (!fill(setup, filling, body, error)) {
        return ds_host_fail(host, DS_E_DATA, "fill: %s", error);
    }
    if (setup->memory.failed) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the particles");
    }
    box_of(body, low, high);
    for (int d = 0; d < 3; d++) {
        if (!(low[d] >= 0.0) || !(high[d] <= 1.0)) {
            return ds_host_fail(
                host, DS_E_DATA,
                "fill: %.200s reaches from %.4g to %.4g along %c, the grid from 0 to 1: change "
                "its scale or its centre",
                filling->path, low[d], high[d], "xyz"[d]);
        }
    }
    return DS_OK;
}
