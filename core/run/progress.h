/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - a thread that shows the progress line four times a second and raises the stop flag when the
 * time of the run is over. The time counts from the first evaluation that is not answered from the record. */
#ifndef DS_RUN_PROGRESS_H
#define DS_RUN_PROGRESS_H

#include "run/statistics.h"

typedef struct ds_progress ds_progress;

/* `title` names the run, `seconds` limits it (0 = no limit). `recorded` evaluations are repeated first: until
 * ds_progress_live() the clock stands still, unless there are none. The statistics must live until close. */
int ds_progress_open(const ds_statistics *statistics, const char *title, uint64_t budget, double seconds,
                     uint64_t recorded, ds_progress **out, ds_error *e);

/* The record is used up: starts the clock (NULL is fine). */
void ds_progress_live(ds_progress *p);

void ds_progress_close(ds_progress *p);

#endif
