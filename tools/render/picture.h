/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - the picture of an episode: its start, middle and end and the target side by side. */
#ifndef DS_RENDER_PICTURE_H
#define DS_RENDER_PICTURE_H

#include "plot/plot.h"
#include "snapshot/snapshot.h"

/* Writes a PNG with the panels start | middle | end | target (no fourth panel where there is no target body,
 * or where the target is a marker, which is then drawn translucent in the others). The first, the middle and
 * the last kept frame are shown. `frames` of a complete episode: one that ended before says so; 0 = not
 * known. The scene needs at least one kept frame. Returns 0, DS_EXIT_IO, DS_EXIT_MEMORY, or DS_EXIT_PLUGIN
 * for a scene without frames. */
int ds_picture_best(const char *path, const ds_snapshot *scene, uint64_t frames, const ds_caption *caption,
                    ds_error *e);

/* The picture of kept frame k alone, without text, as a PNG in memory (*png is to be freed, NULL on failure):
 * the scene, with the target as a ghost over it. DS_EXIT_MEMORY on failure. */
int ds_picture_still(const ds_snapshot *scene, uint64_t k, int width, int height, char **png, size_t *size,
                     ds_error *e);

/* "iou 0.512, density 3.4": the last values of the scene's first `count` metrics (finite ones). */
void ds_picture_metrics(char *out, size_t room, const ds_snapshot *scene, uint64_t count);

#endif
