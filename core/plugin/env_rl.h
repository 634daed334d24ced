/* SPDX-License-Identifier: Apache-2.0 */
/* env_rl.h - one episode of stepwise control on an environment instance (extension ds.env.rl/1), with its
 * answers made safe. */
#ifndef DS_PLUGIN_ENV_RL_H
#define DS_PLUGIN_ENV_RL_H

#include "plugin/instance.h"

enum { DS_EPISODE_LANES = 64 }; /* episodes that may be open at once */

/* Asks the instance for the extension and tests what it says; part of ds_env_open(). */
int ds_env_ask_rl(ds_env *env, ds_error *e);

/* The episode that an instance has in hand; all zero = none. */
typedef struct ds_episode {
    ds_env *env;
    int open;
    uint64_t key;  /* its noise key */
    uint64_t step; /* steps taken */
} ds_episode;

/* What one step gave. Where the outcome of the answer is not DS_EVAL_OK, or `ended` is set, the episode is
 * over. */
typedef struct ds_episode_answer {
    ds_answer answer; /* loss, where the episode is over; cost, wall_s and message of this step */
    double reward;
    uint32_t ended;
    uint32_t reserved;
} ds_episode_answer;

/* Brings the episode of noise key `key` to step `step`: 0 = its beginning, else by the last action of x,
 * which holds the actions of all steps so far (step x n_act). An instance that is somewhere else (it is new,
 * or its process has died) goes through the steps before again, which gives the same: environments are
 * deterministic. obs gets n_obs values; it is left alone where the episode has failed. DS_STOPPED when the
 * plugin stopped on request, else DS_OK. */
ds_status ds_episode_advance(ds_episode *ep, uint64_t key, uint64_t step, const double *x, double *obs,
                             ds_episode_answer *out);

#endif
