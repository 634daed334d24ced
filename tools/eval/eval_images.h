/* SPDX-License-Identifier: Apache-2.0 */
/* eval_images.h - image channels as PNG files: what the cameras of an environment see, and what they are
 * to see. */
#ifndef DS_EVAL_IMAGES_H
#define DS_EVAL_IMAGES_H

#include "eval/eval_channels.h"

/* Writes FOLDER/NAME.png of each image channel that has values, grey, grey with alpha, RGB or RGBA by its
 * colours. The numbers are those of the channel, 8 bits of them: a file can be a target again. DS_EXIT_USAGE
 * where there is no image, or this build writes none. */
int ds_eval_images(const ds_channel_values *v, const char *id, const char *folder, ds_error *e);

#endif
