/* SPDX-License-Identifier: Apache-2.0 */
/* policy_play.h - episodes of an environment under a policy. */
#ifndef DS_POLICY_POLICY_PLAY_H
#define DS_POLICY_POLICY_PLAY_H

#include "evaluate/pool.h"
#include "policy/policy.h"

/* One episode: how it begins, and how it went. */
typedef struct ds_played {
    uint64_t key;   /* noise key: start and noise of a stochastic environment; 0 = none */
    int stochastic; /* actions are drawn with random numbers of `seed`, else the mean is taken */
    uint64_t seed;
    uint64_t steps;   /* taken */
    ds_answer answer; /* loss and outcome of the episode */
} ds_played;

/* Plays `count` episodes one after the other, of an environment that ds_policy_check() has let pass. x
 * (may be NULL) gets the actions of the last one: n values, those of steps that were not taken are the
 * ones of the start point, as a run records them. */
int ds_policy_play(ds_pool *pool, ds_policy *p, uint64_t count, ds_played *played, double *x, ds_error *e);

#endif
