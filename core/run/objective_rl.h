/* SPDX-License-Identifier: Apache-2.0 */
/* objective_rl.h - the episodes of a run under stepwise control, as the optimizer begins and steps through them:
 * budget, replay from the store, recording. */
#ifndef DS_RUN_OBJECTIVE_RL_H
#define DS_RUN_OBJECTIVE_RL_H

#include <diffsim/ext/rl.h>

#include "run/client.h"

typedef struct ds_run_episodes ds_run_episodes;

/* The extension of the run's objective; NULL where the environment has no stepwise control. */
const ds_episodes *ds_run_episodes_of(ds_client *c);

/* Open episodes, and those of them that are being repeated from the record. */
uint64_t ds_run_episodes_open(const ds_client *c);
uint64_t ds_run_episodes_repeated(const ds_client *c);

void ds_run_episodes_close(ds_client *c);

#endif
