/* SPDX-License-Identifier: Apache-2.0 */
/* apg.c - analytic policy gradient: differentiates the return of whole episodes, or of pieces of them,
 * through the simulation and the policy, step by step, and climbs it.
 *
 *     initialise policy pi
 *     for update = 1, 2, ...
 *         run pi in `envs` episodes, for `window` steps or to their end
 *         g = d/d pi  sum of gamma^t r_t over all steps of all episodes, over their number, back through time
 *         Adam step along g, cut to the length grad_norm
 *
 * The policy is the one of rl/analytic_policy.h. Source: C. D. Freeman et al., "Brax - A differentiable
 * physics engine for large scale rigid body simulation", NeurIPS 2021, section "Analytic policy gradients".
 */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/rl/analytic_policy.h"
#include "methods/rl/rl_settings.h"

typedef struct apg {
    ds_opt_kit kit;
    /* parameters */
    analytic_shape shape;
    rl_settings common;
    int64_t envs, window;
    double lr, grad_norm;
    int anneal;
    /* state */
    stepwise train, trial;
    analytic_policy policy;
    float *action; /* one action of a trial */
    uint64_t update;
} apg;

/* Learning rate of this update: falls linearly to 0 over the planned budget. */
static double learning_rate(const apg *a)
{
    double episodes = (double)a->kit.problem->budget / (double)a->train.lanes;
    double updates = ceil(episodes * ceil((double)a->train.horizon / (double)a->policy.steps));
    return !a->anneal || a->kit.problem->budget == 0
               ? a->lr
               : a->lr * fmax(1.0 - (double)a->update / updates, 1.0 / updates);
}

static void choose_mean(void *self, float *action)
{
    apg *a = self;
    analytic_choose(&a->policy, &a->trial, action);
}

/* ---- saved state ---- */

static const ds_desc desc;

static policy_parts parts_of(const apg *a)
{
    return (policy_parts){.method = desc.id,
                          .version = desc.version,
                          .net = &a->policy.net,
                          .w = a->policy.w,
                          .squash = "tanh",
                          .moments = a->policy.normalise ? a->policy.moments : NULL,
                          .limit = ANALYTIC_OBS_LIMIT,
                          .log_std = a->policy.log_std,
                          .log_std_rows = 1,
                          .noise = "plain"};
}

static void apg_end(void *self)
{
    const apg *a = self;
    const policy_parts parts = parts_of(a);
    rl_save_policy(&a->kit, "policy.npz", &parts, &a->train, &a->trial, 0, 0.0);
}

/* ---- run ---- */

static ds_status apg_begin(void *self)
{
    apg *a = self;
    if (a->common.gamma < 0.0) {
        a->common.gamma = 1.0;
    }
    ds_status status = rl_open(&a->common, &a->kit, (size_t)a->envs, &a->train, &a->trial);
    status = status != DS_OK ? status : stepwise_differentiate(&a->train);
    if (status != DS_OK) {
        return status;
    }
    rl_warn_lanes(&a->kit, &a->train, (size_t)a->envs);
    size_t horizon = a->train.horizon, steps = a->window > 0 ? (size_t)a->window : horizon;
    ds_random random = ds_random_open(a->kit.host->seed, "init", 0);
    a->action = ds_memory_take(&a->kit.memory, (a->trial.lanes + 1) * a->train.act, sizeof(float));
    return analytic_init(&a->policy, &a->shape, &a->train, steps < horizon ? steps : horizon, &random) &&
                   !a->kit.memory.failed
               ? DS_OK
               : ds_host_fail(a->kit.host, DS_E_NOMEM, "out of memory: lower envs, window or hidden");
}

static ds_status apg_search(void *self)
{
    apg *a = self;
    analytic_policy *p = &a->policy;
    ds_status status = analytic_roll_out(
        p, &a->train, a->kit.host, rl_episodes_left(&a->kit, &a->train, &a->trial), "rollout", a->update);
    double scale = a->common.reward_scale >= 0.0 ? a->common.reward_scale : stepwise_scale(&a->train);
    status = status != DS_OK ? status : analytic_back(p, &a->train, a->common.gamma, scale, NULL);
    if (status != DS_OK) {
        return status;
    }
    analytic_improve(p, learning_rate(a), a->grad_norm);
    analytic_learn_moments(p);
    a->update++;
    const policy_parts parts = parts_of(a);
    return rl_try_policy(&a->common, &a->kit, &parts, &a->train, &a->trial, a->update, a->action, choose_mean,
                         a);
}

/* ---- plugin ---- */

static void apg_release(void *self)
{
    apg *a = self;
    stepwise_free(&a->train);
    stepwise_free(&a->trial);
    analytic_free(&a->policy);
}

static void read_params(void *self, ds_param_reader *in)
{
    apg *a = self;
    blas_use_one_thread();
    a->common = rl_read_settings(in);
    rl_hidden_layers(&a->common, &a->shape.hidden_count, a->shape.hidden, &a->shape.activation);
    a->envs = ds_param_int(in, "envs");
    a->window = ds_param_int(in, "window");
    a->lr = ds_param_real(in, "lr");
    a->anneal = ds_param_int(in, "anneal") != 0;
    a->shape.adam_eps = ds_param_real(in, "adam_eps");
    a->shape.beta1 = ds_param_real(in, "beta1");
    a->shape.beta2 = ds_param_real(in, "beta2");
    a->grad_norm = ds_param_real(in, "grad_norm");
    a->shape.normalise = ds_param_int(in, "normalise_obs") != 0;
    a->shape.noisy = 1;
    a->shape.log_std = ds_param_real(in, "log_std");
}

static const ds_param *const params[] = {
    DS_LIST("hidden", "64, 64", 1, 4096, MLP_MAX_LAYERS - 1, "",
            "Widths of the hidden layers of the policy."),
    DS_INT("envs", "4", 1, 1e4, "", "Episodes open at the same time; together they give one gradient."),
    DS_INT("window", "0", 0, 1e9, "",
           "Steps between two updates; the gradient stops there. 0 = whole episodes. Episodes continue "
           "across updates."),
    DS_REAL("lr", "1e-2", 0, 1, "", "Learning rate of Adam."),
    DS_BOOL("anneal", "true", "Let the learning rate fall linearly to 0 over the planned budget."),
    DS_REAL("adam_eps", "1e-8", 0, 1, "", "Added to the root of the second moment."),
    DS_REAL("beta1", "0.9", 0, 0.999999, "", "Decay of the first moment of Adam."),
    DS_REAL("beta2", "0.999", 0, 0.999999, "", "Decay of the second moment of Adam."),
    DS_LIST("gamma", "", 0, 1, 1, "", "Discount per step; empty = 1."),
    RL_OTHER_PARAMS("true", "tanh"),
    DS_REAL("grad_norm", "1", 0, 1e9, "", "Longest gradient of all weights together; 0 = no limit."),
    DS_BOOL("normalise_obs", "true",
            "Normalise observations by running mean and deviation, clipped to +-10."),
    DS_REAL("log_std", "-2", -20, 2, "", "ln of the first standard deviation of the actions, before tanh."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("apg", "0.3.2"),
    .flags = DS_OPT_USES_BUDGET,
    .needs = DS_OPT_IDS(DS_EXT_STEPS, DS_EXT_STEPS_GRADIENT),
    .summary = "Analytic policy gradient (stepwise control with gradients)",
    .description =
        "Learns a control law by differentiating the return of its episodes through simulation and policy, "
        "back through time. Needs an environment with ds.draft.env.steps_gradient/1. Each episode costs one "
        "evaluation, with its gradient. Gradients of long or chaotic episodes carry little information: cut "
        "them (window), or use shac.\nA gradient longer than 1e6, or not finite, is not followed.",
    .citation =
        "C. D. Freeman, E. Frey, A. Raichuk, S. Girgin, I. Mordatch, O. Bachem: Brax - A differentiable "
        "physics engine for large scale rigid body simulation. NeurIPS 2021, arXiv:2106.13281",
};

static const ds_opt_table table = {
    .size = sizeof(apg),
    .read = read_params,
    .release = apg_release,
    .begin = apg_begin,
    .round = apg_search,
    .end = apg_end,
};

DS_OPT_KIT_DEFINE(table, desc)
