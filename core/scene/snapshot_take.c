/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_take.c - see snapshot_take.h. */
#include "config.h"

#include "scene/snapshot_take.h"

enum { TRACE_FRAMES = 200 };

/* Frames of a flat scene; 0 = it is none, or does not say. */
static uint64_t flat_frames(const ds_scene *ext, void *self)
{
    ds_scene_info info = {.struct_size = sizeof info};
    return DS_HAS(ds_scene, ext, metric) && ext->info != NULL && ext->info(self, &info) == DS_OK &&
                   info.flat == 1 && info.frames < UINT32_MAX
               ? info.frames
               : 0;
}

int ds_snapshot_take(const ds_scene *ext, void *self, uint32_t keep, ds_snapshot **out, ds_error *e)
{
    static const uint64_t few[] = {0, DS_SCENE_MIDDLE, DS_SCENE_LAST};
    uint64_t spread[TRACE_FRAMES];
    if (keep == DS_KEEP_ALL) {
        return ds_snapshot_collect(ext, self, NULL, 0, out, e);
    }
    if (keep != DS_KEEP_FEW) {
        return ds_snapshot_collect(ext, self, few, 0, out, e);
    }
    uint64_t frames = flat_frames(ext, self);
    if (frames == 0) {
        return ds_snapshot_collect(ext, self, few, sizeof few / sizeof few[0], out, e);
    }
    uint64_t count = frames < TRACE_FRAMES ? frames : TRACE_FRAMES;
    for (uint64_t i = 0; i < count; i++) {
        spread[i] = count > 1 ? i * (frames - 1) / (count - 1) : 0;
    }
    return ds_snapshot_collect(ext, self, spread, count, out, e);
}
