/* SPDX-License-Identifier: Apache-2.0 */
/* check_rl.h - an environment with stepwise control, and episodes of it. */
#ifndef DS_CHECK_CHECK_RL_H
#define DS_CHECK_CHECK_RL_H

#include <diffsim/ext/steps.h>

#include "harness/check_host.h"

/* One episode, as the plugin answered. */
typedef struct ds_check_episode {
    uint64_t steps; /* taken */
    uint32_t outcome, ended;
    double loss, sum; /* of the rewards */
    uint64_t hash;    /* of all answers */
} ds_check_episode;

typedef struct ds_check_steps {
    ds_check *c;
    ds_check_env env;
    const ds_env_steps *rl; /* NULL, or `table`: in our own size */
    ds_env_steps table;
    ds_steps_info info;
    double *x, *obs, *action; /* actions of all steps; the last observation; room for an action */
    /* Of every step, where they are not NULL: horizon rewards, horizon x n_obs numbers. */
    double *rewards, *observed;
} ds_check_steps;

/* Makes an instance; 0 where it has no steps, or unsound ones (recorded). */
int ds_check_steps_open(ds_check *c, ds_check_steps *b);
void ds_check_steps_close(ds_check_steps *b);

/* Steps through the actions b->x, at most `most` of them. 0 where the contract was broken (recorded). */
int ds_check_steps_play(ds_check_steps *b, uint64_t key, uint64_t most, ds_check_episode *ep);

#endif
