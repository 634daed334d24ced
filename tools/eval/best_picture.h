/* SPDX-License-Identifier: Apache-2.0 */
/* best_picture.h - the picture of one point of an environment, from an episode simulated for it: its scene,
 * or the point within its bounds where there is no scene. */
#ifndef DS_EVAL_BEST_PICTURE_H
#define DS_EVAL_BEST_PICTURE_H

#include "plot/plot.h"
#include "results/results.h"
#include "snapshot/episode_scene.h"

/* Draws x (n values, inside the bounds) to a PNG. The settings of the environment and the main metrics of the
 * episode become the text of the caption. *e says why where it fails; a scene that cannot be had is no
 * failure but a warning on stderr. */
int ds_best_picture(ds_scene_source *source, const double *x, uint64_t noise_key, const ds_caption *caption,
                    const char *path, ds_error *e);

/* The same for the best point of a finished run, with the settings of its folder: needs the environment's
 * plugin. */
int ds_best_picture_of_run(const ds_result *run, const char *path, ds_error *e);

/* The same for a run that may still go on, with run->settings, which its record has. */
int ds_best_picture_of_record(const ds_result *run, const char *path, ds_error *e);

#endif
