/* SPDX-License-Identifier: Apache-2.0 */
/* scene_kit.h - the scene extension of an environment from a table of bodies and metrics and one function
 * that places a body. The environment's instance has a scene_kit as its FIRST member. */
#ifndef DS_ENGINES_SCENE_KIT_H
#define DS_ENGINES_SCENE_KIT_H

#include <diffsim/ext/scene.h>
#include <diffsim/helper/memory.h>

enum { SCENE_KIT_BODIES = 24, SCENE_KIT_METRICS = 16 };

typedef struct scene_metric {
    const char *name, *unit;
} scene_metric;

typedef struct scene_kit {
    int kept;           /* the last evaluate() kept a scene */
    ds_scene_info info; /* frames = capacity */
    ds_scene_body body[SCENE_KIT_BODIES];
    scene_metric metric[SCENE_KIT_METRICS];
    double *value; /* info.metrics rows of `capacity` values */
    uint64_t capacity;
    double view[6]; /* the visible box before episodes widen it */
    /* Numbers of body b in frame k (see ds_scene.frame) from the instance. */
    void (*frame)(const void *self, uint64_t k, uint64_t b, double *out);
} scene_kit;

/* The table that get_extension(DS_EXT_SCENE) returns. */
extern const ds_scene scene_kit_table;

/* Sets up a scene of steps + 1 frames without bodies and metrics. */
void scene_kit_open(scene_kit *s, uint64_t steps, double dt,
                    void (*frame)(const void *self, uint64_t k, uint64_t b, double *out));

/* Adds a body of `count` elements; returns its number. Constants of the shape go to `size`. */
uint64_t scene_kit_body(scene_kit *s, const char *name, uint32_t shape, uint32_t role, uint64_t count,
                        const double size[4]);

/* Allocates the metrics and notes the visible box. Called once, after all were added; 0 where there
 * is no memory. */
int scene_kit_ready(scene_kit *s, ds_memory *m);

/* The metrics of frame k, in their order. */
void scene_kit_measured(scene_kit *s, uint64_t k, const double *values);

/* The visible box as it was when the scene was ready. */
void scene_kit_reset_box(scene_kit *s);

/* Grows the visible box to hold a disc of radius r about (x, y, z). */
void scene_kit_include(scene_kit *s, double x, double y, double z, double r);

/* Position and turn about z by `angle` as the seven numbers of a rigid element. */
void scene_kit_pose(double x, double y, double z, double angle, double *out);

#endif
