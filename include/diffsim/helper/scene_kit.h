/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/scene_kit.h - the scene extension (diffsim/ext/scene.h) from a list of bodies, a list of
 * metrics and one function that places a body, in C.
 *
 * Header only, no part of the binary interface. diffsim/helper/env_kit.h uses it; without that kit, an
 * instance has a ds_scene_kit as its FIRST member:
 *
 *     typedef struct ball {
 *         ds_scene_kit scene; // first
 *         ds_memory memory;
 *         double path[STEPS + 1];
 *     } ball;
 *
 *     static void place(const void *self, uint64_t k, uint64_t b, double *out)
 *     {
 *         const ball *e = self;
 *         ds_scene_kit_pose(e->path[k], b == 0 ? 1 : 0, 0, 0, out);
 *     }
 *
 * In create():
 *
 *     ds_scene_kit_open(&e->scene, &e->memory, STEPS, DT, place);
 *     ds_scene_kit_metric(&e->scene, "height", "m");
 *     ds_scene_kit_body(&e->scene, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){RADIUS});
 *     ds_scene_kit_include(&e->scene, 0, 0, 0, 5);
 *     ds_scene_kit_ready(&e->scene);
 *     if (e->memory.failed) {
 *         ... out of memory
 *     }
 *
 * evaluate() sets scene.kept to 1 where it has kept the episode for place(), else to 0, and passes the
 * metrics of each frame to ds_scene_kit_measured(). get_extension() returns ds_scene_kit_table() for
 * DS_EXT_SCENE.
 *
 * Threads: all functions are [instance]. Lengths are in metres, y is up. The memory belongs to the ds_memory
 * that ds_scene_kit_open() gets, and a failed allocation sets its `failed`.
 */
#ifndef DIFFSIM_HELPER_SCENE_KIT_H
#define DIFFSIM_HELPER_SCENE_KIT_H

#include <diffsim/ext/scene.h>
#include <diffsim/helper/memory.h>

#ifndef __cplusplus
#include <math.h>
#include <string.h>

/* Name and unit of a metric; both texts stay valid as long as the instance. */
typedef struct ds_scene_kit_label {
    const char *name, *unit;
} ds_scene_kit_label;

/* The camera of a scene (see ds_scene_info). */
typedef struct ds_scene_kit_camera {
    int given;
    double azimuth, elevation; /* degrees */
} ds_scene_kit_camera;

typedef struct ds_scene_kit {
    int kept;                   /* the last evaluate() kept a scene */
    ds_scene_info info;         /* frames = `capacity`, fewer where an episode ended early */
    ds_scene_body *body;        /* info.bodies of them; see ds_scene_kit_at() */
    ds_scene_kit_label *metric; /* info.metrics of them */
    double *value;              /* info.metrics rows of `capacity` values */
    double *row;                /* room for the metrics of one frame */
    uint64_t capacity;          /* frames of a whole episode */
    double view[6];             /* the visible box before episodes grow it */
    /* Writes the numbers of body b in frame k (see ds_scene.frame). */
    void (*frame)(const void *self, uint64_t k, uint64_t b, double *out);

    /* Private: owner of the lists, room in them, the body that is not shown. */
    ds_memory *memory;
    uint64_t body_room, metric_room;
    ds_scene_body no_body;
} ds_scene_kit;

/* Sets up a scene of steps + 1 frames, `dt` seconds apart, without bodies and metrics; the box is empty. */
static inline void ds_scene_kit_open(ds_scene_kit *s, ds_memory *memory, uint64_t steps, double dt,
                                     void (*frame)(const void *self, uint64_t k, uint64_t b, double *out));

/* Adds a body of `count` elements and returns its number (UINT64_MAX without memory). `size` holds the
 * constants of the shape, `name` stays valid as long as the instance. ds_scene_kit_at() gives access to
 * the other fields. */
static inline uint64_t ds_scene_kit_body(ds_scene_kit *s, const char *name, uint32_t shape, uint32_t role,
                                         uint64_t count, const double size[4]);

/* Body b, to set what ds_scene_kit_body() leaves 0: `index`, `index_count`, `variety`. The pointer is valid
 * until the next body is added. Never NULL: without memory, or with a number that does not exist, it points
 * to a body that is not shown. */
static inline ds_scene_body *ds_scene_kit_at(ds_scene_kit *s, uint64_t b);

/* Adds a metric and returns its number (UINT64_MAX without memory). */
static inline uint64_t ds_scene_kit_metric(ds_scene_kit *s, const char *name, const char *unit);

/* Shows the scene from this camera, if it is given. */
static inline void ds_scene_kit_view(ds_scene_kit *s, const ds_scene_kit_camera *from);

/* Allocates the values of the metrics and stores the visible box. Call it once, after all were added. */
static inline void ds_scene_kit_ready(ds_scene_kit *s);

/* Sets the metrics of frame k from `values`, in the order in which they were added. */
static inline void ds_scene_kit_measured(ds_scene_kit *s, uint64_t k, const double *values);

/* Sets the visible box to the one of ds_scene_kit_ready(). */
static inline void ds_scene_kit_reset_box(ds_scene_kit *s);

/* Grows the visible box to hold a disc of radius r around (x, y, z). */
static inline void ds_scene_kit_include(ds_scene_kit *s, double x, double y, double z, double r);

/* Writes a position, turned about z by `angle` (radians), as the seven numbers of a rigid element. */
static inline void ds_scene_kit_pose(double x, double y, double z, double angle, double *out);

/* The table that get_extension(DS_EXT_SCENE) returns. */
static inline const ds_scene *ds_scene_kit_table(void);

#include <diffsim/helper/scene_kit.inl>

#endif
#endif
