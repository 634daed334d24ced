/* SPDX-License-Identifier: Apache-2.0 */
/* picture.h - the image of an episode: its start, middle and end and the target side by side. */
#ifndef DS_RENDER_PICTURE_H
#define DS_RENDER_PICTURE_H

#include "plot/plot.h"
#include "render/render.h"
#include "snapshot/snapshot.h"

/* Writes a PNG with the panels start | middle | end | target: the first, middle and last kept frame. The
 * fourth panel is left out without a target body, and if the target is a marker, which the other panels then
 * show translucent. `frames` is the number of frames of a complete episode, to note an early end; 0 = not
 * known. `eye` is the camera, NULL = the default. Returns 0, DS_EXIT_IO, DS_EXIT_MEMORY, or
 * DS_EXIT_PLUGIN for a scene without kept frames. */
int ds_picture_best(const char *path, const ds_snapshot *scene, uint64_t frames, const ds_caption *caption,
                    const ds_render_eye *eye, ds_error *e);

/* Kept frame k alone, without text, as a PNG in memory: the scene with a translucent target. *png is to be
 * freed, NULL on failure. Returns 0 or DS_EXIT_MEMORY. */
int ds_picture_still(const ds_snapshot *scene, uint64_t k, int width, int height, unsigned char **png,
                     size_t *size, ds_error *e);

/* Writes "iou 0.512, density 3.4": the last values of the scene's first `count` metrics, as far as they are
 * finite. */
void ds_picture_metrics(char *out, size_t room, const ds_snapshot *scene, uint64_t count);

#endif
