/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.h - what a policy has done since its last update: steps of several lanes, in stretches of episodes,
 * their advantages and returns, and minibatches of them. */
#ifndef DS_METHODS_ROLLOUT_H
#define DS_METHODS_ROLLOUT_H

#include "methods/rl/actor_critic.h"

#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>
#include <stddef.h>

/* A stretch of one episode inside the rollout. */
typedef struct rollout_segment {
    size_t start, length;
    double last; /* value of the state behind it, 0 where the episode has terminated */
} rollout_segment;

typedef struct rollout {
    size_t n, m, used; /* numbers of an observation and of an action; steps recorded */
    /* rows x ... */
    float *obs, *action;
    double *log_density, *reward, *value, *advantage, *target;
    size_t *order; /* rows that are used, shuffled */
    rollout_segment *segment;
    size_t segments;
    size_t *block, *fill; /* per lane: where its rows begin, and how many there are in the open segment */
    float *mini_obs, *mini_action;
    double *mini;
    ds_memory memory;
} rollout;

/* Room for `rows` steps of `lanes` lanes, and minibatches of at most `most` steps. 0 without memory. */
int rollout_init(rollout *r, size_t rows, size_t lanes, size_t obs, size_t act, size_t most);
void rollout_free(rollout *r);

/* Forgets all steps. */
void rollout_clear(rollout *r);

/* The next steps of a lane go to the rows from `row` on. */
void rollout_place(rollout *r, size_t lane, size_t row);

/* What the policy does in a lane, with the logarithm of its density and the value of the state; then
 * the reward. */
void rollout_action(rollout *r, size_t lane, const float *obs, const float *action, double log_density,
                    double value);
void rollout_reward(rollout *r, size_t lane, double reward);

/* Ends the stretch of a lane, if it has one, before a state with this value. */
void rollout_close(rollout *r, size_t lane, double last);

/* Advantages and returns of all stretches, see advantage_estimate(). */
void rollout_estimate(rollout *r, double gamma, double lambda);

void rollout_shuffle(rollout *r, ds_random *random);

/* Steps at, at + 1, ... of the shuffled ones, at most `most` of the used ones; valid until the next call. */
ppo_minibatch rollout_take(rollout *r, size_t at, size_t most);

#endif
