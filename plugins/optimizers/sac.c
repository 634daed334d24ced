/* SPDX-License-Identifier: Apache-2.0 */
/* sac.c - soft actor-critic: learns from every step it has ever made, and is paid for random behaviour.
 *
 *     initialise actor pi, critics Q_1, Q_2, targets Qt_i = Q_i, buffer D
 *     for each step of an episode
 *         a ~ pi(.|s) (uniform at first);  s', r from the environment;  D = D + (s, a, r, s')
 *         for each gradient step, with a minibatch of D
 *             Q_i  against the gradient of (Q_i(s, a) - y)^2
 *             pi   against the gradient of alpha ln pi - min Q_i
 *             alpha such that the entropy of pi approaches its target
 *             Qt_i = tau Q_i + (1 - tau) Qt_i
 *
 * Losses and networks: rl/soft_actor_critic.h. Source: T. Haarnoja et al.,
 * arXiv:1812.05905, Algorithm 1.
 */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/rl/rl_settings.h"
#include "methods/rl/soft_actor_critic.h"

#include <math.h>

enum { WIDE_STEPS = 20000 }; /* at and above this many steps per thousand episodes, wide networks */

typedef struct sac {
    ds_opt_kit kit;
    /* parameters */
    sac_shape shape;
    rl_settings common;
    int64_t buffer_size, learning_starts, train_every, updates, actor_every, actor_updates, target_every;
    int64_t alpha_form;
    double lr_actor, lr_critic, lr_alpha, tau, alpha, target_entropy;
    int auto_alpha;
    /* state */
    stepwise train, trial;
    soft_actor_critic nets;
    replay_buffer buffer;
    float *action; /* of every lane */
    float *mini;   /* minibatch */
    uint64_t steps, gradient_steps;
    double scale;                   /* of the rewards */
    double critic_loss, actor_loss; /* of the last gradient step */
    ds_random explore, sample, draw;
} sac;

/* ---- learning ---- */

static sac_minibatch draw_minibatch(sac *s)
{
    size_t rows = s->shape.batch, n = s->shape.obs, m = s->shape.act;
    float *obs = s->mini, *action = obs + rows * n, *next = action + rows * m, *reward = next + rows * n;
    float *end = reward + rows;
    replay_buffer_draw(&s->buffer, rows, s->scale, &s->draw, obs, action, reward, next, end);
    return (sac_minibatch){obs, action, reward, next, end};
}

static void gradient_step(sac *s)
{
    soft_actor_critic *nets = &s->nets;
    sac_minibatch b = draw_minibatch(s);
    int64_t k = (int64_t)s->gradient_steps++;
    sac_sample(nets, &b, &s->sample);
    sac_targets(nets, &b, s->common.gamma);
    double alpha_slope = sac_alpha_slope(nets, s->target_entropy, (int)s->alpha_form);
    for (int i = 0; i < 2; i++) {
        s->critic_loss = sac_critic_loss(nets, &b, i);
        float_adam_step(&nets->adam_critic[i], s->lr_critic, 1.0, nets->g, nets->w_critic[i]);
    }
    for (int64_t u = 0; k % s->actor_every == 0 && u < s->actor_updates; u++) {
        if (u > 0) {
            sac_sample(nets, &b, &s->sample);
            alpha_slope = sac_alpha_slope(nets, s->target_entropy, (int)s->alpha_form);
        }
        s->actor_loss = sac_actor_loss(nets, &b);
        float_adam_step(&nets->adam_actor, s->lr_actor, 1.0, nets->g, nets->w_actor);
        if (s->auto_alpha) {
            float slope = (float)alpha_slope;
            float_adam_step(&nets->adam_alpha, s->lr_alpha, 1.0, &slope, &nets->ln_alpha);
        }
    }
    if (k % s->target_every == 0) {
        for (int i = 0; i < 2; i++) {
            float_average(nets->critic.weights, s->tau, nets->w_critic[i], nets->w_target[i]);
        }
    }
}

static void learn(sac *s)
{
    if (s->steps <= (uint64_t)s->learning_starts || s->steps % (uint64_t)s->train_every != 0) {
        return;
    }
    /* It settles when the first ten episodes have ended. */
    s->scale = s->common.reward_scale >= 0.0 ? s->common.reward_scale : stepwise_scale(&s->train);
    for (int64_t k = 0; k < s->updates && !s->kit.host->should_stop(s->kit.host); k++) {
        gradient_step(s);
    }
}

/* ---- episodes ---- */

static void choose(sac *s, float *action)
{
    if (s->steps >= (uint64_t)s->learning_starts) {
        sac_act(&s->nets, s->train.lane[0].obs, &s->explore, action);
        return;
    }
    for (size_t k = 0; k < s->shape.act; k++) {
        action[k] = (float)(2.0 * ds_random_uniform(&s->explore) - 1.0);
    }
}

/* One episode of the policy with noise; learns after every step. */
static ds_status train(sac *s)
{
    stepwise_lane *lane = &s->train.lane[0];
    const char *tag = s->steps >= (uint64_t)s->learning_starts ? "policy" : "random";
    ds_status status = stepwise_begin(&s->train, 1, tag, 0);
    while (status == DS_OK && lane->open) {
        choose(s, s->action);
        status = stepwise_step(&s->train, s->action);
        if (status == DS_OK) {
            replay_buffer_add(&s->buffer, lane->previous, s->action, lane->reward, lane->obs,
                              lane->ended && !lane->truncated);
            s->steps++;
            learn(s);
        }
    }
    return status;
}

/* Without noise, for a trial. */
static void choose_mean(void *self, float *action)
{
    sac *s = self;
    for (size_t i = 0; i < s->trial.lanes; i++) {
        if (s->trial.lane[i].open) {
            sac_act(&s->nets, s->trial.lane[i].obs, NULL, action + i * s->shape.act);
        }
    }
}

/* ---- the saved policy ---- */

static const ds_desc desc;

static policy_parts parts_of(const sac *s)
{
    return (policy_parts){.method = desc.id,
                          .version = desc.version,
                          .net = &s->nets.actor,
                          .w = s->nets.w_actor,
                          .squash = "tanh",
                          .noise = s->shape.log_std == SAC_TANH ? "tanh" : "clamp"};
}

static void sac_end(void *self)
{
    const sac *s = self;
    const policy_parts parts = parts_of(s);
    rl_save_policy(&s->kit, "policy.npz", &parts, &s->train, &s->trial, 0, 0.0);
}

/* ---- run ---- */

/* Fills in what depends on the length of an episode. */
static void choose_defaults(sac *s)
{
    size_t horizon = s->train.horizon;
    int is_short = horizon <= RL_SHORT_HORIZON;
    s->shape.obs = s->train.obs;
    s->shape.act = s->train.act;
    if (s->shape.hidden_count == 0) {
        s->shape.hidden_count = 2;
        s->shape.hidden[0] = s->shape.hidden[1] = horizon * 1000 < WIDE_STEPS ? 64 : 256;
    }
    s->updates = s->updates > 0 ? s->updates : is_short ? 4 : 1;
    s->buffer_size = s->buffer_size > 0 ? s->buffer_size : 1000 * (int64_t)horizon;
    if (s->learning_starts < 0) {
        s->learning_starts = horizon > 10 ? 10 * (int64_t)horizon : 100;
    }
    s->target_entropy = isnan(s->target_entropy) ? -(double)s->shape.act : s->target_entropy;
}

static ds_status sac_begin(void *self)
{
    sac *s = self;
    ds_status status = rl_open(&s->common, &s->kit, 1, &s->train, &s->trial);
    if (status != DS_OK) {
        return status;
    }
    choose_defaults(s);
    size_t lanes = s->trial.lanes > 1 ? s->trial.lanes : 1, rows = s->shape.batch;
    s->explore = ds_random_open(s->kit.host->seed, "action", 0);
    s->sample = ds_random_open(s->kit.host->seed, "sample", 0);
    s->draw = ds_random_open(s->kit.host->seed, "minibatch", 0);
    ds_random init = ds_random_open(s->kit.host->seed, "init", 0);
    s->action = ds_memory_take(&s->kit.memory, lanes * s->shape.act, sizeof(float));
    s->mini = ds_memory_take(&s->kit.memory, rows * (2 * s->shape.obs + s->shape.act + 2), sizeof(float));
    if (s->kit.memory.failed || !sac_init(&s->nets, &s->shape, s->alpha, &init) ||
        !replay_buffer_init(&s->buffer, s->shape.obs, s->shape.act, (size_t)s->buffer_size)) {
        return ds_host_fail(s->kit.host, DS_E_NOMEM, "out of memory: lower buffer, batch or hidden");
    }
    return DS_OK;
}

/* Reports the losses of the last gradient step, and the weight of the entropy. */
static ds_status report(sac *s)
{
    static const char *const names[] = {"alpha", "critic_loss", "actor_loss"};
    const double values[] = {exp((double)s->nets.ln_alpha), s->critic_loss, s->actor_loss};
    return ds_evaluator_report(&s->kit.evaluator, s->gradient_steps > 0 ? 3 : 1, names, values, NULL);
}

static ds_status sac_search(void *self)
{
    sac *s = self;
    ds_status status = train(s);
    status = status != DS_OK ? status : report(s);
    const policy_parts parts = parts_of(s);
    return status != DS_OK ? status
                           : rl_try_policy(&s->common, &s->kit, &parts, &s->train, &s->trial,
                                           s->common.trials + 1, s->action, choose_mean, s);
}

/* ---- plugin ---- */

static void sac_release(void *self)
{
    sac *s = self;
    stepwise_free(&s->train);
    stepwise_free(&s->trial);
    sac_free(&s->nets);
    replay_buffer_free(&s->buffer);
}

static void read_params(void *self, ds_param_reader *in)
{
    sac *s = self;
    blas_use_one_thread();
    s->common = rl_read_settings(in);
    rl_hidden_layers(&s->common, &s->shape.hidden_count, s->shape.hidden, &s->shape.activation);
    s->shape.log_std = (int)ds_param_int(in, "log_std");
    s->shape.full_critic_loss = ds_param_int(in, "critic_loss") != 0;
    s->shape.batch = (size_t)ds_param_int(in, "batch");
    s->shape.adam_eps = ds_param_real(in, "adam_eps");
    s->lr_actor = ds_param_real(in, "lr_actor");
    s->lr_critic = ds_param_real(in, "lr_critic");
    s->lr_alpha = ds_param_real(in, "lr_alpha");
    s->tau = ds_param_real(in, "tau");
    s->buffer_size = ds_param_int(in, "buffer");
    s->learning_starts = ds_param_int(in, "learning_starts");
    s->train_every = ds_param_int(in, "train_every");
    s->updates = ds_param_int(in, "updates");
    s->actor_every = ds_param_int(in, "actor_every");
    s->actor_updates = ds_param_int(in, "actor_updates");
    s->target_every = ds_param_int(in, "target_every");
    s->alpha = ds_param_real(in, "alpha");
    s->auto_alpha = ds_param_int(in, "auto_alpha") != 0;
    s->alpha_form = ds_param_int(in, "alpha_loss");
    s->target_entropy = rl_param_auto(in, "target_entropy", (double)NAN);
}

static const char *const log_stds[] = {"clamp", "tanh", NULL};
static const char *const critic_losses[] = {"half", "full", NULL};
static const char *const alpha_losses[] = {"ln_alpha", "alpha", NULL};

static const ds_param *const params[] = {
    DS_LIST("hidden", "", 1, 4096, MLP_MAX_LAYERS - 1, "",
            "Widths of the hidden layers of all networks; empty = 64, 64 for episodes of fewer than 20 "
            "steps, else 256, 256."),
    DS_REAL("lr_actor", "1e-3", 0, 1, "", "Learning rate of the policy."),
    DS_REAL("lr_critic", "1e-3", 0, 1, "", "Learning rate of the critics."),
    DS_REAL("lr_alpha", "1e-3", 0, 1, "", "Learning rate of the temperature."),
    DS_REAL("adam_eps", "1e-8", 0, 1, "", "Added to the root of the second moment."),
    RL_PARAMS("true", "relu"),
    DS_INT("buffer", "0", 0, 1e9, "",
           "Transitions kept in the replay buffer; 0 = the transitions of 1000 episodes."),
    DS_INT("batch", "256", 1, 1e6, "", "Transitions of a gradient step."),
    DS_INT("learning_starts", "-1", -1, 1e9, "",
           "Steps with uniformly random actions before learning; -1 = ten episodes, at least 100."),
    DS_INT("train_every", "1", 1, 1e9, "", "Steps between two rounds of learning."),
    DS_INT("updates", "0", 0, 1e6, "",
           "Gradient steps of a round; 0 = 4 for episodes of at most 10 steps, else 1."),
    DS_INT("actor_every", "1", 1, 1e6, "", "Gradient steps between updates of policy and temperature."),
    DS_INT("actor_updates", "1", 1, 1e6, "",
           "Updates of policy and temperature at a time (CleanRL: every 2, 2)."),
    DS_REAL("tau", "0.005", 0, 1, "", "Share of the critics in their targets per update."),
    DS_INT("target_every", "1", 1, 1e6, "", "Gradient steps between updates of the targets."),
    DS_REAL("alpha", "1", 1e-9, 1e9, "", "Temperature at the start: weight of the entropy."),
    DS_BOOL("auto_alpha", "true", "Adapt the temperature so that the entropy approaches its target."),
    DS_ENUM("alpha_loss", "ln_alpha", alpha_losses,
            "-ln alpha (ln pi + target) as in Stable-Baselines3, or -alpha (ln pi + target) as in CleanRL."),
    DS_LIST("target_entropy", "", -1e6, 1e6, 1, "",
            "Target entropy; empty = minus the numbers of an action."),
    DS_ENUM("log_std", "tanh", log_stds,
            "ln of the standard deviation: clamp = network's output cut to [-20, 2] (Stable-Baselines3), "
            "tanh = squeezed into [-5, 2] (CleanRL)."),
    DS_ENUM("critic_loss", "half", critic_losses,
            "half = sum of 0.5 mean (Q - y)^2 (Stable-Baselines3), full = without the half (CleanRL)."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("sac", "0.4.1"),
    .needs = DS_OPT_IDS(DS_EXT_STEPS),
    .summary = "Soft actor-critic (stepwise control)",
    .description =
        "Learns a control law from observations and rewards of every step, without gradients of the "
        "simulation, and reuses old steps: fewer episodes than ppo, more computation per step. Needs an "
        "environment with ds.env.steps/1. Each episode costs one evaluation; episodes are made one after the "
        "other (a single job).\n"
        "docs/optimizers.md has the settings of Stable-Baselines3 and CleanRL.",
    .citation = "T. Haarnoja, A. Zhou, K. Hartikainen, G. Tucker et al.: Soft actor-critic algorithms and "
                "applications. arXiv:1812.05905",
};

static const ds_opt_table table = {
    .size = sizeof(sac),
    .read = read_params,
    .release = sac_release,
    .begin = sac_begin,
    .round = sac_search,
    .end = sac_end,
};

DS_OPT_KIT_DEFINE(table, desc)
