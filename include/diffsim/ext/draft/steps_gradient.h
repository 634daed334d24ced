/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/draft/steps_gradient.h - derivatives of stepwise control, a draft: environment extension
 * "ds.draft.env.steps_gradient/1", and what the host makes of it for optimizers,
 * "ds.draft.objective.steps_gradient/1".
 *
 * Purpose: the gradient of a return by the weights of a policy that observes the state (apg, shac). The
 * environment differentiates its steps, the optimizer its policy, alternately.
 *
 * Scenario: an optimizer steps eight lanes through 32 steps. Then, for t = 31 ... 0, it passes the
 * derivatives of its objective J by the reward of step t and by the observation after it. It gets the
 * derivative by action t, propagates that through its policy, and obtains its part of the weight gradient and
 * the adjoint of the observation that the action was chosen on: the one after step t - 1.
 *
 * A sweep goes backwards over the steps of one episode (steps.h), which may be open and may continue
 * afterwards as if there had been no sweep, or which has just ended:
 *
 *     reward_bar     in   dJ / d reward of step t, where J depends on it directly
 *     obs_bar[n_obs] in   dJ / d observation after step t: all that comes through the policy and through a
 *                         value function of that state; not what comes through the simulation
 *     action_bar     out  dJ / d action t, by all paths: n_act numbers, units of J per unit of the action
 *
 * The environment carries the adjoint of its state from a step to the one before. It is 0 where a sweep
 * begins. A sweep may end at any step: the state before that step is then a constant, which is how a window
 * of an episode is differentiated. Derivatives are those of the branch taken, as for evaluate(): with
 * reward_bar = -1 and obs_bar = 0 at all steps of an episode, action_bar is the gradient of evaluate() up
 * to rounding.
 *
 * Rules for the environment: the same episode and the same adjoints give the same results; a sweep changes
 * nothing that a step, or another sweep, could see. What it keeps of an episode for that (the states of all
 * steps, or some of them to recompute the others) is released with the instance or when the next episode
 * begins in the lane.
 */
#ifndef DIFFSIM_EXT_DRAFT_STEPS_GRADIENT_H
#define DIFFSIM_EXT_DRAFT_STEPS_GRADIENT_H

#include <diffsim/base.h>
#include <diffsim/ext/steps.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_STEPS_GRADIENT "ds.draft.env.steps_gradient/1"
#define DS_EXT_OBJECTIVE_STEPS_GRADIENT "ds.draft.objective.steps_gradient/1"

/* One step backwards in each of several lanes: in the episode that the lane holds or, until the next begin()
 * there, held last. Constant; the arrays belong to the caller. */
typedef struct ds_back_rows {
    uint32_t struct_size; /* sizeof(ds_back_rows) of the caller */
    uint32_t reserved;
    uint64_t count;       /* rows, at least 1 */
    const uint64_t *lane; /* count different numbers below the number of lanes */
    const uint64_t *step; /* count: 0 = the first step of the episode */
    /* count, between host and environment: 1 = the step begins a sweep, and the adjoint of the state after it
     * is 0; any step with the outcome DS_EVAL_OK may begin one. 0 = the step is the one before the step that
     * the sweep went back over last. An optimizer leaves it NULL: the last step taken begins a sweep. */
    const uint32_t *begins;
    const double *reward_bar; /* count finite values */
    const double *obs_bar;    /* count x n_obs finite values */
} ds_back_rows;
#define DS_BACK_ROWS_SIZE_1_0 DS_SIZE_WITH(ds_back_rows, obs_bar)

/* Results: the struct is constant, the callee writes to its arrays. Between host and environment no
 * array is NULL, and outcome (DS_EVAL_OK) and cost_steps (0) are preset. */
typedef struct ds_back_results {
    uint32_t struct_size; /* sizeof(ds_back_results) of the caller */
    uint32_t reserved;
    double *action_bar; /* count x n_act values; 0 where there is none */
    /* count: DS_EVAL_OK; DS_EVAL_BAD_GRAD where the derivatives are not finite. The host adds its own: any
     * other outcome means that the episode or its sweep has failed, and the rest of the sweep fails too. */
    uint32_t *outcome;
    uint64_t *cost_steps; /* count: simulation steps spent; an optimizer may leave it NULL */
} ds_back_results;
#define DS_BACK_RESULTS_SIZE_1_0 DS_SIZE_WITH(ds_back_results, cost_steps)

/* The table that get_extension() of an environment with DS_EXT_STEPS returns; NULL with parameters for which
 * it has no derivatives. [instance] */
typedef struct ds_env_steps_gradient {
    uint32_t struct_size;
    uint32_t reserved;

    /* Goes back over one step in each of the lanes. DS_E_STATE where the step is out of turn, where the
     * episode of a lane has failed, and after a call of evaluate() since its steps. */
    ds_status(DS_CALL *back)(void *self, const ds_back_rows *rows, const ds_back_results *results);
} ds_env_steps_gradient;
#define DS_ENV_STEPS_GRADIENT_SIZE_1_0 DS_SIZE_WITH(ds_env_steps_gradient, back)

/* objective->get_extension(objective, DS_EXT_OBJECTIVE_STEPS_GRADIENT), valid during run(); NULL where the
 * environment has no DS_EXT_STEPS_GRADIENT. An optimizer that needs it lists DS_EXT_STEPS_GRADIENT in
 * ds_desc.needs. Get the table before the first episode begins: the host keeps nothing of earlier ones.
 *
 * A sweep costs no evaluation: an episode counts 1 with its derivatives, too. Derivatives are not recorded;
 * when a run is resumed, the host simulates episodes again for them and compares the results with the record.
 * Results do not depend on the number of jobs. back() returns what step() of ds_objective_steps does. */
typedef struct ds_objective_steps_gradient {
    uint32_t struct_size;
    uint32_t reserved;
    ds_status(DS_CALL *back)(const ds_objective *objective, const ds_back_rows *rows,
                             const ds_back_results *results, uint64_t *done);
} ds_objective_steps_gradient;
#define DS_OBJECTIVE_STEPS_GRADIENT_SIZE_1_0 DS_SIZE_WITH(ds_objective_steps_gradient, back)

#ifdef __cplusplus
}
#endif
#endif
