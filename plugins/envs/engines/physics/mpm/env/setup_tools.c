/* SPDX-License-Identifier: Apache-2.0 */
/* setup_tools.c - tools of a scene file. */
#include "engines/physics/mpm/env/setup_tools.h"

#include "engines/physics/mpm/env/ladle.h"
#include "engines/physics/mpm/sim/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const mpm_setup_tool_shapes[] = {"sphere",      "capsule",    "cylinder", "torus", "box",
                                             "rolling_pin", "chopsticks", "ladle",    "mesh",  NULL};
static const char *const inside_names[] = {"no", "yes", NULL};
static const char *const moves[] = {"none", "xy", "xyz", "pose", NULL};
static const uint32_t move_dims[] = {0, 2, 3, 6};

/* A size of tool number `of` that may be a variable (of MPM_NOT_A_TOOL: it may not), times `factor`. */
static double tool_size_of(mpm_setup_reader *r, const scene_section *s, const char *key, uint32_t of,
                           uint32_t part, double factor)
{
    const mpm_setup_meaning as = {
        .kind = MPM_TOOL_SIZE, .of = of, .part = part, .factor = factor, .unit = "m"};
    return factor * mpm_setup_size(r, s, key, of == MPM_NOT_A_TOOL ? NULL : &as);
}

/* The distance to a mesh on a grid, and the mesh to draw, both at the start of a scale that varies. */
static void read_tool_mesh(mpm_setup_reader *r, const scene_section *s, uint32_t of, mpm_tool *tool)
{
    surface solid;
    const int cells = (int)scene_whole(r->f, s, "cells", 8, 128, 48);
    const mpm_setup_meaning as = {.kind = MPM_TOOL_SIZE, .of = of, .unit = ""};
    const double scale = mpm_setup_scale(r, s, of == MPM_NOT_A_TOOL ? NULL : &as);
    tool->size[0] = 1.0;
    if (!mpm_setup_surface(r, s, scale, &solid)) {
        return;
    }
    distance_grid grid;
    mpm_tool_mesh *mesh = ds_memory_take(&r->setup->memory, 1, sizeof *mesh);
    uint32_t *index = ds_memory_take(&r->setup->memory, 3 * solid.mesh.triangles, sizeof *index);
    if (mesh && index && surface_distances(&solid, cells, &grid)) {
        const size_t all = (size_t)grid.n[0] * (size_t)grid.n[1] * (size_t)grid.n[2];
        double *value = mpm_setup_keep(r, grid.value, all, 1.0);
        free(grid.value);
        memcpy(index, solid.mesh.triangle, 3 * solid.mesh.triangles * sizeof *index);
        grid.value = value;
        mesh->distance = grid;
        mesh->points = (uint32_t)solid.mesh.points;
        mesh->indices = (uint32_t)(3 * solid.mesh.triangles);
        mesh->point = mpm_setup_keep(r, solid.mesh.point, 3 * solid.mesh.points, 1.0);
        mesh->index = index;
        tool->mesh = mesh;
    }
    if (!tool->mesh || r->setup->memory.failed) {
        scene_fail(r->f, s, "file", "no memory for the distance to the mesh");
    }
    surface_free(&solid);
}

/* The mesh that shows a ladle. */
static void draw_ladle(mpm_setup_reader *r, mpm_tool *tool)
{
    mpm_tool_mesh *mesh = ds_memory_take(&r->setup->memory, 1, sizeof *mesh);
    double *point = ds_memory_doubles(&r->setup->memory, 3 * (size_t)MPM_LADLE_POINTS);
    uint32_t *index = ds_memory_take(&r->setup->memory, MPM_LADLE_INDICES, sizeof *index);
    if (mesh && point && index) {
        mpm_ladle_mesh(tool->size[0], tool->size[1], point, index);
        *mesh = (mpm_tool_mesh){
            .points = MPM_LADLE_POINTS, .indices = MPM_LADLE_INDICES, .point = point, .index = index};
        tool->mesh = mesh;
    }
}

/* of: the number of the tool, MPM_NOT_A_TOOL for a region. */
void mpm_setup_tool_size(mpm_setup_reader *r, const scene_section *s, uint32_t of, mpm_tool *tool)
{
    const mpm_setup_meaning edges = {.kind = MPM_TOOL_SIZE, .of = of, .factor = 0.5, .unit = "m"};
    double *size = tool->size;
    switch (tool->shape) {
    case MPM_BOX:
        if (scene_needs(r->f, s, "size") && of != MPM_NOT_A_TOOL) {
            mpm_setup_quantities(r, s, "size", 3, true, &edges, 1e-4, MPM_MOST_SIZE, size);
        } else {
            scene_numbers(r->f, s, "size", 3, true, 1e-4, MPM_MOST_SIZE, size);
        }
        for (int d = 0; d < 3; d++) {
            size[d] *= 0.5;
        }
        break;
    case MPM_MESH:
        read_tool_mesh(r, s, of, tool);
        break;
    case MPM_CYLINDER:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool_size_of(r, s, "height", of, 1, 0.5);
        break;
    case MPM_TORUS:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool_size_of(r, s, "tube", of, 1, 1.0);
        break;
    case MPM_LADLE:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool_size_of(r, s, "thickness", of, 1, 0.5);
        draw_ladle(r, tool);
        break;
    default:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool->shape == MPM_SPHERE ? 0.0 : tool_size_of(r, s, "length", of, 1, 1.0);
        break;
    }
}

/* A tool that moves must do so, from a place in its bounds. */
static void check_motion(mpm_setup_reader *r, const scene_section *s, const mpm_tool *tool)
{
    double fastest = 0.0;
    for (uint32_t i = 0; i < tool->action_dim; i++) {
        fastest = fmax(fastest, tool->scale[i]);
    }
    if (fastest == 0.0) {
        scene_fail(r->f, s, "speed", "the tool moves at a speed of 0: give a speed, or move = none");
    }
    for (int d = 0; d < 3 && !scene_failed(r->f); d++) {
        const double at = tool->start.position[d], low = tool->lower[d],
                     high = scene_has(r->f, s, "upper") ? tool->upper[d] : fmin(tool->upper[d], r->size[d]);
        if (!(at >= low && at <= high)) {
            scene_fail(
                r->f, s, "position",
                "the tool begins at %.4g along %c, outside its bounds %.4g to %.4g (keys lower, upper)", at,
                "xyz"[d], low, high);
        }
    }
}

void mpm_setup_tool(mpm_setup_reader *r, const scene_section *s)
{
    scene_file *f = r->f;
    mpm_task *task = &r->setup->task;
    mpm_scene *scene = &task->scene;
    bool turned;
    if (scene->n_tools == MPM_MAX_TOOLS) {
        scene_fail(f, s, NULL, "more than %d tools", MPM_MAX_TOOLS);
        return;
    }
    const uint32_t of = scene->n_tools;
    const mpm_setup_meaning position = {.kind = MPM_TOOL_POSITION, .of = of, .unit = "m"},
                            rotation = {.kind = MPM_TOOL_ROTATION, .of = of, .unit = ""},
                            friction = {.kind = MPM_TOOL_FRICTION, .of = of, .unit = ""},
                            gap = {.kind = MPM_TOOL_GAP, .of = of, .unit = "m"};
    task->tool_names[scene->n_tools] = scene_name(s);
    mpm_tool *tool = &scene->tools[scene->n_tools++];
    tool->shape = scene_needs(f, s, "shape") ? scene_choice(f, s, "shape", mpm_setup_tool_shapes, 0) : 0;
    mpm_setup_tool_size(r, s, of, tool);
    tool->friction = mpm_setup_quantity(r, s, "friction", &friction, 0.0, 1e3, 0.9);
    for (int d = 0; d < 3; d++) {
        tool->upper[d] = 1.0;
    }
    scene_numbers(f, s, "lower", 3, true, -MPM_MOST_SIZE, MPM_MOST_SIZE, tool->lower);
    scene_numbers(f, s, "upper", 3, true, -MPM_MOST_SIZE, MPM_MOST_SIZE, tool->upper);
    for (int d = 0; d < 3; d++) {
        if (!(tool->lower[d] < tool->upper[d])) {
            scene_fail(f, s, "upper", "upper must be above lower along %c", "xyz"[d]);
        }
    }
    if (scene_needs(f, s, "position")) {
        mpm_setup_quantities(r, s, "position", 3, false, &position, -MPM_MOST_SIZE, MPM_MOST_SIZE,
                             tool->start.position);
    }
    mpm_setup_rotation(r, s, &rotation, tool->start.rotation, &turned);
    if (tool->shape == MPM_ROLLING_PIN) {
        tool->action_dim = 3;
    } else if (tool->shape == MPM_CHOPSTICKS) {
        tool->action_dim = 7;
        tool->start.gap =
            scene_needs(f, s, "gap") ? mpm_setup_quantity(r, s, "gap", &gap, 1e-4, MPM_MOST_SIZE, 1.0) : 1.0;
        tool->min_gap = scene_number(f, s, "min_gap", 0.0, MPM_MOST_SIZE, tool->start.gap);
    } else {
        tool->action_dim = move_dims[scene_choice(f, s, "move", moves, 2)];
    }
    if (tool->action_dim > 0 && scene_needs(f, s, "speed")) {
        scene_numbers(f, s, "speed", tool->action_dim, true, 0.0, MPM_MOST_SIZE, tool->scale);
        check_motion(r, s, tool);
    }
}

/* A tool that begins deep inside a body would throw the body apart; key `inside` allows it. */
static void check_tools(mpm_setup_reader *r, const mpm_domain *domain, const mpm_particle *particles,
                        const uint32_t *first)
{
    const mpm_task *task = &r->setup->task;
    const mpm_scene *scene = &task->scene;
    uint32_t t = 0;
    for (const scene_section *s = NULL; !scene_failed(r->f) && (s = scene_next(r->f, s, "tool")); t++) {
        const mpm_tool *tool = &scene->tools[t];
        const bool allowed = scene_choice(r->f, s, "inside", inside_names, 0) == 1;
        for (uint32_t b = 0; b < scene->n_bodies; b++) {
            double deepest = 0.0;
            for (uint32_t p = first[b]; p < first[b + 1]; p++) {
                deepest = fmin(deepest, mpm_tool_distance(tool, &tool->start, particles[p].x));
            }
            if (deepest < -domain->dx && !allowed && !scene_failed(r->f)) {
                scene_fail(r->f, s, "position",
                           "tool %.47s begins %.3g m inside body %.47s: move one of them, or allow it by "
                           "inside = yes",
                           scene_name(s), -deepest, task->body_names[b]);
            }
        }
    }
}

/* The shape of a body as that of a tool; false for points. */
static bool solid_of(const mpm_body *body, mpm_tool *out)
{
    static const uint32_t shape_of[] = {
        [MPM_BODY_BOX] = MPM_BOX,           [MPM_BODY_SPHERE] = MPM_SPHERE,   [MPM_BODY_LATTICE] = MPM_BOX,
        [MPM_BODY_CYLINDER] = MPM_CYLINDER, [MPM_BODY_CAPSULE] = MPM_CAPSULE, [MPM_BODY_TORUS] = MPM_TORUS};
    if (body->shape >= sizeof shape_of / sizeof *shape_of) {
        return false;
    }
    *out = (mpm_tool){.shape = shape_of[body->shape]};
    const bool box = out->shape == MPM_BOX;
    for (int d = 0; d < 3; d++) {
        out->size[d] = body->size[d] * (box || (out->shape == MPM_CYLINDER && d == 1) ? 0.5 : 1.0);
        out->start.position[d] = body->center[d];
    }
    memcpy(out->start.rotation, body->rotation, sizeof body->rotation);
    return true;
}

/* Two bodies in one place have twice the mass there, and press each other apart. */
static void check_overlap(const mpm_setup_reader *r, const mpm_particle *particles, const uint32_t *first,
                          double share)
{
    const mpm_task *task = &r->setup->task;
    for (uint32_t b = 0; b < task->scene.n_bodies; b++) {
        for (uint32_t other = 0; other < b; other++) {
            const mpm_body *bodies = task->scene.bodies;
            const bool carved = bodies[b].carved == 1 + other || bodies[other].carved == 1 + b;
            uint32_t inside = 0;
            for (int side = 0; side < 2 && !carved; side++) {
                const uint32_t of = side ? b : other, in = side ? other : b;
                mpm_tool solid;
                for (uint32_t p = first[of]; solid_of(&bodies[in], &solid) && p < first[of + 1]; p++) {
                    inside += mpm_tool_distance(&solid, &solid.start, particles[p].x) < -1e-6;
                }
            }
            if (inside > 0) {
                ds_host_say(
                    r->host, DS_LOG_WARNING,
                    "bodies %s and %s overlap: %s%.0f of their particles begin inside the other body: move "
                    "one of them or make it smaller",
                    task->body_names[other], task->body_names[b], share < 1.0 ? "about " : "",
                    inside / share);
            }
        }
    }
}

void mpm_setup_check_places(mpm_setup_reader *r)
{
    enum { LOOKED_AT = 20000 };
    const mpm_scene *scene = &r->setup->task.scene;
    const mpm_domain domain =
        r->setup->task.domain ? *r->setup->task.domain : mpm_domain_make(MPM_PRESET_FULL);
    const uint32_t all = mpm_particle_count(scene, &domain, 0), total = all < LOOKED_AT ? all : LOOKED_AT;
    const uint32_t count = mpm_particle_count(scene, &domain, total); /* a lattice has its own number */
    mpm_particle *particles = calloc((size_t)count + 1, sizeof *particles);
    uint32_t first[MPM_MAX_BODIES + 1] = {0};
    if (!particles) {
        r->setup->memory.failed = true;
        return;
    }
    mpm_particles_make(scene, &domain, total, 0, particles);
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        first[b + 1] = first[b] + mpm_body_count(scene, &domain, total, b);
    }
    check_tools(r, &domain, particles, first);
    if (!scene_failed(r->f)) {
        check_overlap(r, particles, first, (double)count / all);
    }
    free(particles);
}

uint32_t mpm_setup_tool_number(const mpm_task *task, const char *name)
{
    uint32_t t = 0;
    while (t < task->scene.n_tools && strcmp(task->tool_names[t], name) != 0) {
        t++;
    }
    return t;
}
