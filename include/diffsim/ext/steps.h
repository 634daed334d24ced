/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/steps.h - stepwise control: environment extension "ds.env.steps/1", and what the host makes of
 * it for optimizers, "ds.objective.steps/1".
 *
 * Purpose: learn a policy that observes the state (ppo, sac), model-predictive control.
 *
 * Scenario: an optimizer begins episodes in eight lanes and gets eight observations. It steps all lanes with
 * the actions of its policy until each episode has ended. The host records one row for each episode.
 *
 * An episode of `horizon` control steps takes one action of n_act numbers per step and gives an observation
 * and a reward for it. It is the same episode that evaluate() simulates: n = horizon x n_act, and the
 * actions of all steps, one after the other, are the x whose loss evaluate() returns, bit for bit. Action t
 * has the units and the bounds of the components t n_act .. (t + 1) n_act - 1 of x.
 *
 * Rewards are neither scaled nor discounted. Where the loss depends on the final state, a reward is the
 * decrease of that loss over the step; where the loss is a sum over the steps, it is minus the term of the
 * step. The sum of the rewards of an episode is minus its loss, up to a constant that depends on the start
 * alone.
 *
 * Rules for the environment: the same noise key and actions give the same observations, rewards and loss,
 * after any earlier calls and with any other lanes. It does not end an episode that can continue, and reports
 * the reason in `ended`. Rules for the optimizer: one row for each lane and call; a lane whose episode has
 * ended is free; all calls come from the thread of run(). Rules for the host: it numbers episodes as they
 * begin and records them in that order, for any number of lanes and jobs.
 */
#ifndef DIFFSIM_EXT_STEPS_H
#define DIFFSIM_EXT_STEPS_H

#include <diffsim/base.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_STEPS "ds.env.steps/1"
#define DS_EXT_OBJECTIVE_STEPS "ds.objective.steps/1"

/* How an episode ended. A terminated one is over by its rules: nothing comes after it, and the value of its
 * last state is 0. A truncated one was cut: the task would continue, and a learner of values continues it
 * from the last observation. */
enum { DS_STEPS_CONTINUES = 0, DS_STEPS_TERMINATED = 1, DS_STEPS_TRUNCATED = 2 };

/* ds_steps_info.flags: the horizon is a time limit, not a part of the task: an episode that reaches it is
 * truncated. Without the flag it is terminated there, as where the loss depends on the final state. */
enum { DS_STEPS_TIME_LIMIT = 1 };

/* Sizes of an episode. The same at every call for one instance. */
typedef struct ds_steps_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* DS_STEPS_TIME_LIMIT or 0; 0 before the call */
    uint64_t horizon;     /* control steps of a whole episode, at least 1 */
    uint64_t n_act;       /* numbers of an action, at least 1; horizon x n_act = n */
    uint64_t n_obs;       /* numbers of an observation, 1 .. DS_MAX_OBSERVED */
    double dt;            /* seconds per control step; 0 where time has no meaning */
    /* Episodes that one instance can hold open; 0 or 1 = one: then every call has one row, for lane 0. The
     * host makes an instance for each `max_lanes` lanes that it needs. */
    uint64_t max_lanes;
} ds_steps_info;
#define DS_STEPS_INFO_SIZE_1_0 DS_SIZE_WITH(ds_steps_info, max_lanes)

/* One row for each of several lanes; a lane holds at most one open episode. Constant; the arrays belong to
 * the caller and are valid during the call only. */
typedef struct ds_step_rows {
    uint32_t struct_size; /* sizeof(ds_step_rows) of the caller */
    uint32_t reserved;
    uint64_t count;       /* rows, at least 1 */
    const uint64_t *lane; /* count different numbers below the number of lanes */
    /* begin: count keys that select start state and noise of a stochastic environment, 0 = none; NULL = all
     * 0. An optimizer leaves it NULL. */
    const uint64_t *noise_key;
    const double *action; /* step: count x n_act finite values inside the bounds; begin: NULL */
} ds_step_rows;
#define DS_STEP_ROWS_SIZE_1_0 DS_SIZE_WITH(ds_step_rows, action)

/* Their results: the struct is constant, the callee writes to its arrays. Between host and environment no
 * array is NULL, and all values are preset (reward and loss 0, DS_STEPS_CONTINUES, DS_EVAL_OK, cost 0). From
 * an optimizer or a program begin() needs obs, and step() needs obs, reward, ended and loss. */
typedef struct ds_step_results {
    uint32_t struct_size; /* sizeof(ds_step_results) of the caller */
    uint32_t reserved;
    double *obs;       /* count x n_obs finite values: after begin() the first observation, after a step the
                           * next one; need not be written where the outcome is not DS_EVAL_OK */
    double *reward;    /* step: count finite values; 0 where the episode has failed */
    uint32_t *ended;   /* step: count: DS_STEPS_*; always ended after step `horizon`. An episode that has
                           * failed is terminated. An ended episode frees its lane */
    double *loss;      /* step: count: the loss of an episode that has ended, +INFINITY where it failed; 0
                           * while it continues */
    uint32_t *outcome; /* count: DS_EVAL_OK, _DIVERGED, _INFEASIBLE; all but OK end the episode */
    uint64_t *cost_steps; /* count: simulation steps spent */
} ds_step_results;
#define DS_STEP_RESULTS_SIZE_1_0 DS_SIZE_WITH(ds_step_results, cost_steps)

/* ---- the side of an environment ---- */

/* The table that get_extension() of an environment returns. Calls of evaluate() end all open episodes.
 * [instance] as its other functions. */
typedef struct ds_env_steps {
    uint32_t struct_size;
    uint32_t reserved;

    /* Fills the fields that fit into out->struct_size. */
    ds_status(DS_CALL *info)(void *self, ds_steps_info *out);

    /* Begins an episode in each of the lanes and replaces one that is open there; other lanes do not
     * change. */
    ds_status(DS_CALL *begin)(void *self, const ds_step_rows *rows, const ds_step_results *results);

    /* Takes one step in each of the lanes. An episode may end early only where the actions that it leaves out
     * have no effect on its loss. DS_E_STATE where a lane holds no open episode. */
    ds_status(DS_CALL *step)(void *self, const ds_step_rows *rows, const ds_step_results *results);
} ds_env_steps;
#define DS_ENV_STEPS_SIZE_1_0 DS_SIZE_WITH(ds_env_steps, step)

/* ---- the side of an optimizer ---- */

/* objective->get_extension(objective, DS_EXT_OBJECTIVE_STEPS), valid during run(); NULL where the environment
 * has no DS_EXT_STEPS. An optimizer that needs it lists DS_EXT_STEPS in ds_desc.needs.
 *
 * Every episode costs one evaluation of the budget, whenever and however it ends, and is recorded as one row.
 * Episodes are numbered in the order of begin(): number and run seed choose the noise. Results do not depend
 * on the number of jobs. Call all functions from the thread of run(); while episodes are open, evaluate() is
 * refused. They set *done to the number of rows answered, from the first on, and return
 *   DS_OK       see below
 *   DS_STOPPED  budget, time, target or the user ended the run: return from run() with DS_STOPPED
 *   DS_E_ARG    the rows break the contract; the host has reported which and why */
typedef struct ds_objective_steps {
    uint32_t struct_size;
    uint32_t reserved;
    const ds_steps_info *info;
    uint64_t lanes; /* episodes that may be open at once */

    /* Begins an episode in each of the lanes, which must be free. The budget may allow the first *done rows
     * only, which is DS_OK while an episode is open; DS_STOPPED when nothing is left to begin and to step.
     * `label` may be NULL; its noise is ignored. */
    ds_status(DS_CALL *begin)(const ds_objective *objective, const ds_step_rows *rows, const ds_label *label,
                              const ds_step_results *results, uint64_t *done);

    /* Takes one step in each of the lanes, which must hold an episode. DS_OK: all rows are answered. */
    ds_status(DS_CALL *step)(const ds_objective *objective, const ds_step_rows *rows,
                             const ds_step_results *results, uint64_t *done);
} ds_objective_steps;
#define DS_OBJECTIVE_STEPS_SIZE_1_0 DS_SIZE_WITH(ds_objective_steps, step)

#ifdef __cplusplus
}
#endif
#endif
