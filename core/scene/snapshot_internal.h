/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_internal.h - the rules of a valid scene, shared by the two ways one is filled: from a plugin and
 * from a block. All return 0 or DS_EXIT_PLUGIN with one line. */
#ifndef DS_SCENE_SNAPSHOT_INTERNAL_H
#define DS_SCENE_SNAPSHOT_INTERNAL_H

#include "scene/snapshot.h"

/* Numbers per element: 3, 7, or 0 for an unknown shape. */
uint32_t ds_scene_width(uint32_t shape);

/* How many entries of size[] a shape uses. */
int ds_scene_size_count(uint32_t shape);

/* `what` is "body" or "metric", `number` its place in the list. Reads at most DS_SCENE_NAME_MAX bytes. */
int ds_scene_check_name(const char *name, const char *what, uint64_t number, ds_error *e);
int ds_scene_check_unit(const char *unit, uint64_t number, ds_error *e);

/* frames, flat, counts, dt, box, ground. */
int ds_scene_check_info(const ds_snapshot *s, ds_error *e);

/* Body b against the bodies before it; sets its width and clears unused sizes. Index numbers are
 * checked separately. */
int ds_scene_check_body(const ds_snapshot *s, uint64_t b, ds_error *e);
int ds_scene_check_index(const ds_snapshot_body *body, ds_error *e);

/* Metric m against the metrics before it. */
int ds_scene_check_metric(const ds_snapshot *s, uint64_t m, ds_error *e);

void ds_scene_count_nonfinite(ds_snapshot *s);

int ds_scene_no_memory(ds_error *e);

#endif
