/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/scene.h - environment extension "ds.env.scene/1": what an episode looked like.
 *
 * What for: pictures, trajectories and metrics of any environment, drawn by the host without
 * knowing what it simulates.
 *
 * Scenario: a search has found a better point; the host evaluates it once more with DS_WANT_SCENE, asks for
 * the bodies and a few of the frames, and draws best.png.
 *
 * Limits: at most 1024 bodies and 1024 metrics; names match [a-z][a-z0-9_]*, have at most 63 bytes and are
 * unique; units are printable texts of at most 31 bytes; a scene that is asked for takes at most 4 GiB; a box
 * has an extent.
 *
 * Rules for the environment: the same bodies and metrics at every call; what is kept does not change the
 * loss. Rules for the host: it asks nothing before such an evaluation, and copies what it wants to keep.
 *
 * After an evaluate() that had DS_WANT_SCENE the instance answers for that episode: frames 0..steps of a
 * fixed list of bodies, and metrics with one value per frame. The host draws pictures, writes trajectories
 * and prints metrics from it. All calls are [instance]; the data belong to the instance and stay valid until
 * its next evaluate() or destroy().
 */
#ifndef DIFFSIM_EXT_SCENE_H
#define DIFFSIM_EXT_SCENE_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_SCENE "ds.env.scene/1"

/* Shape of a body. The numbers of one element in one frame are given in brackets; `size` holds the
 * constants. A rigid element is a pose: position x y z, then the unit quaternion w x y z that turns
 * body axes into world axes. */
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

/* What a body is for; the host chooses the colours. */
enum {
    DS_ROLE_MATERIAL = 0, /* what is deformed or moved */
    DS_ROLE_TOOL = 1,     /* what the decision variables move */
    DS_ROLE_FIXED = 2,    /* walls, poles, pans */
    DS_ROLE_TARGET = 3    /* where the material should be; drawn translucent or beside; frame 0 is used */
};

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
    DS_GROWN
} ds_scene_body;
#define DS_SCENE_BODY_SIZE_1_0 DS_SIZE_WITH(ds_scene_body, index_count)

typedef struct ds_scene_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t flat;        /* 1 = a 2-D scene in the x-y plane, seen along -z */
    uint64_t frames;      /* frames kept, steps + 1 for a complete episode */
    uint64_t bodies;
    uint64_t metrics;
    double dt;     /* seconds between frames */
    double box[6]; /* lower x y z, upper x y z of what is worth seeing; y is up */
    double ground; /* height y of the floor to be drawn, or -INFINITY for none */
    DS_GROWN
} ds_scene_info;
#define DS_SCENE_INFO_SIZE_1_0 DS_SIZE_WITH(ds_scene_info, ground)

typedef struct ds_scene {
    uint32_t struct_size;
    uint32_t reserved;
    /* DS_E_STATE where the last evaluate() kept no scene. */
    ds_status(DS_CALL *info)(void *self, ds_scene_info *out);
    /* Body b = 0..bodies-1. */
    ds_status(DS_CALL *body)(void *self, uint64_t b, ds_scene_body *out);
    /* Frame k of body b: count x (3 or 7) doubles into `out` of `capacity` doubles; DS_E_ARG where it
     * is too small. */
    ds_status(DS_CALL *frame)(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out);
    /* Metric m: its name, unit and `frames` values. Values may be NaN where a metric is undefined. */
    ds_status(DS_CALL *metric)(void *self, uint64_t m, const char **name, const char **unit,
                               const double **values);
    DS_GROWN
} ds_scene;
#define DS_SCENE_SIZE_1_0 DS_SIZE_WITH(ds_scene, metric)

#ifdef __cplusplus
}
#endif
#endif
