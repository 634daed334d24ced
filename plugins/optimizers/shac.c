/* SPDX-License-Identifier: Apache-2.0 */
/* shac.c - short-horizon actor-critic: the policy climbs the return of short windows, differentiated through
 * the simulation, plus what a critic says that the state behind them is worth.
 *
 *     initialise policy pi, critic V, target critic Vt = V
 *     for iteration = 1, 2, ...
 *         run pi for h steps in N lanes
 *         pi against the gradient of -1/(N h) sum_i [ sum_{t < h} gamma^t r_t + gamma^h Vt(s_h) ]
 *         V against that of (V(s_t) - target_t)^2, targets by TD(lambda) with Vt, some passes over the
 *           steps in minibatches
 *         Vt = alpha Vt + (1 - alpha) V
 *
 * The policy is that of rl/analytic_policy.h; networks have tanh where the paper has ELU and normalised
 * layers. A lane whose episode ends waits for the next window. Source: J. Xu, V. Makoviychuk, Y. Narang, F.
 * Ramos, W. Matusik, A. Garg, M. Macklin: "Accelerated policy learning with parallel differentiable
 * simulation", ICLR 2022, Algorithm 1.
 */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/rl/analytic_policy.h"
#include "methods/rl/rl_settings.h"

static const double least_lr = 1e-5; /* at the end of the budget */

typedef struct critic {
    mlp net;
    mlp_tape tape;
    float_adam adam;
    float *w, *target, *g;
} critic;

typedef struct shac {
    ds_opt_kit kit;
    /* parameters */
    analytic_shape shape;
    rl_settings common;
    size_t critic_count, critic_hidden[MLP_MAX_LAYERS - 1];
    int64_t envs, window, passes, minibatches;
    double lr_actor, lr_critic, lambda, alpha, grad_norm;
    int anneal;
    /* state */
    stepwise train, trial;
    analytic_policy policy;
    critic critic;
    uint64_t iteration;
    /* of one window: normalised features of all its states, and of the states after each step */
    float *state, *batch, *d_value, *value_bar;
    double *value, *target; /* Vt of each state; targets of the steps */
    size_t *order, count;   /* rows of the steps that were taken */
    float *action;          /* of a trial */
} shac;

/* Falls linearly over the planned budget. */
static double learning_rate(const shac *s, double lr)
{
    double windows = ceil((double)s->train.horizon / (double)s->policy.steps);
    double iterations = ceil((double)s->kit.problem->budget / (double)s->train.lanes) * windows;
    double done = iterations > 0.0 ? fmin((double)s->iteration / iterations, 1.0) : 0.0;
    return !s->anneal || lr <= least_lr ? lr : (least_lr - lr) * done + lr;
}

/* ---- the critic ---- */

static int critic_init(critic *c, size_t obs, size_t rows, const shac *s, ds_random *random, ds_memory *own)
{
    c->net = mlp_make(obs, s->critic_count, s->critic_hidden, 1, s->shape.activation);
    c->w = ds_memory_take(own, c->net.weights, sizeof(float));
    c->target = ds_memory_take(own, c->net.weights, sizeof(float));
    c->g = ds_memory_take(own, c->net.weights, sizeof(float));
    if (own->failed || !mlp_tape_init(&c->tape, &c->net, rows) ||
        !float_adam_init(&c->adam, c->net.weights, s->shape.adam_eps) ||
        !mlp_init_orthogonal(&c->net, c->w, sqrt(2.0), 1.0, random)) {
        return 0;
    }
    c->adam.beta1 = s->shape.beta1;
    c->adam.beta2 = s->shape.beta2;
    memcpy(c->target, c->w, c->net.weights * sizeof(float));
    return 1;
}

/* Vt of all states of the window, also after its last steps. */
static void value_states(shac *s)
{
    const analytic_policy *p = &s->policy;
    for (size_t t = 0; t <= p->steps; t++) {
        const size_t row = t * p->lanes;
        analytic_normalise(p, p->lanes, p->features + row * p->obs, s->state + row * p->obs);
        const float *v =
            mlp_forward(&s->critic.net, s->critic.target, p->lanes, s->state + row * p->obs, &s->critic.tape);
        for (size_t i = 0; i < p->lanes; i++) {
            s->value[row + i] = (double)v[i];
        }
    }
}

/* The derivatives of Vt by the normalised features after the windows. */
static void differentiate_values(shac *s)
{
    const analytic_policy *p = &s->policy;
    for (size_t i = 0; i < p->lanes; i++) {
        memcpy(s->batch + i * p->obs, s->state + (p->length[i] * p->lanes + i) * p->obs,
               p->obs * sizeof(float));
        s->d_value[i] = 1.0f;
    }
    mlp_forward(&s->critic.net, s->critic.target, p->lanes, s->batch, &s->critic.tape);
    mlp_backward(&s->critic.net, s->critic.target, p->lanes, s->batch, &s->critic.tape, s->d_value, NULL,
                 s->value_bar);
}

/* Targets by TD(lambda), back from the end of each window; the rows that have one. */
static void make_targets(shac *s, double scale)
{
    const analytic_policy *p = &s->policy;
    const double gamma = s->common.gamma;
    s->count = 0;
    for (size_t i = 0; i < p->lanes; i++) {
        double ahead = p->end[i] != ANALYTIC_TERMINATED ? s->value[p->length[i] * p->lanes + i] : 0.0,
               next = ahead;
        for (size_t t = p->length[i]; t-- > 0;) {
            const size_t row = t * p->lanes + i;
            next = scale * p->reward[row] + gamma * ((1.0 - s->lambda) * ahead + s->lambda * next);
            s->target[row] = next;
            ahead = s->value[row];
            s->order[s->count++] = row;
        }
    }
}

static void critic_step(shac *s, const size_t *rows, size_t count, double lr)
{
    const size_t obs = s->policy.obs;
    critic *c = &s->critic;
    for (size_t j = 0; j < count; j++) {
        memcpy(s->batch + j * obs, s->state + rows[j] * obs, obs * sizeof(float));
    }
    const float *v = mlp_forward(&c->net, c->w, count, s->batch, &c->tape);
    for (size_t j = 0; j < count; j++) {
        s->d_value[j] = (float)(2.0 * ((double)v[j] - s->target[rows[j]]) / (double)count);
    }
    mlp_backward(&c->net, c->w, count, s->batch, &c->tape, s->d_value, c->g, NULL);
    double norm = float_length(c->net.weights, c->g);
    if (isfinite(norm)) {
        float_adam_step(&c->adam, lr, s->grad_norm > 0.0 && norm > s->grad_norm ? s->grad_norm / norm : 1.0,
                        c->g, c->w);
    }
}

static void learn_values(shac *s)
{
    const size_t size = (s->count + (size_t)s->minibatches - 1) / (size_t)s->minibatches;
    const double lr = learning_rate(s, s->lr_critic);
    ds_random random = ds_random_open(s->kit.host->seed, "shuffle", s->iteration);
    for (int64_t pass = 0; pass < s->passes && !s->kit.host->should_stop(s->kit.host); pass++) {
        for (size_t j = s->count; j > 1; j--) {
            size_t k = (size_t)ds_random_below(&random, j), row = s->order[k];
            s->order[k] = s->order[j - 1];
            s->order[j - 1] = row;
        }
        for (size_t at = 0; at < s->count; at += size) {
            critic_step(s, s->order + at, s->count - at < size ? s->count - at : size, lr);
        }
    }
    float_average(s->critic.net.weights, 1.0 - s->alpha, s->critic.w, s->critic.target);
}

/* ---- the saved policy ---- */

static const ds_desc desc;

static policy_parts parts_of(const shac *s)
{
    return (policy_parts){.method = desc.id,
                          .version = desc.version,
                          .net = &s->policy.net,
                          .w = s->policy.w,
                          .squash = "tanh",
                          .moments = s->policy.normalise ? s->policy.moments : NULL,
                          .limit = ANALYTIC_OBS_LIMIT,
                          .log_std = s->policy.log_std,
                          .log_std_rows = 1,
                          .noise = "plain"};
}

static void shac_end(void *self)
{
    const shac *s = self;
    const policy_parts parts = parts_of(s);
    rl_save_policy(&s->kit, "policy.npz", &parts, &s->train, &s->trial, 0, 0.0);
}

static void choose_mean(void *self, float *action)
{
    shac *s = self;
    analytic_choose(&s->policy, &s->trial, action);
}

/* ---- run ---- */

/* Windows of an episode are equally long, but for the last. */
static size_t steps_of_window(const shac *s)
{
    size_t horizon = s->train.horizon, window = (size_t)s->window;
    size_t count = (horizon + window - 1) / window;
    return (horizon + count - 1) / count;
}

static ds_status shac_begin(void *self)
{
    shac *s = self;
    ds_status status = rl_open(&s->common, &s->kit, (size_t)s->envs, &s->train, &s->trial);
    status = status != DS_OK ? status : stepwise_differentiate(&s->train);
    if (status != DS_OK) {
        return status;
    }
    rl_warn_lanes(&s->kit, &s->train, (size_t)s->envs);
    ds_memory *own = &s->kit.memory;
    size_t steps = steps_of_window(s), lanes = s->train.lanes, rows = steps * lanes, obs = s->train.obs;
    ds_random random = ds_random_open(s->kit.host->seed, "init", 0);
    int ok = analytic_init(&s->policy, &s->shape, &s->train, steps, &random) &&
             critic_init(&s->critic, obs, rows, s, &random, own);
    s->state = ds_memory_take(own, (rows + lanes) * obs, sizeof(float));
    s->batch = ds_memory_take(own, rows * obs, sizeof(float));
    s->value_bar = ds_memory_take(own, lanes * obs, sizeof(float));
    s->d_value = ds_memory_take(own, rows, sizeof(float));
    s->value = ds_memory_doubles(own, rows + lanes);
    s->target = ds_memory_doubles(own, rows);
    s->order = ds_memory_take(own, rows, sizeof *s->order);
    s->action = ds_memory_take(own, (s->trial.lanes + 1) * s->train.act, sizeof(float));
    return ok && !own->failed
               ? DS_OK
               : ds_host_fail(s->kit.host, DS_E_NOMEM, "out of memory: lower envs, window or hidden");
}

static ds_status shac_search(void *self)
{
    shac *s = self;
    analytic_policy *p = &s->policy;
    ds_status status = analytic_roll_out(
        p, &s->train, s->kit.host, rl_episodes_left(&s->kit, &s->train, &s->trial), "rollout", s->iteration);
    if (status != DS_OK) {
        return status;
    }
    const double scale =
        s->common.reward_scale >= 0.0 ? s->common.reward_scale : stepwise_sum_scale(&s->train);
    value_states(s);
    differentiate_values(s);
    status = analytic_back(p, &s->train, s->common.gamma, scale, s->value_bar);
    if (status != DS_OK) {
        return status;
    }
    analytic_improve(p, learning_rate(s, s->lr_actor), s->grad_norm);
    make_targets(s, scale);
    learn_values(s);
    analytic_learn_moments(p);
    s->iteration++;
    const policy_parts parts = parts_of(s);
    return rl_try_policy(&s->common, &s->kit, &parts, &s->train, &s->trial, s->iteration, s->action,
                         choose_mean, s);
}

/* ---- plugin ---- */

static void shac_release(void *self)
{
    shac *s = self;
    stepwise_free(&s->train);
    stepwise_free(&s->trial);
    analytic_free(&s->policy);
    mlp_tape_free(&s->critic.tape);
    float_adam_free(&s->critic.adam);
}

static void read_params(void *self, ds_param_reader *in)
{
    shac *s = self;
    blas_use_one_thread();
    s->common = rl_read_settings(in);
    rl_hidden_layers(&s->common, &s->shape.hidden_count, s->shape.hidden, &s->shape.activation);
    s->critic_count = rl_param_widths(in, "critic_hidden", s->critic_hidden);
    s->envs = ds_param_int(in, "envs");
    s->window = ds_param_int(in, "window");
    s->passes = ds_param_int(in, "passes");
    s->minibatches = ds_param_int(in, "minibatches");
    s->lr_actor = ds_param_real(in, "lr_actor");
    s->lr_critic = ds_param_real(in, "lr_critic");
    s->anneal = ds_param_int(in, "anneal") != 0;
    s->shape.adam_eps = ds_param_real(in, "adam_eps");
    s->shape.beta1 = ds_param_real(in, "beta1");
    s->shape.beta2 = ds_param_real(in, "beta2");
    s->lambda = ds_param_real(in, "lambda");
    s->alpha = ds_param_real(in, "alpha");
    s->grad_norm = ds_param_real(in, "grad_norm");
    s->shape.normalise = ds_param_int(in, "normalise_obs") != 0;
    s->shape.noisy = 1;
    s->shape.log_std = ds_param_real(in, "log_std");
}

static const ds_param *const params[] = {
    DS_LIST("hidden", "64, 64", 1, 4096, MLP_MAX_LAYERS - 1, "",
            "Widths of the hidden layers of the policy."),
    DS_LIST("critic_hidden", "64, 64", 1, 4096, MLP_MAX_LAYERS - 1, "",
            "Widths of the hidden layers of the critic."),
    DS_INT("envs", "16", 1, 1e4, "", "N: episodes that are open at a time (the paper: 64 to 256)."),
    DS_INT("window", "32", 1, 1e9, "",
           "h: most steps of a window; an episode is cut into as few equally long ones as possible."),
    DS_REAL("lr_actor", "1e-2", 0, 1, "", "Learning rate of the policy."),
    DS_REAL("lr_critic", "1e-3", 0, 1, "", "Learning rate of the critic."),
    DS_BOOL("anneal", "true", "Let the learning rates fall linearly to 1e-5 over the planned budget."),
    DS_REAL("adam_eps", "1e-8", 0, 1, "", "Added to the root of the second moment."),
    DS_REAL("beta1", "0.7", 0, 0.999999, "", "Decay of the first moment of Adam."),
    DS_REAL("beta2", "0.95", 0, 0.999999, "", "Decay of the second moment of Adam."),
    RL_PARAMS("true", "tanh"),
    DS_REAL("lambda", "0.95", 0, 1, "", "Decay of the targets of the critic."),
    DS_INT("passes", "16", 1, 1e6, "", "Times that the critic goes through the steps of a window."),
    DS_INT("minibatches", "4", 1, 1e6, "", "Parts of such a pass, a gradient step each."),
    DS_REAL("alpha", "0.2", 0, 1, "",
            "Share of its old weights that the target critic keeps in an iteration."),
    DS_REAL("grad_norm", "1", 0, 1e9, "", "Longest gradient of a network, all weights together; 0 = any."),
    DS_BOOL("normalise_obs", "true", "Observations minus their mean, over their deviation, cut to +-10."),
    DS_REAL("log_std", "-1", -20, 2, "", "ln of the first standard deviation of the actions, before tanh."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("shac", "0.3.3"),
    .flags = DS_OPT_USES_BUDGET,
    .needs = DS_OPT_IDS(DS_EXT_STEPS, DS_EXT_STEPS_GRADIENT),
    .summary = "Short-horizon actor-critic (stepwise control with gradients)",
    .description =
        "Learns a policy by differentiating short windows of episodes through simulation and policy, with a "
        "critic for the rest of the episode. Needs an environment with ds.draft.env.steps_gradient/1. Each "
        "episode costs one evaluation, with its gradient.\nConstants are those of the paper's cart-pole, but "
        "for N, which suits budgets of a thousand episodes; networks have tanh without normalised layers. A "
        "gradient longer than 1e6, or not finite, is not followed.",
    .citation = "J. Xu, V. Makoviychuk, Y. Narang, F. Ramos, W. Matusik, A. Garg, M. Macklin: Accelerated "
                "policy learning with parallel differentiable simulation. ICLR 2022, arXiv:2204.07137",
};

static const ds_opt_table table = {
    .size = sizeof(shac),
    .read = read_params,
    .release = shac_release,
    .begin = shac_begin,
    .round = shac_search,
    .end = shac_end,
};

DS_OPT_KIT_DEFINE(table, desc)
