/* SPDX-License-Identifier: Apache-2.0 */
/* scene_write.h - the scene of one episode as one block of bytes: written where the plugin runs, read
 * (snapshot.h) by a host that trusts nothing in it.
 *
 * The block is a head, the numbers of the kept frames, then bodies and metrics, in native byte order: both
 * ends run on the same machine. */
#ifndef DS_SCENE_SCENE_WRITE_H
#define DS_SCENE_SCENE_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include <diffsim/ext/scene.h>

#include "base/error.h"

enum {
    DS_SCENE_NAME_MAX = 64, /* with the NUL */
    DS_SCENE_UNIT_MAX = 32,
    DS_SCENE_MAX_BODIES = 1024,
    DS_SCENE_MAX_METRICS = 1024
};

/* Most bytes of one scene. */
#define DS_SCENE_MAX_BYTES ((uint64_t)4 << 30)
#define DS_SCENE_MAGIC "DSSCENE2"

/* Records of a block; each is a multiple of 8 bytes without padding. */
typedef struct ds_block_head {
    char magic[8];  /* DS_SCENE_MAGIC */
    uint64_t total; /* bytes of the block */
    uint64_t flat;
    uint64_t frames;
    uint64_t kept;
    uint64_t bodies;
    uint64_t metrics;
    double dt;
    double box[6];
    double ground;
    uint64_t camera;
    double azimuth, elevation;
} ds_block_head;

typedef struct ds_block_body {
    char name[DS_SCENE_NAME_MAX];
    uint32_t shape;
    uint32_t role;
    uint32_t variety;
    uint32_t reserved;
    uint64_t count;
    uint64_t index_count; /* the index numbers follow, filled up to 8 bytes, then the positions */
    double size[4];
} ds_block_body;

typedef struct ds_block_metric {
    char name[DS_SCENE_NAME_MAX];
    char unit[DS_SCENE_UNIT_MAX]; /* the values follow */
} ds_block_metric;

_Static_assert(sizeof(ds_block_head) == 18 * 8 && sizeof(ds_block_body) == 64 + 8 * 8 &&
                   sizeof(ds_block_metric) == 96,
               "records without padding");

/* Numbers per element: 3, 7, or 0 for an unknown shape. */
uint32_t ds_scene_width(uint32_t shape);

/* Placeholders in a list of frames to keep. */
#define DS_SCENE_LAST UINT64_MAX
#define DS_SCENE_MIDDLE (UINT64_MAX - 1)

/* Writes the scene of the last evaluation of plugin instance `self` as a block (malloc, NULL on failure).
 * keep == NULL keeps all frames; otherwise the `keep_count` listed frames that exist, in any order,
 * duplicates once (DS_SCENE_LAST and DS_SCENE_MIDDLE allowed; keep_count 0 = metrics only). Tests what the
 * plugin returns only as far as needed to continue; where that fails the block ends, and its reader reports
 * what is wrong. Returns DS_EXIT_PLUGIN where a function fails, or returns nothing or too much. Call it where
 * the instance may be called. [instance] */
int ds_scene_write(const ds_scene *ext, void *self, const uint64_t *keep, uint64_t keep_count, char **block,
                   size_t *size, ds_error *e);

enum { DS_KEEP_ALL = 0, DS_KEEP_FEW = 1, DS_KEEP_METRICS = 2, DS_TRACE_FRAMES = 200, DS_TRACE_BODIES = 16 };

/* The list of frames for DS_KEEP_*, and its length; `room` is for a list that depends on the scene. An image
 * (DS_KEEP_FEW) needs the first, the middle and the last frame. For a flat scene, or one with few rigid
 * bodies, images show trajectories: then also up to DS_TRACE_FRAMES evenly spread ones. */
const uint64_t *ds_scene_frames(const ds_scene *ext, void *self, uint32_t keep,
                                uint64_t room[DS_TRACE_FRAMES], uint64_t *count);

#endif
