/* SPDX-License-Identifier: Apache-2.0 */
/* eval_fit.h - a picture of how a simulated motion follows a recorded one: each metric that has a counterpart
 * called recorded_NAME, both over time; where metric held_out becomes 1 the prediction begins. */
#ifndef DS_EVAL_FIT_H
#define DS_EVAL_FIT_H

#include "plot/plot.h"
#include "snapshot/snapshot.h"

/* Writes `path`, .png or .svg. An episode without such metrics is refused (DS_EXIT_USAGE). */
int ds_picture_fit(const char *path, const ds_snapshot *scene, const ds_caption *caption, ds_error *e);

#endif
