/* SPDX-License-Identifier: Apache-2.0 */
/* setup_targets.c - targets and terms of the loss of a scene file. */
#include "engines/physics/mpm/env/setup_targets.h"

#include "engines/physics/mpm/env/setup_bodies.h"
#include "engines/physics/mpm/env/setup_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const term_names[] = {"center", "height", "region", NULL};

/* ---- target ---- */

/* A density as NumPy saves it: n x n x n numbers, the mass of each node. */
static void read_density(mpm_setup_reader *r, const scene_section *s, const char *path)
{
    enum { LEAST_NODES = 8, MOST_NODES = 128 };
    uint64_t n[3] = {0};
    double sum = 0.0;
    double *density = mpm_setup_array(r, s, path, 3, n);
    if (!density) {
        return;
    }
    if (n[0] < LEAST_NODES || n[0] > MOST_NODES || n[1] != n[0] || n[2] != n[0]) {
        scene_fail(r->f, s, "file", "%.200s: expected an array of n x n x n numbers, n from %d to %d", path,
                   LEAST_NODES, MOST_NODES);
        return;
    }
    for (uint64_t i = 0; i < n[0] * n[0] * n[0] && !scene_failed(r->f); i++) {
        sum += density[i];
        if (density[i] < 0.0) {
            scene_fail(r->f, s, "file", "%.200s: a mass is negative", path);
        }
    }
    if (!(sum > 0.0)) {
        scene_fail(r->f, s, "file", "%.200s: the density is zero everywhere", path);
    }
    r->setup->task.density = density;
    r->setup->task.n = (int)n[0];
}

static void read_target_file(mpm_setup_reader *r, const scene_section *s)
{
    mpm_task *task = &r->setup->task;
    const char *given = scene_text(r->f, s, "file", ""), *path = scene_path(r->f, s, "file");
    char relative[SCENE_LINE + 8], found[4096];
    if (mpm_setup_ends_with(given, ".npy")) {
        if (access(path, R_OK) != 0) {
            scene_fail(r->f, s, "file",
                       "file = %.60s: %.200s: %s; file names are relative to the scene file (`dshost target "
                       "SHAPE -o "
                       "%.60s` makes it from a mesh, points or a run)",
                       given, path, strerror(errno), given);
            return;
        }
        read_density(r, s, path);
        return;
    }
    if (!mpm_setup_ends_with(given, ".targets")) {
        scene_fail(r->f, s, "file", "file = %.60s: expected a density (.npy) or a file of targets (.targets)",
                   given);
        return;
    }
    if (access(path, R_OK) != 0) {
        snprintf(relative, sizeof relative, "data/%.190s", given);
        if (r->host->resource(r->host, relative, found, sizeof found, NULL) != DS_OK) {
            scene_fail(
                r->f, s, "file",
                "%.200s cannot be read, and is not among the data of the plugins: file names are relative to "
                "the scene file",
                path);
            return;
        }
        char *copy = ds_memory_take(&r->setup->memory, strlen(found) + 1, 1);
        if (copy) {
            memcpy(copy, found, strlen(found) + 1);
        }
        path = copy;
    }
    task->target_path = path;
    r->setup->choices.variant = scene_whole(r->f, s, "variant", 1, MPM_TARGET_VARIANTS, 1);
}

/* [target NAME]: where body NAME goes. */
static void read_aim(mpm_setup_reader *r, const scene_section *s, uint32_t b)
{
    scene_file *f = r->f;
    mpm_task *task = &r->setup->task;
    mpm_body *body = &task->scene.bodies[b];
    mpm_aim *aim = &body->aim;
    const char *around = scene_text(f, s, "around", "");
    bool shift = scene_numbers(f, s, "shift", 3, false, -MPM_MOST_SIZE, MPM_MOST_SIZE, aim->by);
    bool center = scene_numbers(f, s, "center", 3, false, -MPM_MOST_SIZE, MPM_MOST_SIZE, aim->by);
    if (shift + center + (around[0] != '\0') != 1) {
        scene_fail(f, s, NULL, "[target %s] needs one of: shift, center, around (a tool), or shape",
                   scene_name(s));
        return;
    }
    aim->kind = shift ? MPM_AIM_SHIFT : center ? MPM_AIM_CENTER : MPM_AIM_RING;
    if (around[0]) {
        while (aim->tool < task->scene.n_tools && strcmp(task->tool_names[aim->tool], around) != 0) {
            aim->tool++;
        }
        aim->radius = mpm_setup_size(r, s, "radius", NULL);
        if (aim->tool == task->scene.n_tools || body->shape != MPM_BODY_BOX) {
            scene_fail(f, s, "around", "around names a tool that a box along x is bent around");
        }
    }
}

void mpm_setup_targets(mpm_setup_reader *r)
{
    scene_file *f = r->f;
    mpm_task *task = &r->setup->task;
    const scene_section *whole = scene_find(f, "target", "");
    uint32_t n = whole != NULL, aims = 0;
    if (whole && scene_needs(f, whole, "file")) {
        read_target_file(r, whole);
    }
    for (const scene_section *s = NULL; (s = scene_next(f, s, "target"));) {
        if (s == whole) {
            continue;
        }
        uint32_t b = mpm_setup_body_number(task, scene_name(s));
        n++;
        if (scene_has(f, s, "shape")) {
            mpm_setup_body(r, s, &r->setup->shapes);
        } else if (b < task->scene.n_bodies) {
            read_aim(r, s, b);
            aims++;
        } else {
            scene_fail(f, s, NULL, "there is no [body %s]: name a body, or give the target a shape",
                       scene_name(s));
        }
    }
    task->no_target = n == 0;
    if (n > 0 && task->domain) {
        scene_fail(
            f, whole ? whole : scene_next(f, NULL, "target"), NULL,
            "a target is a density of the unit cube, and this scene has a section [grid]: use terms of "
            "the loss, [loss NAME]");
    } else if (n == 0 && task->terms.count == 0) {
        scene_fail(f, NULL, NULL,
                   "the scene has no loss: add a section [target], where the material should go, or a term "
                   "[loss NAME]");
    } else if ((whole != NULL) + (aims > 0) + (r->setup->shapes.n_bodies > 0) > 1) {
        scene_fail(f, NULL, NULL,
                   "the target is a file, or bodies that move, or shapes; this scene has two of them");
    }
    task->shapes = r->setup->shapes.n_bodies > 0 ? &r->setup->shapes : NULL;
}

/* ---- terms of the loss ---- */

/* The number of the body that key `body` names; without the key the only one. */
static uint32_t read_term_body(mpm_setup_reader *r, const scene_section *s)
{
    const mpm_task *task = &r->setup->task;
    const char *name = scene_text(r->f, s, "body", "");
    const uint32_t body = name[0] ? mpm_setup_body_number(task, name) : 0;
    if (body >= task->scene.n_bodies || (!name[0] && task->scene.n_bodies > 1)) {
        scene_fail(r->f, s, name[0] ? "body" : NULL,
                   name[0] ? "section [body %.47s] is missing"
                           : "the key 'body' must name one of the bodies of the scene%.0s",
                   name);
        return 0;
    }
    return body;
}

/* The axes that count, "xz". */
static void read_along(mpm_setup_reader *r, const scene_section *s, bool along[3])
{
    const char *axes = scene_text(r->f, s, "along", "xyz");
    if (!axes[0] || strspn(axes, "xyz") != strlen(axes)) {
        scene_fail(r->f, s, "along", "along = %.20s: expected some of the axes x, y, z, as in along = xz",
                   axes);
    }
    for (int d = 0; d < 3; d++) {
        along[d] = strchr(axes, "xyz"[d]) != NULL;
    }
}

static void read_center_term(mpm_setup_reader *r, const scene_section *s, mpm_term *t)
{
    const mpm_task *task = &r->setup->task;
    const char *tool = scene_text(r->f, s, "tool", "");
    t->to_tool = tool[0] != '\0';
    t->tool = t->to_tool ? mpm_setup_tool_number(task, tool) : 0;
    if (scene_numbers(r->f, s, "position", 3, false, -MPM_MOST_SIZE, MPM_MOST_SIZE, t->position) ==
        t->to_tool) {
        scene_fail(r->f, s, NULL,
                   "a term 'center' needs either position or tool: where the centre of mass should be");
    } else if (t->to_tool && t->tool == task->scene.n_tools) {
        scene_fail(r->f, s, "tool", "section [tool %.47s] is missing", tool);
        t->tool = 0;
    }
    read_along(r, s, t->along);
}

static void read_height_term(mpm_setup_reader *r, const scene_section *s, mpm_term *t)
{
    t->below = scene_has(r->f, s, "below");
    if (scene_has(r->f, s, "above") == t->below) {
        scene_fail(r->f, s, NULL, "a term 'height' needs either above or below: a height in m");
    }
    t->height = scene_number(r->f, s, t->below ? "below" : "above", -MPM_MOST_SIZE, MPM_MOST_SIZE, 0.0);
}

static void read_region_term(mpm_setup_reader *r, const scene_section *s, mpm_term *t)
{
    bool turned;
    mpm_tool *region = &t->region;
    region->shape =
        scene_needs(r->f, s, "shape") ? scene_choice(r->f, s, "shape", mpm_setup_tool_shapes, 0) : 0;
    if (region->shape > MPM_BOX && region->shape != MPM_MESH) {
        scene_fail(r->f, s, "shape", "a region is a sphere, capsule, cylinder, torus, box or mesh");
        return;
    }
    mpm_setup_tool_size(r, s, MPM_NOT_A_TOOL, region);
    if (scene_needs(r->f, s, "position")) {
        scene_numbers(r->f, s, "position", 3, false, -MPM_MOST_SIZE, MPM_MOST_SIZE, region->start.position);
    }
    for (int d = 0; d < 3 && !scene_failed(r->f); d++) {
        const double at = region->start.position[d];
        if (!(at >= 0.0 && at <= r->size[d])) {
            scene_fail(r->f, s, "position", "the region is at %.4g along %c, the grid from 0 to %.4g", at,
                       "xyz"[d], r -> size[d]);
        }
    }
    mpm_setup_rotation(r, s, NULL, region->start.rotation, &turned);
}

void mpm_setup_terms(mpm_setup_reader *r)
{
    mpm_terms *terms = &r->setup->task.terms;
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "loss")) && !scene_failed(r->f);) {
        if (scene_name(s)[0] == '\0') {
            continue;
        }
        if (terms->count == MPM_MAX_TERMS) {
            scene_fail(r->f, s, NULL, "more than %d terms", MPM_MAX_TERMS);
            return;
        }
        mpm_term *t = &terms->term[terms->count++];
        t->name = scene_name(s);
        t->kind = scene_needs(r->f, s, "term") ? scene_choice(r->f, s, "term", term_names, 0) : 0;
        t->weight = scene_number(r->f, s, "weight", 0.0, 1e6, 1.0);
        t->body = read_term_body(r, s);
        if (t->kind == MPM_TERM_CENTER) {
            read_center_term(r, s, t);
        } else if (t->kind == MPM_TERM_HEIGHT) {
            read_height_term(r, s, t);
        } else {
            read_region_term(r, s, t);
        }
    }
}
