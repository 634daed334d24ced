/* SPDX-License-Identifier: Apache-2.0 */
/* best_picture.h - the picture of one point of an environment, from an episode simulated for it: its scene,
 * or the point within its bounds if there is no scene. */
#ifndef DS_EVAL_BEST_PICTURE_H
#define DS_EVAL_BEST_PICTURE_H

#include "episode/episode.h"
#include "plot/plot.h"
#include "render/render.h"
#include "results/results.h"
#include "snapshot/episode_scene.h"

/* Draws x (n values, inside the bounds) to a PNG. The caption shows the settings of the environment and the
 * main metrics of the episode. `eye` is the camera of a scene, NULL = the default. A scene that cannot be
 * collected is only a warning on stderr. */
int ds_best_picture(ds_scene_source *source, const double *x, uint64_t noise_key, const ds_caption *caption,
                    const ds_render_eye *eye, const char *path, ds_error *e);

/* The same for the best point of a finished run, with the settings of its folder; needs the plugin of the
 * environment. */
int ds_best_picture_of_run(const ds_result *run, const char *path, ds_error *e);

/* The same for a run that may still be running, with run->settings from its record. */
int ds_best_picture_of_record(const ds_result *run, const ds_render_eye *eye, const char *path, ds_error *e);

/* The same from its best episode, which has a scene. */
int ds_best_picture_of_episode(const ds_result *run, const ds_view_episode *episode, const ds_render_eye *eye,
                               const char *path, ds_error *e);

#endif
