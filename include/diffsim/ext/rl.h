/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/rl.h - stepwise control: environment extension "ds.env.rl/1" and what the host makes of it for
 * optimizers, "ds.objective.rl/1".
 *
 * What for: learning a policy that looks at what happens (ppo, sac), and model-predictive control.
 *
 * Scenario: an optimizer calls begin() for eight lanes, gets eight observations, and then steps all lanes
 * with the actions of its policy until each says that it has ended; the host plays the lanes in parallel and
 * records one row for each episode.
 *
 * Rules for the environment: the same noise key and actions give the same observations, rewards and loss,
 * whatever was called before; an episode that can go on is not ended, and `ended` says why it was. Rules for
 * the optimizer: one row for each lane and call; a lane whose episode has ended is free; everything from the
 * thread of run(). Rules for the host: episodes are numbered as they begin and recorded in that order,
 * however many lanes and jobs there are.
 *
 * An episode of `horizon` control steps takes one action of n_act numbers per step and gives an observation
 * and a reward for it. It is the same episode that evaluate() simulates: n = horizon x n_act, and the
 * actions of all steps, one after the other, are the x whose loss evaluate() returns, bit for bit. Action t
 * has the units and the bounds of the components t n_act .. (t + 1) n_act - 1 of x.
 *
 * Rewards are not scaled and not discounted: where the loss belongs to the final state, a reward is
 * the decrease of that loss over the step; where the loss is a sum over the steps, it is minus the
 * step's term. So the sum of the rewards of an episode is minus its loss, up to a constant that
 * depends on the start alone.
 */
#ifndef DIFFSIM_EXT_RL_H
#define DIFFSIM_EXT_RL_H

#include <diffsim/base.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_RL "ds.env.rl/1"
#define DS_EXT_EPISODES "ds.objective.rl/1"

/* ---- the side of an environment ---- */

/* How an episode ended. A terminated one is over by its rules: nothing comes after it, and the value of
 * its last state is 0. A truncated one was cut: the task would go on, and whoever learns a value continues
 * it from the last observation. */
enum { DS_RL_GOES_ON = 0, DS_RL_TERMINATED = 1, DS_RL_TRUNCATED = 2 };

/* ds_rl_info.flags: the horizon is a time limit, not a part of the task: an episode that reaches it is
 * truncated. Without the flag it is terminated there, as where the loss is that of the final state. */
enum { DS_RL_TIME_LIMIT = 1 };

/* What an episode is. The same at every call for one instance. */
typedef struct ds_rl_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* DS_RL_TIME_LIMIT or 0; 0 before the call */
    uint64_t horizon;     /* control steps of a whole episode, at least 1 */
    uint64_t n_act;       /* numbers of an action, at least 1; horizon x n_act = n */
    uint64_t n_obs;       /* numbers of an observation, at least 1 */
    double dt;            /* seconds per control step; 0 where time has no meaning */
    DS_GROWN
} ds_rl_info;
#define DS_RL_INFO_SIZE_1_0 DS_SIZE_WITH(ds_rl_info, dt)

/* One control step, in and out. Buffers belong to the caller and are dead when the call returns. */
typedef struct ds_rl_step {
    uint32_t struct_size; /* set by the caller */
    uint32_t outcome;     /* out: DS_EVAL_OK, _DIVERGED, _INFEASIBLE; all but OK end the episode */
    uint32_t ended;       /* out: DS_RL_*: is the episode over? Always after step `horizon` */
    uint32_t reserved;
    const double *action; /* in: n_act finite values inside the bounds */
    double *obs;   /* out: n_obs finite values that describe the state after the step; where the outcome is
                    * not OK they need not be written */
    double reward; /* out: finite */
    double loss;   /* out, where `ended`: the loss of the episode; +INFINITY where the outcome is not OK */
    uint64_t cost_steps; /* out: simulation steps spent */
    DS_GROWN
} ds_rl_step;
#define DS_RL_STEP_SIZE_1_0 DS_SIZE_WITH(ds_rl_step, cost_steps)

/* The extension of an environment: one episode at a time per instance, [instance] as its other functions.
 * Calls of evaluate() in between end the episode; reset() may be called at any time. Deterministic: the same
 * noise key and the same actions give the same answers, whatever was called before. */
typedef struct ds_rl {
    uint32_t struct_size;
    uint32_t reserved;

    /* Fills the fields that fit into out->struct_size. */
    ds_status(DS_CALL *info)(void *self, ds_rl_info *out);

    /* Begins an episode and writes the n_obs values of its first observation. noise_key is that of ds_eval:
     * it selects the start state and the noise of a stochastic environment, 0 = none. */
    ds_status(DS_CALL *reset)(void *self, uint64_t noise_key, double *obs);

    /* Takes one step. An episode may end early only where the actions that it leaves out have no effect on
     * its loss. Without an open episode: DS_E_STATE. */
    ds_status(DS_CALL *step)(void *self, ds_rl_step *io);
    DS_GROWN
} ds_rl;
#define DS_RL_SIZE_1_0 DS_SIZE_WITH(ds_rl, step)

/* ---- the side of an optimizer ---- */

/* Rows of one call: each belongs to a lane, which holds one open episode. Buffers belong to the optimizer. */
typedef struct ds_episode_rows {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count;       /* in: rows, at least 1 */
    const uint64_t *lane; /* in: count different numbers below ds_episodes.lanes */
    const double *action; /* in, step: count x n_act, row-major, inside the bounds; begin: may be NULL */
    double *obs;    /* out: count x n_obs: after begin the first observation, after a step the next one (the
                     * last one again where the episode has failed) */
    double *reward; /* out, step: count values, 0 where the episode has failed; begin: may be NULL */
    uint32_t
        *ended;   /* out, step: count values DS_RL_*; where the episode is over its lane is free, and one that
                      * failed is terminated; begin: may be NULL */
    double *loss; /* out, step: count values: loss of an episode that is over, +INFINITY where it failed, 0
                   * while it goes on; begin: may be NULL */
    uint32_t *outcome; /* out, step: count values DS_EVAL_*; may be NULL */
    const char *tag;   /* in, begin: what the episodes are for, at most 15 bytes; may be NULL */
    uint64_t group;    /* in, begin: number of the update or generation they belong to; else 0 */
    uint64_t done;     /* out: rows answered, from the first on */
    DS_GROWN
} ds_episode_rows;
#define DS_EPISODE_ROWS_SIZE_1_0 DS_SIZE_WITH(ds_episode_rows, done)

/* objective->get_extension(objective, DS_EXT_EPISODES), valid during run(); NULL where the environment has no
 * DS_EXT_RL. An optimizer that cannot do without lists DS_EXT_RL in ds_desc.needs.
 *
 * Every episode costs one evaluation of the budget, whenever and however it ends, and is recorded as one row.
 * Episodes are numbered in the order of begin(): number and run seed choose the noise. Answers do not depend
 * on the number of jobs. All functions are called from the thread of run(); while episodes are open,
 * evaluate() is refused. They return
 *   DS_OK       see below
 *   DS_STOPPED  budget, time, target or the user ended the run: return from run() with DS_STOPPED
 *   DS_E_ARG    the rows break the contract; the host has said which and why */
typedef struct ds_episodes {
    uint32_t struct_size;
    uint32_t reserved;
    const ds_rl_info *info;
    uint64_t lanes; /* episodes that may be open at once */

    /* Begins an episode in each of the lanes, which must be free. The budget may allow the first `done` rows
     * only, which is DS_OK as long as an episode is open; DS_STOPPED when there is nothing left to begin and
     * to step. */
    ds_status(DS_CALL *begin)(const ds_objective *objective, ds_episode_rows *rows);

    /* Takes one step in each of the lanes, which must hold an episode. DS_OK: all rows are answered. */
    ds_status(DS_CALL *step)(const ds_objective *objective, ds_episode_rows *rows);
    DS_GROWN
} ds_episodes;
#define DS_EPISODES_SIZE_1_0 DS_SIZE_WITH(ds_episodes, step)

#ifdef __cplusplus
}
#endif
#endif
