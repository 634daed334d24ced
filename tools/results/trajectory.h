/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.h - frames and metrics of a scene as a file for other programs. */
#ifndef DS_RESULTS_TRAJECTORY_H
#define DS_RESULTS_TRAJECTORY_H

#include "snapshot/snapshot.h"

/* Writes the format of the file's ending: .csv, a row per kept frame with metrics and poses of rigid bodies;
 * else an .npz archive, whose arrays docs/trajectory.md lists. */
int ds_trajectory_write(const char *path, const ds_snapshot *s, ds_error *e);

#endif
