/* SPDX-License-Identifier: Apache-2.0 */
/* setup.h - the scene of deformable bodies that a file describes; docs/scenes.md lists sections and keys. */
#ifndef DS_ENGINES_SOFT_SETUP_H
#define DS_ENGINES_SOFT_SETUP_H

#include "engines/physics/soft/scene/soft_scene.h"

/* Fills a scene of zeros (but for the kit) from a file that scene_file_read() or scene_file_parse() has
 * opened (NULL: no memory), and owns it. Reports the first mistake to the host, with file and line. */
ds_status soft_setup_read(soft_scene *scene, scene_file *file, const soft_choices *choices,
                          const ds_host *host);
void soft_setup_free(soft_setup *setup);

/* A number of an obstacle that is a variable: `scale` times it is at `at`, with the derivative at `bar`. */
typedef struct soft_obstacle_number {
    const scene_section *section;
    const char *key, *part, *unit; /* part: "", or ".x" of several numbers */
    scene_quantity number;
    double scale;
    double *at;
    const double *bar;
} soft_obstacle_number;

/* The obstacles of a scene of springs: shapes, places, friction and offset, in out[] and bar[] of
 * FEM_MOST_OBSTACLES, which must stay where they are. Calls vary() for each variable. Mistakes are in the
 * file; check memory->failed. */
size_t soft_setup_obstacles(scene_file *f, ds_memory *memory, fem_obstacle *out, fem_obstacle_bar *bar,
                            void (*vary)(void *self, const soft_obstacle_number *number), void *self);

#endif
