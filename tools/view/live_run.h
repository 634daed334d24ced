/* SPDX-License-Identifier: Apache-2.0 */
/* live_run.h - follows a run through its record while it continues: new evaluations, and a page of its best
 * episode, made by a separate process. Writes nothing into the run's folder. */
#ifndef DS_VIEW_LIVE_RUN_H
#define DS_VIEW_LIVE_RUN_H

#include "base/error.h"

#include <stdint.h>

typedef struct ds_live_run ds_live_run;

/* Opens the record once to check that it is one. The folder's name is copied. */
int ds_live_run_open(const char *folder, ds_live_run **out, ds_error *e);
void ds_live_run_close(ds_live_run *run);

/* Reads new evaluations, starts making the page of a better episode unless one is being made, and collects a
 * finished page. Fails if the record cannot be read. */
int ds_live_run_look(ds_live_run *run, ds_error *e);

/* The state as JSON: env, opt, seed, budget, evaluations, failed, rate (evaluations per second over the last
 * ten seconds), best_id, best_loss, target, ended (null while the run continues), improvements and points
 * ([evaluation, loss]), progress (per name that the optimizer reports a list of [evaluation,
 * value]), page (the evaluation it shows; 0 = none), page_error. To be freed; NULL without
 * memory. */
char *ds_live_run_state(const ds_live_run *run);

/* The page of the best episode (*size bytes), valid until the next ds_live_run_look(); NULL if there is none
 * yet. */
const char *ds_live_run_page(const ds_live_run *run, size_t *size);

#endif
