/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h - frames of a scene as pixels, for programs: a scene comes in on one descriptor, its pictures
 * go out on another. */
#ifndef DS_EVAL_FRAMES_H
#define DS_EVAL_FRAMES_H

#include "base/error.h"

/* What is wanted: a size in pixels, and a kept frame, or all of them where it is negative. */
typedef struct ds_frames_request {
    int width, height;
    int64_t frame;
} ds_frames_request;

enum { DS_FRAMES_SIDE_MIN = 16, DS_FRAMES_SIDE_MAX = 8192 };

/* Reads one block of core/scene/scene_write.h from `in` to its end, and writes the picture of each wanted
 * frame to `out`: height x width x 3 bytes, red green blue, row by row from the top, one frame after the
 * other. 0, DS_EXIT_USAGE for a frame that there is not, DS_EXIT_PLUGIN for a block that is none,
 * DS_EXIT_IO, DS_EXIT_MEMORY. */
int ds_frames_draw(int in, int out, const ds_frames_request *q, ds_error *e);

#endif
