/* SPDX-License-Identifier: Apache-2.0 */
/* live_run.h - a run that goes on, followed through its record: what has come since the last look, and a page
 * of its best episode, made by a process of its own. Nothing is written into its folder. */
#ifndef DS_VIEW_LIVE_RUN_H
#define DS_VIEW_LIVE_RUN_H

#include <stdint.h>

#include "base/error.h"

typedef struct ds_live_run ds_live_run;

/* Opens the record once, to see that it is one. The folder's name is copied. */
int ds_live_run_open(const char *folder, ds_live_run **out, ds_error *e);
void ds_live_run_close(ds_live_run *run);

/* Reads what is new, begins to make the page of a better episode where none is being made, and looks whether
 * the one that was being made is done. Fails where the record cannot be read (any more). */
int ds_live_run_look(ds_live_run *run, ds_error *e);

/* The state as JSON: env, opt, seed, budget, evaluations, failed, rate (evaluations per second, of the last
 * ten seconds), best_id, best_loss, target, ended (null while it goes on), improvements and points
 * ([evaluation, loss]), progress (for each name that the optimizer reports a list of [evaluation, value]),
 * page (the evaluation that the page shows; 0 = none), page_error. To be freed; NULL without memory. */
char *ds_live_run_state(const ds_live_run *run);

/* The page of the best episode (*size bytes), valid until the next look; NULL where there is none yet. */
const char *ds_live_run_page(const ds_live_run *run, size_t *size);

#endif
