/* SPDX-License-Identifier: Apache-2.0 */
/* check_steps.h - an environment with stepwise control, and episodes of it. */
#ifndef DS_CHECK_CHECK_RL_H
#define DS_CHECK_CHECK_RL_H

#include <diffsim/ext/steps.h>

#include "harness/check_host.h"

/* One episode, as the plugin returned it. */
typedef struct ds_check_episode {
    uint64_t steps; /* taken */
    uint32_t outcome, ended;
    double loss, sum; /* sum of the rewards */
    uint64_t hash;    /* of all results */
} ds_check_episode;

typedef struct ds_check_steps {
    ds_check *c;
    ds_check_env env;
    const ds_env_steps *rl; /* NULL, or &table: converted to our size */
    ds_env_steps table;
    ds_steps_info info;
    double *x, *obs, *action; /* actions of all steps; the last observation; scratch for an action */
    /* If not NULL, records of every step: horizon rewards, horizon x n_obs numbers. */
    double *rewards, *observed;
} ds_check_steps;

/* Creates an instance; 0 if it offers no valid stepwise control (recorded). */
int ds_check_steps_open(ds_check *c, ds_check_steps *b);
void ds_check_steps_close(ds_check_steps *b);

/* Steps through the actions b->x, at most `most` of them. 0 after recording a breach. */
int ds_check_steps_play(ds_check_steps *b, uint64_t key, uint64_t most, ds_check_episode *ep);

#endif
