/* SPDX-License-Identifier: Apache-2.0 */
/* soft_scene.h - a scene of deformable bodies from a file: the struct of the compiled tasks (soft.h), and
 * what it refers to. */
#ifndef DS_ENGINES_SOFT_SOFT_SCENE_H
#define DS_ENGINES_SOFT_SOFT_SCENE_H

#include "engines/data/scene_params.h"
#include "engines/physics/soft/soft.h"

/* What replaces the choices of the file; zeros and NULL: nothing does. */
typedef struct soft_choices {
    double duration;                    /* s */
    uint32_t substeps, frames, observe; /* observe: 1 image, 2 points, 3 centre */
    uint32_t image_size;
    uint64_t seed;
} soft_choices;

enum { SETUP_MATERIALS = 8, SETUP_BODIES = 8 };

/* Owns what the scene refers to. */
typedef struct soft_setup {
    soft_task task;
    scene_file *file;
    scene_params params;
    body_variable variable[BODY_VARIABLES_MAX + 1];
    body_material material[SETUP_MATERIALS], by_vertex[SETUP_MATERIALS];
    body_shape shape[SETUP_BODIES];
    double *goal;     /* [goals][particles][3]: the points of the target, unless an episode makes it */
    size_t goals;     /* 1, or one for each compared state */
    uint8_t *counted; /* [particles] */
    uint32_t *chosen; /* [particles]: those whose positions are compared come first */
    ds_memory memory;
} soft_setup;

/* An environment: the scene in the struct of the compiled tasks, and what it refers to. */
typedef struct soft_scene {
    soft soft; /* first */
    soft_setup setup;
} soft_scene;

#endif
