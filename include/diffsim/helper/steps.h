/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/steps.h - the short way to an environment that is controlled step by step
 * (diffsim/ext/steps.h), in C.
 *
 * Header only, no part of the binary interface. Its variables are the actions of all steps, one after the
 * other, and its loss is the sum of what the steps cost: three functions, and one line. A whole environment:
 *
 *     #include <diffsim/helper/steps.h>
 *
 *     static void reset(const double *param, uint64_t noise_key, double *state)
 *     {
 *         (void)param;
 *         (void)noise_key;
 *         state[0] = 1;
 *     }
 *
 *     static double step(const double *param, double *state, const double *action)
 *     {
 *         (void)param;
 *         state[0] += 0.1 * action[0];
 *         return state[0] * state[0];
 *     }
 *
 *     static void observe(const double *param, const double *state, double *obs)
 *     {
 *         (void)param;
 *         obs[0] = state[0];
 *     }
 *
 *     DS_SIMPLE_STEPS("glide", "A thing is to go to 0.", NULL, 0, 50, 1, 1, 1, -1, 1, reset, step, observe)
 *
 * Every optimizer can search for the actions; `ppo` and `sac` learn a policy that looks at the observations.
 * The loss of an episode of steps is that of evaluate() at its actions, because both make the same calls of
 * step(). DS_DEFINE_SIMPLE of simple.h, of which DS_SIMPLE_STEPS is a short form, combines steps with a
 * scene, channels and names of the variables. Its functions get a ds_simple_episode: param, state,
 * noise_key, step and what setup() made.
 */
#ifndef DIFFSIM_HELPER_STEPS_H
#define DIFFSIM_HELPER_STEPS_H

#include <diffsim/helper/simple.h>

#ifndef __cplusplus

/* Defines the whole plugin of an environment; use it once, at file scope, after its functions.
 *   id_, summary_, params_   as in DS_SIMPLE_ENV
 *   flags_     DS_ENV_STOCHASTIC or 0; there is no gradient
 *   horizon_   control steps of an episode, which ends there by the rules of the task
 *   n_act_, n_obs_, n_state_   numbers of an action, of an observation, of the state; there are
 *              horizon_ x n_act_ variables
 *   lower_, upper_   bounds of every number of an action; the start point is their middle
 *   reset_     void reset_(const double *param, uint64_t noise_key, double *state): the state at the start,
 *              which is 0 before. The noise key is 0, or for ds_random_open()
 *   step_      double step_(const double *param, double *state, const double *action): one step, and what it
 *              costs. Not finite = the simulation has diverged
 *   observe_   void observe_(const double *param, const double *state, double *obs): all that a policy needs
 *              to know, of the order of 1 if possible, without the time */
#define DS_SIMPLE_STEPS(id_, summary_, params_, flags_, horizon_, n_act_, n_obs_, n_state_, lower_, upper_,  \
                        reset_, step_, observe_)                                                             \
    static void ds_simple_reset_(const ds_simple_episode *e)                                                 \
    {                                                                                                        \
        reset_(e->param, e->noise_key, e->state);                                                            \
    }                                                                                                        \
    static double ds_simple_step_(const ds_simple_episode *e, const double *action)                          \
    {                                                                                                        \
        return step_(e->param, e->state, action);                                                            \
    }                                                                                                        \
    static void ds_simple_observe_(const ds_simple_episode *e, double *obs)                                  \
    {                                                                                                        \
        observe_(e->param, e->state, obs);                                                                   \
    }                                                                                                        \
    DS_DEFINE_SIMPLE(DS_SIMPLE_FIELDS_(id_, summary_, params_, flags_, (uint64_t)(horizon_) * (n_act_),      \
                                       lower_, upper_, 0.5 * ((lower_) + (upper_))),                         \
                     .steps = (horizon_), .n_act = (n_act_), .n_obs = (n_obs_), .n_state = (n_state_),       \
                     .reset = ds_simple_reset_, .step = ds_simple_step_, .observe = ds_simple_observe_)

#endif
#endif
