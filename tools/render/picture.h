/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - the picture of an episode: its start, its end and the target side by side. */
#ifndef DS_RENDER_PICTURE_H
#define DS_RENDER_PICTURE_H

#include "plot/plot.h"
#include "snapshot/snapshot.h"

/* Writes a PNG with the panels start | end | target (no third panel where there is no target body, or where
 * the target is a marker, which is then drawn translucent in the others); `middle` adds the kept frame in the
 * middle between start and end. The first and the last kept frame are shown, so frames {0, DS_SCENE_LAST}
 * suffice. The scene needs at least one kept frame. Returns 0, DS_EXIT_IO, DS_EXIT_MEMORY, or DS_EXIT_PLUGIN
 * for a scene without frames. */
int ds_picture_best(const char *path, const ds_snapshot *scene, int middle, const ds_caption *caption,
                    ds_error *e);

/* "iou 0.512, density 3.4": the last values of the scene's first `count` metrics (finite ones). */
void ds_picture_metrics(char *out, size_t room, const ds_snapshot *scene, uint64_t count);

#endif
