/* SPDX-License-Identifier: Apache-2.0 */
/* rl_pool.h - episodes of stepwise control in the workers of a pool: each lane belongs to one worker,
 * which keeps an instance for it from the beginning of an episode to its end. */
#ifndef DS_EVALUATE_RL_POOL_H
#define DS_EVALUATE_RL_POOL_H

#include "evaluate/pool.h"
#include "plugin/instance.h"

/* One lane's part of a call. */
typedef struct ds_lane_step {
    uint64_t lane, key, step; /* as for ds_episode_advance() */
    const double *x;          /* actions of the steps 1..step, and room to n values */
    double *obs;              /* out: n_obs values */
    ds_episode_answer out;
} ds_lane_step;

/* One lane's part of a call that goes backwards. */
typedef struct ds_lane_back {
    uint64_t lane;
    ds_episode_back ask; /* action_bar: n_act values */
    int lost;            /* out: the worker is not where the ask wants it; see ds_episode_go_back() */
    ds_answer out;
} ds_lane_back;

typedef struct ds_lanes ds_lanes;

/* Lanes beside a pool, which stays open until they are closed, of an environment whose rl.horizon is not
 * 0. Workers start when first needed. */
int ds_lanes_open(const ds_pool *pool, ds_lanes **out, ds_error *e);
void ds_lanes_close(ds_lanes *l);

/* Makes `count` steps in different lanes, in parallel. 0, DS_POOL_STOPPED when config->stop ended it, or an
 * exit status. A crash costs the episode of the step in hand; the other lanes of that worker are brought back
 * to where they were. */
int ds_lanes_step(ds_lanes *l, uint64_t count, ds_lane_step *step, ds_error *e);

/* Goes one step backwards in `count` different lanes, in parallel; else as ds_lanes_step(). A crash costs the
 * sweep of the step in hand; the other lanes of that worker are lost. */
int ds_lanes_back(ds_lanes *l, uint64_t count, ds_lane_back *back, ds_error *e);

#endif
