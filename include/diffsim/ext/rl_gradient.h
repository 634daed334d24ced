/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/rl_gradient.h - derivatives of stepwise control: environment extension "ds.env.rl_gradient/1"
 * and what the host makes of it for optimizers, "ds.objective.rl_gradient/1".
 *
 * What for: the gradient of a return by the weights of a policy that looks at observations (apg, shac). The
 * environment differentiates its steps, the optimizer its policy, in turn.
 *
 * Scenario: an optimizer steps eight lanes through 32 steps. Then, for t = 31 ... 0, it hands back what its
 * objective changes by with the reward of step t and with the observation behind it, gets by how much it
 * changes with action t, and sends that through its policy, which gives its part by the weights, and the
 * adjoint of the observation that the action was chosen on: that behind step t - 1.
 *
 * A sweep goes backwards over steps of one episode of DS_EXT_RL (rl.h), which may be open, and may go on
 * afterwards as if nothing had been, or which has just ended. With J the number that is differentiated,
 *
 *     reward_bar     in   dJ / d reward of step t, where J depends on it directly
 *     obs_bar[n_obs] in   dJ / d observation after step t: all that comes through the policy and through a
 *                         value function of that state; what comes through the simulation is not in it
 *     action_bar     out  dJ / d action t, by all ways: n_act numbers, units of J per unit of the action
 *
 * The environment carries the adjoint of its state from a step to the one before. It is 0 where a sweep
 * begins. A sweep may end at any step: the state before that step is then a constant, which is how a window
 * of an episode is differentiated. Derivatives are those of the branch taken, as those of evaluate(): with
 * reward_bar = -1 and obs_bar = 0 at all steps of an episode, action_bar is the gradient of evaluate() up
 * to rounding.
 *
 * Rules for the environment: the same episode and the same adjoints give the same answers; a sweep changes
 * nothing that a step, or another sweep, could see. What it keeps of an episode for that (states of all
 * steps, or some of them and the rest again) is its own affair; that it is released with the instance, or
 * when an episode begins, is not.
 */
#ifndef DIFFSIM_EXT_RL_GRADIENT_H
#define DIFFSIM_EXT_RL_GRADIENT_H

#include <diffsim/base.h>
#include <diffsim/ext/rl.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_RL_GRADIENT "ds.env.rl_gradient/1"
#define DS_EXT_EPISODE_GRADIENTS "ds.objective.rl_gradient/1"

/* ---- the side of an environment ---- */

/* One step backwards. Buffers belong to the caller and are dead when the call returns. */
typedef struct ds_rl_back {
    uint32_t struct_size; /* set by the caller */
    uint32_t reserved;
    uint64_t step;         /* in: 0 = the first of the episode */
    double reward_bar;     /* in: finite */
    const double *obs_bar; /* in: n_obs finite values */
    double *action_bar;    /* out: n_act values; the host refuses those that are not finite */
    uint64_t cost_steps;   /* out: simulation steps spent */
    DS_GROWN
} ds_rl_back;
#define DS_RL_BACK_SIZE_1_0 DS_SIZE_WITH(ds_rl_back, cost_steps)

/* The extension of an environment that has DS_EXT_RL, too; [instance] as that. An environment that has it
 * with some parameters only says NULL with the others. */
typedef struct ds_rl_gradient {
    uint32_t struct_size;
    uint32_t reserved;

    /* Begins a sweep behind the first `last` steps of the episode that was reset last, 1 <= last <= steps
     * taken with outcome DS_EVAL_OK. DS_E_STATE where there are not so many, and where evaluate() was
     * called since. */
    ds_status(DS_CALL *begin)(void *self, uint64_t last);

    /* Goes back over step last - 1, then over the one before it, and so on. DS_E_STATE for any other, and
     * where the episode was stepped since. */
    ds_status(DS_CALL *back)(void *self, ds_rl_back *io);
    DS_GROWN
} ds_rl_gradient;
#define DS_RL_GRADIENT_SIZE_1_0 DS_SIZE_WITH(ds_rl_gradient, back)

/* ---- the side of an optimizer ---- */

/* Rows of one call, each for the episode that a lane holds or, until the next begin() there, has held last.
 * Buffers belong to the optimizer. */
typedef struct ds_back_rows {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count;           /* in: rows, at least 1 */
    const uint64_t *lane;     /* in: count different numbers below ds_episodes.lanes */
    const uint64_t *step;     /* in: count values: the last step taken begins a sweep; else the one before the
                               * step of the call before */
    const double *reward_bar; /* in: count finite values */
    const double *obs_bar;    /* in: count x n_obs finite values, row-major */
    double *action_bar;       /* out: count x n_act, 0 where there is none */
    /* out: count values: DS_EVAL_OK; DS_EVAL_BAD_GRAD where the derivatives are not finite, any other
     * DS_EVAL_* where the episode or its sweep has failed: there are none, and rows of this sweep give no
     * more */
    uint32_t *outcome;
    uint64_t done; /* out: rows answered: all, where the call returns DS_OK */
    DS_GROWN
} ds_back_rows;
#define DS_BACK_ROWS_SIZE_1_0 DS_SIZE_WITH(ds_back_rows, done)

/* objective->get_extension(objective, DS_EXT_EPISODE_GRADIENTS), valid during run(); NULL where the
 * environment has no DS_EXT_RL_GRADIENT. An optimizer that cannot do without lists DS_EXT_RL_GRADIENT in
 * ds_desc.needs. It is asked for before the first episode begins: of those before, nothing is kept.
 *
 * A sweep costs no evaluation: an episode counts 1 with its derivatives, too. They are not recorded; when a
 * run is resumed, episodes are simulated again for them, and what they give is compared with the record.
 * Answers do not depend on the number of jobs. back() returns what step() of ds_episodes does. */
typedef struct ds_episode_gradients {
    uint32_t struct_size;
    uint32_t reserved;
    ds_status(DS_CALL *back)(const ds_objective *objective, ds_back_rows *rows);
    DS_GROWN
} ds_episode_gradients;
#define DS_EPISODE_GRADIENTS_SIZE_1_0 DS_SIZE_WITH(ds_episode_gradients, back)

#ifdef __cplusplus
}
#endif
#endif
