/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_take.h - which frames of a scene are copied: all, those of a picture, or the metrics alone. */
#ifndef DS_SCENE_SNAPSHOT_TAKE_H
#define DS_SCENE_SNAPSHOT_TAKE_H

#include "scene/snapshot.h"

enum { DS_KEEP_ALL = 0, DS_KEEP_FEW = 1, DS_KEEP_METRICS = 2 };

/* As ds_snapshot_collect(). The frames of a picture are the first, the middle and the last one, and, of a
 * flat scene, whose pictures show the way of its bodies, up to 200 evenly spread ones. */
int ds_snapshot_take(const ds_scene *ext, void *self, uint32_t keep, ds_snapshot **out, ds_error *e);

#endif
