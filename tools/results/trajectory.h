/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.h - the frames and metrics of a scene as a file for NumPy. */
#ifndef DS_RESULTS_TRAJECTORY_H
#define DS_RESULTS_TRAJECTORY_H

#include "snapshot/snapshot.h"

/* Writes an .npz archive (npy.h): time (frames of the episode), frame (numbers of the kept frames), dt, box,
 * ground; per body NAME_positions (kept, count, 3) or NAME_poses (kept, count, 7), NAME_size, NAME_index
 * (triangles, 3) or (segments, 2); per metric metrics/NAME (frames). */
int ds_trajectory_write(const char *path, const ds_snapshot *s, ds_error *e);

#endif
