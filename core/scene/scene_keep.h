/* SPDX-License-Identifier: Apache-2.0 */
/* scene_keep.h - which frames of a scene are copied: all, those of a picture, or the metrics alone. */
#ifndef DS_CORE_SCENE_KEEP_H
#define DS_CORE_SCENE_KEEP_H

#include "scene/scenedata.h"

enum { DS_KEEP_ALL = 0, DS_KEEP_FEW = 1, DS_KEEP_METRICS = 2 };

/* As ds_scenedata_collect(). The frames of a picture are the first, the middle and the last one, and, of a flat
 * scene, whose pictures show the way of its bodies, up to 200 evenly spread ones. */
int ds_scene_keep(const ds_scene *ext, void *self, uint32_t keep, ds_scenedata **out, ds_error *e);

#endif
