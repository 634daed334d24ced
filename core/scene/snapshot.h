/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - a checked copy of what the scene extension tells about one episode; it also travels between
 * processes as one block of bytes. */
#ifndef DS_SCENE_SNAPSHOT_H
#define DS_SCENE_SNAPSHOT_H

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

/* Bytes that one scene may take: what a plugin says is not believed without a limit. */
#define DS_SCENE_MAX_BYTES ((uint64_t)4 << 30)

/* Placeholders in a list of frames to keep. */
#define DS_SCENE_LAST UINT64_MAX
#define DS_SCENE_MIDDLE (UINT64_MAX - 1)

typedef struct ds_snapshot_body {
    char name[DS_SCENE_NAME_MAX];
    uint32_t shape; /* DS_BODY_* */
    uint32_t role;  /* DS_ROLE_* */
    uint32_t variety;
    uint32_t width; /* numbers per element: 3 or 7 */
    uint64_t count; /* elements, at least 1 */
    double size[4]; /* see DS_BODY_*; what the shape does not use is 0 */
    uint64_t index_count;
    uint32_t *index;    /* every number is below count; NULL where index_count is 0 */
    double *data;       /* kept x count x width; non-finite numbers are possible */
    uint64_t nonfinite; /* how many numbers of data are not finite */
} ds_snapshot_body;

typedef struct ds_snapshot_metric {
    char name[DS_SCENE_NAME_MAX];
    char unit[DS_SCENE_UNIT_MAX]; /* "" = none */
    double *values;               /* one per frame of the episode, kept or not; NaN where undefined */
} ds_snapshot_metric;

typedef struct ds_snapshot {
    uint32_t flat;   /* 0 or 1 */
    uint64_t frames; /* of the episode, at least 1 */
    uint64_t kept;   /* frames of which positions are here */
    uint64_t *frame; /* their numbers, ascending */
    double dt;
    double box[6]; /* finite, lower <= upper, not a point */
    double ground; /* finite or -INFINITY */
    uint64_t bodies;
    ds_snapshot_body *body;
    uint64_t metrics;
    ds_snapshot_metric *metric;
    uint64_t nonfinite; /* sum over the bodies */
} ds_snapshot;

/* Copies the scene of the last evaluation out of plugin instance `self`. keep == NULL keeps all frames;
 * otherwise the positions of the `keep_count` frames listed, in any order and where they exist, duplicates
 * once (DS_SCENE_LAST and DS_SCENE_MIDDLE allowed; keep_count 0 = metrics only). Nothing the plugin says is
 * trusted: counts, sizes, names, index numbers and the box are checked, and a violation is one line with
 * DS_EXIT_PLUGIN. Non-finite positions are counted, not refused. Call it where the instance may be called
 * [instance]. *out is NULL on failure. */
int ds_snapshot_collect(const ds_scene *ext, void *self, const uint64_t *keep, uint64_t keep_count,
                        ds_snapshot **out, ds_error *e);

void ds_snapshot_free(ds_snapshot *s);

/* Writes the block to a descriptor from its present offset (DS_EXIT_IO on failure). */
int ds_snapshot_write(const ds_snapshot *s, int fd, ds_error *e);

/* Reads a block of exactly `len` bytes; a pure function that accepts only what ds_snapshot_write() of a
 * valid scene can have produced (DS_EXIT_PLUGIN otherwise: the block comes from a process that ran a plugin).
 */
int ds_snapshot_read(const void *p, size_t len, ds_snapshot **out, ds_error *e);

/* The same from a descriptor that can be seeked (a memfd), from its start to its end. */
int ds_snapshot_read_fd(int fd, ds_snapshot **out, ds_error *e);

/* Numbers of element 0 of body b in kept frame k. */
const double *ds_snapshot_at(const ds_snapshot *s, uint64_t k, uint64_t b);

/* Body or metric of that name, or NULL. */
const ds_snapshot_body *ds_snapshot_body_named(const ds_snapshot *s, const char *name);
const ds_snapshot_metric *ds_snapshot_metric_named(const ds_snapshot *s, const char *name);

/* Writes an .npz archive (npy.h): time (frames of the episode), frame (numbers of the kept frames), dt, box,
 * ground; per body NAME_positions (kept, count, 3) or NAME_poses (kept, count, 7), NAME_size, NAME_index
 * (triangles, 3) or (segments, 2); per metric metrics/NAME (frames). */
int ds_trajectory_write(const char *path, const ds_snapshot *s, ds_error *e);

#endif
