/* SPDX-License-Identifier: Apache-2.0 */
/* objective_rl.h - the episodes of a run under stepwise control, as the optimizer begins and steps through them:
 * budget, replay from the store, recording. */
#ifndef DS_RUN_OBJECTIVE_RL_H
#define DS_RUN_OBJECTIVE_RL_H

#include <diffsim/ext/rl.h>

struct ds_run;

typedef struct ds_run_episodes ds_run_episodes;

/* The extension of the run's objective; NULL where the environment has no stepwise control. */
const ds_episodes *ds_run_episodes_of(struct ds_run *run);

/* Open episodes, and those of them that are being repeated from the record. */
uint64_t ds_run_episodes_open(const struct ds_run *run);
uint64_t ds_run_episodes_repeated(const struct ds_run *run);

void ds_run_episodes_close(struct ds_run *run);

#endif
