/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - a checked copy of the scene of one episode. */
#ifndef DS_SNAPSHOT_SNAPSHOT_H
#define DS_SNAPSHOT_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "scene/scene_write.h"

typedef struct ds_snapshot_body {
    char name[DS_SCENE_NAME_MAX];
    uint32_t shape; /* DS_BODY_* */
    uint32_t role;  /* DS_ROLE_* */
    uint32_t variety;
    uint32_t width; /* numbers per element: 3 or 7 */
    uint64_t count; /* elements, at least 1 */
    double size[4]; /* see DS_BODY_*; unused numbers are 0 */
    uint64_t index_count;
    uint32_t *index;    /* numbers below count; NULL where index_count is 0 */
    double *data;       /* kept x count x width; may contain non-finite numbers */
    uint64_t nonfinite; /* non-finite numbers in data */
} ds_snapshot_body;

typedef struct ds_snapshot_metric {
    char name[DS_SCENE_NAME_MAX];
    char unit[DS_SCENE_UNIT_MAX]; /* "" = none */
    double *values;               /* one per frame of the episode, kept or not; NaN where undefined */
} ds_snapshot_metric;

typedef struct ds_snapshot {
    uint32_t flat;   /* 0 or 1 */
    uint64_t frames; /* of the episode, at least 1 */
    uint64_t kept;   /* frames with positions */
    uint64_t *frame; /* their numbers, ascending */
    double dt;
    double box[6]; /* finite, lower <= upper, not a point */
    double ground; /* finite or -INFINITY */
    int camera;    /* the scene has a camera of its own, with these angles in degrees */
    double azimuth, elevation;
    uint64_t bodies;
    ds_snapshot_body *body;
    uint64_t metrics;
    ds_snapshot_metric *metric;
    uint64_t nonfinite; /* sum over the bodies */
} ds_snapshot;

/* Reads a block of exactly `len` bytes. A pure function that accepts only what ds_scene_write() can produce
 * of a valid scene, else DS_EXIT_PLUGIN: it checks counts, sizes, names, index numbers and the box.
 * Non-finite positions are counted, not refused. *out is NULL on failure. */
int ds_snapshot_read(const void *p, size_t len, ds_snapshot **out, ds_error *e);

/* Reads the block from a seekable descriptor (a memfd), from start to end. */
int ds_snapshot_read_fd(int fd, ds_snapshot **out, ds_error *e);

/* Writes the scene of the last evaluation of instance `self` in this process by ds_scene_write(), and reads
 * it. */
int ds_snapshot_collect(const ds_scene *ext, void *self, const uint64_t *keep, uint64_t keep_count,
                        ds_snapshot **out, ds_error *e);

/* Like ds_snapshot_collect(), with the frames of DS_KEEP_*. */
int ds_snapshot_take(const ds_scene *ext, void *self, uint32_t keep, ds_snapshot **out, ds_error *e);

/* Do images of an episode show trajectories? Of a flat scene and of few rigid bodies, whichever frames of
 * DS_KEEP_* were kept. */
int ds_snapshot_is_traced(const ds_snapshot *s);

void ds_snapshot_free(ds_snapshot *s);

/* Numbers of element 0 of body b in kept frame k. */
const double *ds_snapshot_at(const ds_snapshot *s, uint64_t k, uint64_t b);

/* How many entries of size[] a shape uses. */
int ds_scene_size_count(uint32_t shape);

#endif
