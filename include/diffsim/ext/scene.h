/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/scene.h - environment extension "ds.env.scene/1": bodies, positions and metrics of an episode.
 *
 * Purpose: images, trajectories and metrics of any environment, which the host draws and writes without
 * knowledge of the simulation.
 *
 * Scenario: a search has found a better point. The host evaluates it again with DS_WANT_SCENE, reads the
 * bodies and a few frames, and draws best.png.
 *
 * After an evaluate() with DS_WANT_SCENE the instance holds the scene of that episode: frames 0 .. steps of a
 * fixed list of bodies, and metrics with one value per frame. All calls are [instance]; the data belong to
 * the instance and stay valid until its next evaluate() or destroy().
 *
 * Rules for the environment: bodies and metrics are the same after every evaluation; keeping a scene does not
 * change the loss. Rules for the host: it requests a scene only after such an evaluation, and copies what it
 * keeps.
 *
 * Limits: at most 1024 bodies and 1024 metrics. Names match [a-z][a-z0-9_]*, have at most 63 bytes and are
 * unique. Units are printable texts of at most 31 bytes. A whole scene takes at most 4 GiB. The visible box
 * has an extent above 0.
 */
#ifndef DIFFSIM_EXT_SCENE_H
#define DIFFSIM_EXT_SCENE_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_SCENE "ds.env.scene/1"

/* Shape of a body. In brackets: numbers of one element in one frame. `size` holds the constants. A rigid
 * element is a pose: position x y z, then the unit quaternion w x y z that turns body axes into world
 * axes. */
enum {
    DS_BODY_POINTS = 1,  /* [3] particles; size = radius, clearness (0 opaque, towards 1 like glass) */
    DS_BODY_SPHERE = 2,  /* [7] size[0] = radius */
    DS_BODY_CAPSULE = 3, /* [7] axis = body y, origin in the middle; size = radius, distance of end centres */
    DS_BODY_CYLINDER = 4, /* [7] axis = body y; size = radius, height */
    DS_BODY_TORUS = 5,    /* [7] axis = body y; size = major radius, minor radius */
    DS_BODY_BOX = 6,      /* [7] size = half extents along the body axes */
    DS_BODY_MESH = 7,     /* [3] vertices; `index` has three per triangle */
    DS_BODY_LINES = 8     /* [3] vertices; `index` has two per segment; size[0] = thickness */
};

/* Role of a body; the host chooses its colours by it. */
enum {
    DS_ROLE_MATERIAL = 0, /* deformed or moved by the simulation */
    DS_ROLE_TOOL = 1,     /* moved by the decision variables */
    DS_ROLE_FIXED = 2,    /* walls, poles, pans */
    DS_ROLE_TARGET = 3    /* goal of the material; drawn translucent or next to it, from frame 0 */
};

/* A body. */
typedef struct ds_scene_body {
    uint32_t struct_size;  /* set by the caller */
    uint32_t shape;        /* DS_BODY_* */
    uint32_t role;         /* DS_ROLE_* */
    uint32_t variety;      /* bodies of one role and different variety get different colours; 0, 1, 2, ... */
    uint64_t count;        /* elements: particles, vertices, or rigid copies with the same size */
    double size[4];        /* metres; see DS_BODY_* */
    const char *name;      /* [a-z][a-z0-9_]*, unique in the scene; names the arrays of a trajectory file */
    const uint32_t *index; /* MESH, LINES: vertex numbers; else NULL */
    uint64_t index_count;
} ds_scene_body;
#define DS_SCENE_BODY_SIZE_1_0 DS_SIZE_WITH(ds_scene_body, index_count)

/* The scene of an episode. */
typedef struct ds_scene_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t flat;        /* 1 = a 2-D scene in the x-y plane, seen along -z */
    uint64_t frames;      /* frames kept, steps + 1 for a complete episode */
    uint64_t bodies;
    uint64_t metrics;
    double dt;     /* seconds between frames */
    double box[6]; /* visible box: lower x y z, upper x y z, metres; y is up */
    double ground; /* height y of the floor; -INFINITY = no floor */
    /* Fields that a plugin may leave out; test them with DS_HAS(). */
    uint32_t camera; /* 1 = the host shows the scene from these angles; 0 = from where it likes */
    uint32_t reserved;
    double azimuth;   /* of the camera, degrees from +z towards +x, -360 .. 360 */
    double elevation; /* degrees above the horizon, -90 .. 90 */
} ds_scene_info;
#define DS_SCENE_INFO_SIZE_1_0 DS_SIZE_WITH(ds_scene_info, ground)

/* A metric of the episode. Texts and values stay valid until the next evaluate(). */
typedef struct ds_scene_metric {
    uint32_t struct_size; /* set by the caller */
    uint32_t reserved;
    const char *name;     /* [a-z][a-z0-9_]*, unique in the scene */
    const char *unit;     /* "m"; "" for a pure number */
    const double *values; /* one for each frame; NaN where the metric is undefined */
} ds_scene_metric;
#define DS_SCENE_METRIC_SIZE_1_0 DS_SIZE_WITH(ds_scene_metric, values)

/* The table that get_extension() of an environment returns. */
typedef struct ds_scene {
    uint32_t struct_size;
    uint32_t reserved;
    /* Fills the fields that fit into out->struct_size. DS_E_STATE where the last evaluate() kept no scene. */
    ds_status(DS_CALL *info)(void *self, ds_scene_info *out);
    /* Fills the fields of body b = 0 .. bodies - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *body)(void *self, uint64_t b, ds_scene_body *out);
    /* Writes frame k of body b, count x (3 or 7) doubles, to `out`, which has room for `capacity` doubles.
     * DS_E_ARG where that is too small. */
    ds_status(DS_CALL *frame)(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out);
    /* Fills the fields of metric m = 0 .. metrics - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *metric)(void *self, uint64_t m, ds_scene_metric *out);
} ds_scene;
#define DS_SCENE_SIZE_1_0 DS_SIZE_WITH(ds_scene, metric)

#ifdef __cplusplus
}
#endif
#endif
