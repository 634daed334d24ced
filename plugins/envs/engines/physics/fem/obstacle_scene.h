/* SPDX-License-Identifier: Apache-2.0 */
/* obstacle_scene.h - obstacles in the scene of an environment. */
#ifndef DS_ENGINES_FEM_OBSTACLE_SCENE_H
#define DS_ENGINES_FEM_OBSTACLE_SCENE_H

#include "engines/physics/fem/obstacle.h"

#include <diffsim/helper/scene_kit.h>

#include <math.h>
#include <string.h>

/* Adds obstacle i of a scene, with a name that stays. */
static inline void fem_obstacle_body(const fem_obstacle *o, size_t i, ds_scene_kit *k)
{
    static const char *const names[FEM_MOST_OBSTACLES] = {
        "obstacle",    "obstacle_2",  "obstacle_3",  "obstacle_4",  "obstacle_5",  "obstacle_6",
        "obstacle_7",  "obstacle_8",  "obstacle_9",  "obstacle_10", "obstacle_11", "obstacle_12",
        "obstacle_13", "obstacle_14", "obstacle_15", "obstacle_16"};
    const char *name = o->name != NULL ? o->name : names[i];
    const double *s = o->size;
    double reach = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
    if (o->shape == FEM_SPHERE) {
        ds_scene_kit_body(k, name, DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){s[0], 0, 0, 0});
    } else if (o->shape == FEM_BOX) {
        ds_scene_kit_body(k, name, DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){s[0], s[1], s[2], 0});
    } else if (o->shape == FEM_SURFACE) {
        const uint64_t at =
            ds_scene_kit_body(k, name, DS_BODY_MESH, DS_ROLE_FIXED, o->points, (double[4]){0, 0, 0, 0});
        k->body[at].index = o->index;
        k->body[at].index_count = o->indices;
    } else {
        reach = s[0] + s[1];
        ds_scene_kit_body(k, name, DS_BODY_CAPSULE, DS_ROLE_FIXED, 1, (double[4]){s[0], 2 * s[1], 0, 0});
    }
    ds_scene_kit_include(k, o->position[0], o->position[1], o->position[2], reach);
}

/* Its place, as the scene wants it: the points of a mesh, or position and rotation. */
static inline void fem_obstacle_place(const fem_obstacle *o, double *out)
{
    for (size_t i = 0; o->shape == FEM_SURFACE && i < o->points; i++) {
        fem_obstacle_point(o, o->point + 3 * i, out + 3 * i);
    }
    if (o->shape != FEM_SURFACE) {
        memcpy(out, o->position, sizeof o->position);
        fem_obstacle_rotation(o, out + 3);
    }
}

#endif
