/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/steps.h - the short way to an environment that is controlled step by step
 * (diffsim/ext/rl.h), in C.
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
 * The loss of an episode of steps is that of evaluate() at its actions, because both are the same calls of
 * step().
 */
#ifndef DIFFSIM_HELPER_STEPS_H
#define DIFFSIM_HELPER_STEPS_H

#include <diffsim/ext/rl.h>
#include <diffsim/helper/simple.h>

#ifndef __cplusplus

/* What DS_SIMPLE_STEPS is told. */
typedef struct ds_simple_task {
    uint64_t horizon;                                  /* control steps */
    uint64_t n_act, n_obs, n_state;                    /* numbers of an action, an observation, the state */
    void (*reset)(const double *, uint64_t, double *); /* see DS_SIMPLE_STEPS */
    double (*step)(const double *, double *, const double *);  /* see DS_SIMPLE_STEPS */
    void (*observe)(const double *, const double *, double *); /* see DS_SIMPLE_STEPS */
} ds_simple_task;

/* An instance, with one episode. */
typedef struct ds_simple_control {
    const ds_simple_task *task; /* constant */
    const double *param;        /* values of the schema */
    double *state; /* at the present step; the block that is released, the parameters behind it */
    double loss;   /* so far */
    uint64_t step; /* steps taken; horizon = no episode is open */
} ds_simple_control;

/* Makes an instance. [any] */
static inline ds_status ds_simple_start(const ds_host *host, const ds_simple_task *task,
                                        const ds_param *const *params, void **out)
{
    double *block = ds_simple_params(host, params, task->n_state);
    ds_simple_control *r = block != NULL ? (ds_simple_control *)calloc(1, sizeof *r) : NULL;
    if (r == NULL) {
        free(block);
        return block != NULL ? ds_host_fail(host, DS_E_NOMEM, "no memory for an episode") : DS_E_PARAM;
    }
    r->task = task;
    r->state = block;
    r->param = block + task->n_state;
    r->step = task->horizon;
    *out = r;
    return DS_OK;
}

/* destroy(). [instance] */
static inline void ds_simple_end(void *self)
{
    if (self != NULL) {
        free(((ds_simple_control *)self)->state);
        free(self);
    }
}

/* Begins an episode. [instance] */
static inline void ds_simple_begin(ds_simple_control *r, uint64_t noise_key)
{
    memset(r->state, 0, (size_t)r->task->n_state * sizeof *r->state);
    r->task->reset(r->param, noise_key, r->state);
    r->loss = 0;
    r->step = 0;
}

/* Takes a step and returns what it costs; a cost that is not finite ends the episode: it has diverged.
 * [instance] */
static inline double ds_simple_advance(ds_simple_control *r, const double *action)
{
    const double cost = r->task->step(r->param, r->state, action);
    r->loss += cost;
    r->step = isfinite(r->loss) ? r->step + 1 : r->task->horizon;
    return cost;
}

/* evaluate(): all steps of an episode. [instance] */
static inline ds_status ds_simple_control_all(void *self, ds_eval *io)
{
    ds_simple_control *r = (ds_simple_control *)self;
    io->cost_steps = 0;
    for (ds_simple_begin(r, io->noise_key); r->step < r->task->horizon; io->cost_steps++) {
        ds_simple_advance(r, io->x + r->step * r->task->n_act);
    }
    io->outcome = isfinite(r->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->bad_step = isfinite(r->loss) ? -1 : (int64_t)io->cost_steps;
    io->loss = isfinite(r->loss) ? r->loss : INFINITY;
    io->grad_kind = DS_GRAD_NONE;
    return DS_OK;
}

/* The three functions of ds_rl. [instance] */
static inline ds_status ds_simple_rl_info(void *self, ds_rl_info *out)
{
    const ds_simple_task *task = ((const ds_simple_control *)self)->task;
    out->horizon = task->horizon;
    out->n_act = task->n_act;
    out->n_obs = task->n_obs;
    out->dt = 0;
    return DS_OK;
}

static inline ds_status ds_simple_rl_reset(void *self, uint64_t noise_key, double *obs)
{
    ds_simple_control *r = (ds_simple_control *)self;
    ds_simple_begin(r, noise_key);
    r->task->observe(r->param, r->state, obs);
    return DS_OK;
}

static inline ds_status ds_simple_rl_step(void *self, ds_rl_step *io)
{
    ds_simple_control *r = (ds_simple_control *)self;
    if (r->step >= r->task->horizon) {
        return DS_E_STATE;
    }
    for (uint64_t i = 0; i < r->task->n_act; i++) {
        if (!isfinite(io->action[i])) {
            return DS_E_ARG;
        }
    }
    const double cost = ds_simple_advance(r, io->action);
    const int finite = isfinite(r->loss);
    io->outcome = finite ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->ended = r->step < r->task->horizon ? DS_RL_GOES_ON : DS_RL_TERMINATED;
    io->reward = finite ? -cost : 0;
    io->loss = finite ? r->loss : INFINITY;
    io->cost_steps = 1;
    r->task->observe(r->param, r->state, io->obs);
    return DS_OK;
}

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
    static ds_status ds_simple_create(const ds_host *host, void **out)                                       \
    {                                                                                                        \
        static const ds_simple_task task = {.horizon = (horizon_),                                           \
                                            .n_act = (n_act_),                                               \
                                            .n_obs = (n_obs_),                                               \
                                            .n_state = (n_state_),                                           \
                                            .reset = reset_,                                                 \
                                            .step = step_,                                                   \
                                            .observe = observe_};                                            \
        return ds_simple_start(host, &task, params_, out);                                                   \
    }                                                                                                        \
    DS_SIMPLE_BOX_((uint64_t)(horizon_) * (n_act_), horizon_, 0, lower_, upper_,                             \
                   0.5 * ((lower_) + (upper_)))                                                              \
    static const ds_rl ds_simple_rl = {.struct_size = sizeof(ds_rl),                                         \
                                       .info = ds_simple_rl_info,                                            \
                                       .reset = ds_simple_rl_reset,                                          \
                                       .step = ds_simple_rl_step};                                           \
    DS_SIMPLE_OFFERS_(DS_EXT_RL, ds_simple_rl)                                                               \
    DS_SIMPLE_TABLES_(id_, summary_, params_, flags_, ds_simple_end, ds_simple_control_all,                  \
                      ds_simple_extension, ds_simple_offers)

#endif
#endif
