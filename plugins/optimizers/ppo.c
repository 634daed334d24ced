/* SPDX-License-Identifier: Apache-2.0 */
/* ppo.c - proximal policy optimization: improves a stochastic policy on its latest episodes, in steps that
 * change its probabilities by a bounded factor.
 *
 *     initialise policy pi and value function V
 *     for update = 1, 2, ...
 *         for env = 1 ... envs: run pi for some steps
 *         estimate advantages A and returns R (GAE)
 *         for epoch = 1 ... epochs, the last one perhaps in part,
 *             for each minibatch of the shuffled steps, by Adam:
 *                 minimise -min(ratio A, clip(ratio, 1 - eps, 1 + eps) A) + c_v (V - R)^2 - c_e entropy
 *
 * Actions are drawn in [-1, 1]^m and clipped to it before the step; the networks are those of
 * rl/actor_critic.h. Source: J. Schulman et al., arXiv:1707.06347, Algorithm 1. */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/rl/actor_critic.h"
#include "methods/rl/mlp.h"
#include "methods/rl/rl_settings.h"
#include "methods/rl/stepwise.h"

#include <math.h>
#include <string.h>

static const double obs_limit = 10.0; /* limit of normalised observations and rewards */
static const double kl_tolerance =
    1.5; /* an update ends when the divergence exceeds target_kl by this factor */

/* Minibatches of a pass through all steps, fewer where these would have less than LEAST_STEPS steps; and of
 * an update, which are 1 to MOST_EPOCHS passes. More passes with larger minibatches learn no better for the
 * same number of episodes, and cost more. */
enum { EPOCH_BATCHES = 96, UPDATE_BATCHES = 128, LEAST_STEPS = 16, MOST_EPOCHS = 10 };

typedef struct ppo {
    ds_opt_kit kit;
    /* parameters */
    actor_critic_shape shape;
    ppo_coefficients loss;
    rl_settings common;
    int64_t envs, episodes, n_steps, minibatch, epochs, sde_every;
    int updated; /* the policy changed in this step */
    double lr, adam_eps, lambda, grad_norm, target_kl;
    int anneal, normalise_obs, normalise_reward;
    /* state */
    stepwise train, trial;
    actor_critic ac;
    float_adam adam;
    running_moments *moments; /* of each feature: in use, and from the next update on */
    running_moments *next_moments;
    running_moments return_moments;
    uint64_t update;
    ppo_terms terms; /* of the last minibatch */
    rollout rollout;
    /* per lane */
    float *lane_action, *map;
    ds_random *random;
    /* per open lane */
    float *batch_obs;
    size_t *open;
    double *deviation; /* of each feature, where p->normalise_obs */
    float *state;      /* one observation */
} ppo;

/* ---- acting ---- */

/* Normalises observations with these moments from now on. */
static void use_moments(ppo *p, const running_moments *moments)
{
    memcpy(p->moments, moments, p->train.obs * sizeof *p->moments);
    for (size_t k = 0; k < p->train.obs; k++) {
        p->deviation[k] = running_moments_deviation(&p->moments[k]);
    }
}

static void normalise(const ppo *p, float *row)
{
    for (size_t k = 0; p->normalise_obs && k < p->train.obs; k++) {
        const double z = ((double)row[k] - p->moments[k].mean) / p->deviation[k];
        row[k] = (float)(z < -obs_limit ? -obs_limit : (z > obs_limit ? obs_limit : z));
    }
}

/* Writes the normalised features of the open lanes of `s`, p->open[0], p->open[1], ..., as rows of
 * p->batch_obs. Returns their number. */
static size_t gather(ppo *p, const stepwise *s)
{
    size_t rows = 0;
    for (size_t i = 0; i < s->lanes; i++) {
        if (s->lane[i].open) {
            float *row = p->batch_obs + rows * s->obs;
            memcpy(row, s->lane[i].obs, s->obs * sizeof(float));
            normalise(p, row);
            p->open[rows++] = i;
        }
    }
    return rows;
}

/* Value of the present state of a lane. */
static double value_of(ppo *p, const stepwise_lane *l)
{
    memcpy(p->state, l->obs, p->train.obs * sizeof(float));
    normalise(p, p->state);
    return (double)actor_critic_value(&p->ac, 1, p->state)[0];
}

/* Draws the action of a lane, row `row` of the policy. Each episode has its own random numbers. */
static void draw(ppo *p, size_t lane, size_t row, const float *mean)
{
    size_t act = p->train.act, t = p->train.lane[lane].t;
    float *a = p->lane_action + lane * act, *map = p->map + lane * p->ac.latent * act;
    if (t == 0) {
        p->random[lane] = ds_random_open(p->kit.host->seed, "action", p->train.lane[lane].episode);
    }
    if (p->shape.sde && (t == 0 || p->updated || (p->sde_every > 0 && t % (size_t)p->sde_every == 0))) {
        actor_critic_draw_map(&p->ac, &p->random[lane], map);
    }
    for (size_t k = 0; k < act; k++) {
        double noise = p->shape.sde ? actor_critic_map_noise(&p->ac, row, k, map)
                                    : p->ac.deviation[row * act + k] * ds_random_normal(&p->random[lane]);
        a[k] = (float)((double)mean[row * act + k] + noise);
    }
}

/* ---- rollout ---- */

/* Records what the policy does in a lane. */
static void record_action(ppo *p, size_t lane, size_t row, const float *mean, double value)
{
    size_t act = p->train.act;
    const float *a = p->lane_action + lane * act;
    double density = gaussian_log_density(act, a, mean + row * act, p->ac.deviation + row * act,
                                          p->ac.ln_deviation + row * act);
    rollout_action(&p->rollout, lane, p->train.lane[lane].obs, a, density, value);
}

/* One step of all open lanes, recorded. */
static ds_status advance(ppo *p)
{
    stepwise *s = &p->train;
    const size_t rows = gather(p, s);
    const float *mean = actor_critic_policy(&p->ac, rows, p->batch_obs);
    const float *value = actor_critic_value(&p->ac, rows, p->batch_obs);
    for (size_t r = 0; r < rows; r++) {
        draw(p, p->open[r], r, mean);
        record_action(p, p->open[r], r, mean, (double)value[r]);
    }
    ds_status status = stepwise_step(s, p->lane_action);
    for (size_t r = 0; status == DS_OK && r < rows; r++) {
        const size_t i = p->open[r];
        const stepwise_lane *l = &s->lane[i];
        rollout_reward(&p->rollout, i, l->reward);
        if (l->ended) {
            rollout_close(&p->rollout, i, l->truncated ? value_of(p, l) : 0.0);
        }
    }
    return status;
}

/* Runs the policy for `episodes` whole episodes. */
static ds_status collect_episodes(ppo *p)
{
    stepwise *s = &p->train;
    uint64_t first = s->begun, wanted = (uint64_t)p->episodes;
    for (;;) {
        uint64_t before = s->begun;
        ds_status status = stepwise_begin(s, wanted - (s->begun - first), "rollout", p->update);
        for (size_t i = 0; i < s->lanes; i++) {
            if (s->lane[i].open && s->lane[i].t == 0 && s->lane[i].episode >= before) {
                rollout_place(&p->rollout, i, (size_t)(s->lane[i].episode - first) * s->horizon);
            }
        }
        if (status != DS_OK || stepwise_open(s) == 0) {
            return status;
        }
        status = advance(p);
        if (status != DS_OK) {
            return status;
        }
    }
}

/* Runs the policy for n_steps steps in each lane; episodes continue in the next rollout. */
static ds_status collect_steps(ppo *p)
{
    stepwise *s = &p->train;
    for (size_t i = 0; i < s->lanes; i++) {
        rollout_place(&p->rollout, i, i * (size_t)p->n_steps);
    }
    for (int64_t k = 0; k < p->n_steps; k++) {
        ds_status status = stepwise_begin(s, UINT64_MAX, "rollout", p->update);
        p->updated = k == 0;
        status = status != DS_OK ? status : advance(p);
        if (status != DS_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < s->lanes; i++) {
        if (s->lane[i].open && p->rollout.fill[i] > 0) {
            rollout_close(&p->rollout, i, value_of(p, &s->lane[i]));
        }
    }
    return DS_OK;
}

/* Rewards divided by the deviation of the running discounted return (CleanRL). */
static void scale_rewards(ppo *p)
{
    rollout *o = &p->rollout;
    double scale = p->common.reward_scale >= 0.0 ? p->common.reward_scale : stepwise_scale(&p->train);
    for (size_t i = 0; i < o->segments; i++) {
        double sum = 0.0;
        for (size_t t = 0; t < o->segment[i].length; t++) {
            double *r = &o->reward[o->segment[i].start + t];
            *r *= scale;
            if (p->normalise_reward) {
                sum = *r + p->common.gamma * sum;
                running_moments_add(&p->return_moments, sum);
            }
        }
    }
    double deviation = running_moments_deviation(&p->return_moments);
    for (size_t k = 0; p->normalise_reward && k < o->used; k++) {
        double *r = &o->reward[o->order[k]];
        *r = fmin(fmax(*r / deviation, -obs_limit), obs_limit);
    }
}

/* ---- learning ---- */

/* Learning rate of this update: falls linearly to 0 over the planned budget. */
static double learning_rate(const ppo *p)
{
    double steps = p->n_steps > 0 ? (double)p->n_steps * (double)p->train.lanes
                                  : (double)p->episodes * (double)p->train.horizon;
    double updates = ceil((double)p->kit.problem->budget * (double)p->train.horizon / steps);
    if (!p->anneal || p->kit.problem->budget == 0) {
        return p->lr;
    }
    return p->lr * fmax(1.0 - (double)p->update / updates, 1.0 / updates);
}

static size_t within(size_t least, size_t count, size_t most)
{
    return count < least ? least : (count > most ? most : count);
}

/* Steps of a minibatch where an update has `used` steps. */
static size_t minibatch_of(const ppo *p, size_t used)
{
    const size_t batches = within(1, used / LEAST_STEPS, EPOCH_BATCHES);
    return p->minibatch > 0 ? (size_t)p->minibatch : (used + batches - 1) / batches;
}

/* Minibatches of an update with `batches` of them in a pass. */
static size_t update_of(const ppo *p, size_t batches)
{
    return p->epochs > 0 ? (size_t)p->epochs * batches
                         : within(batches, UPDATE_BATCHES, MOST_EPOCHS * batches);
}

/* The minibatches of one update. */
static void improve(ppo *p)
{
    const double lr = learning_rate(p);
    const size_t used = p->rollout.used, size = minibatch_of(p, used),
                 batches = used > 0 ? (used + size - 1) / size : 0, count = update_of(p, batches);
    ds_random random = ds_random_open(p->kit.host->seed, "shuffle", p->update);
    for (size_t i = 0; i < count; i++) {
        if (i % batches == 0) {
            if (p->kit.host->should_stop(p->kit.host)) {
                return;
            }
            rollout_shuffle(&p->rollout, &random);
        }
        ppo_minibatch b = rollout_take(&p->rollout, i % batches * size, size);
        p->terms = ppo_loss(&p->ac, &p->loss, &b);
        if (p->target_kl > 0.0 && !(p->terms.kl <= kl_tolerance * p->target_kl)) {
            return;
        }
        double norm = float_length(p->ac.count, p->ac.g);
        double scale = p->grad_norm > 0.0 && norm > p->grad_norm ? p->grad_norm / norm : 1.0;
        if (isfinite(norm)) {
            float_adam_step(&p->adam, lr, scale, p->ac.g, p->ac.w);
        }
    }
}

/* Adds the observations of a rollout to the moments after the update: within a rollout the policy is
 * constant. */
static void normalise_rollout(ppo *p)
{
    size_t n = p->train.obs;
    for (size_t i = 0; p->normalise_obs && i < p->rollout.used; i++) {
        float *row = p->rollout.obs + p->rollout.order[i] * n;
        for (size_t k = 0; k < n; k++) {
            running_moments_add(&p->next_moments[k], (double)row[k]);
        }
        normalise(p, row);
    }
}

/* Advantages and epochs. */
static void learn(ppo *p)
{
    normalise_rollout(p);
    scale_rewards(p);
    rollout_estimate(&p->rollout, p->common.gamma, p->lambda);
    improve(p);
    use_moments(p, p->next_moments);
    p->update++;
}

/* ---- trials without noise ---- */

static void choose_mean(void *self, float *action)
{
    ppo *p = self;
    const size_t act = p->trial.act, rows = gather(p, &p->trial);
    const float *mean = actor_critic_policy(&p->ac, rows, p->batch_obs);
    for (size_t r = 0; r < rows; r++) {
        memcpy(action + p->open[r] * act, mean + r * act, act * sizeof(float));
    }
}

/* ---- saved state ---- */

static const ds_desc desc;

static policy_parts parts_of(const ppo *p)
{
    return (policy_parts){.method = desc.id,
                          .version = desc.version,
                          .net = &p->ac.policy,
                          .w = p->ac.w,
                          .squash = "clip",
                          .moments = p->normalise_obs ? p->moments : NULL,
                          .limit = obs_limit,
                          .log_std = p->ac.log_std,
                          .log_std_rows = p->shape.sde ? p->ac.latent : 1,
                          .noise = p->shape.sde ? "sde" : "plain"};
}

static void ppo_end(void *self)
{
    const ppo *p = self;
    const policy_parts parts = parts_of(p);
    rl_save_policy(&p->kit, "policy.npz", &parts, &p->train, &p->trial, 0, 0.0);
}

/* ---- run ---- */

static ds_status ppo_begin(void *self)
{
    ppo *p = self;
    size_t lanes = (size_t)(p->envs > 0 ? p->envs : p->n_steps > 0 ? 1 : p->episodes);
    ds_status status = rl_open(&p->common, &p->kit, lanes, &p->train, &p->trial);
    if (status != DS_OK) {
        return status;
    }
    const stepwise *s = &p->train;
    rl_warn_lanes(&p->kit, s, (size_t)p->envs);
    size_t most = s->lanes > p->trial.lanes ? s->lanes : p->trial.lanes;
    size_t rows = p->n_steps > 0 ? (size_t)p->n_steps * s->lanes : (size_t)p->episodes * s->horizon;
    size_t mini = minibatch_of(p, rows);
    mini = mini < 2 * LEAST_STEPS ? 2 * LEAST_STEPS : mini; /* fewer steps may have larger ones */
    mini = mini < rows ? mini : rows;
    p->shape.obs = s->obs;
    p->shape.act = s->act;
    ds_random random = ds_random_open(p->kit.host->seed, "init", 0);
    int ok = actor_critic_init(&p->ac, &p->shape, mini > most ? mini : most, &random) &&
             float_adam_init(&p->adam, p->ac.count, p->adam_eps) &&
             rollout_init(&p->rollout, rows, s->lanes, s->obs, s->act, mini);
    ds_memory *own = &p->kit.memory;
    p->moments = ds_memory_take(own, s->obs, sizeof *p->moments);
    p->next_moments = ds_memory_take(own, s->obs, sizeof *p->moments);
    p->deviation = ds_memory_doubles(own, s->obs);
    p->open = ds_memory_take(own, most, sizeof *p->open);
    p->random = ds_memory_take(own, most, sizeof *p->random);
    p->batch_obs = ds_memory_take(own, most * s->obs, sizeof(float));
    p->lane_action = ds_memory_take(own, most * s->act, sizeof(float));
    p->map = ds_memory_take(own, most * p->ac.latent * s->act, sizeof(float));
    p->state = ds_memory_take(own, s->obs, sizeof(float));
    if (!ok || own->failed) {
        return ds_host_fail(p->kit.host, DS_E_NOMEM,
                            "out of memory: lower episodes, n_steps, envs or hidden");
    }
    use_moments(p, p->next_moments);
    return DS_OK;
}

static ds_status report(ppo *p)
{
    static const char *const names[] = {"entropy", "value_loss", "policy_loss", "kl"};
    const double values[] = {p->terms.entropy, p->terms.value, p->terms.policy, p->terms.kl};
    return ds_evaluator_report(&p->kit.evaluator, 4, names, values, NULL);
}

static ds_status ppo_search(void *self)
{
    ppo *p = self;
    rollout_clear(&p->rollout);
    ds_status status = p->n_steps > 0 ? collect_steps(p) : collect_episodes(p);
    if (status != DS_OK) {
        return status;
    }
    learn(p);
    status = report(p);
    if (status != DS_OK) {
        return status;
    }
    const policy_parts parts = parts_of(p);
    return rl_try_policy(&p->common, &p->kit, &parts, &p->train, &p->trial, p->update, p->lane_action,
                         choose_mean, p);
}

/* ---- plugin ---- */

static void ppo_release(void *self)
{
    ppo *p = self;
    stepwise_free(&p->train);
    stepwise_free(&p->trial);
    actor_critic_free(&p->ac);
    float_adam_free(&p->adam);
    rollout_free(&p->rollout);
}

static void read_params(void *self, ds_param_reader *in)
{
    ppo *p = self;
    blas_use_one_thread();
    p->common = rl_read_settings(in);
    rl_hidden_layers(&p->common, &p->shape.hidden_count, p->shape.hidden, &p->shape.activation);
    p->shape.log_std = ds_param_real(in, "log_std");
    p->shape.sde = ds_param_int(in, "sde") != 0;
    p->sde_every = ds_param_int(in, "sde_every");
    p->common.look.range = ds_param_real(in, "action_range");
    p->envs = ds_param_int(in, "envs");
    p->episodes = ds_param_int(in, "episodes");
    p->n_steps = ds_param_int(in, "n_steps");
    p->minibatch = ds_param_int(in, "minibatch");
    p->epochs = ds_param_int(in, "epochs");
    p->lr = ds_param_real(in, "lr");
    p->anneal = ds_param_int(in, "anneal") != 0;
    p->adam_eps = ds_param_real(in, "adam_eps");
    p->lambda = ds_param_real(in, "lambda");
    p->loss.clip = ds_param_real(in, "clip");
    p->loss.clip_value = ds_param_real(in, "clip_value");
    p->loss.entropy = ds_param_real(in, "entropy");
    p->loss.value = ds_param_real(in, "value");
    p->loss.max_value_loss = ds_param_int(in, "value_loss") != 0;
    p->loss.normalise = ds_param_int(in, "normalise_advantage") != 0;
    p->grad_norm = ds_param_real(in, "grad_norm");
    p->target_kl = ds_param_real(in, "target_kl");
    p->normalise_obs = ds_param_int(in, "normalise_obs") != 0;
    p->normalise_reward = ds_param_int(in, "normalise_reward") != 0;
    if (in->status == DS_OK && p->shape.sde && p->shape.hidden_count == 0) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "sde = true needs a hidden layer: give hidden at least one width");
    }
}

static const char *const value_losses[] = {"squared", "half_max", NULL};

static const ds_param *const params[] = {
    DS_LIST("hidden", "64, 64", 1, 4096, MLP_MAX_LAYERS - 1, "",
            "Widths of the hidden layers of both networks."),
    DS_INT("episodes", "20", 1, 1e6, "", "Whole episodes per update, where n_steps = 0."),
    DS_INT("n_steps", "0", 0, 1e9, "",
           "Steps of every env per update; episodes continue across updates. 0 = `episodes` whole episodes."),
    DS_INT("envs", "0", 0, 1e4, "",
           "Episodes open at the same time, which --jobs can share; 0 = `episodes`, or 1 with n_steps."),
    DS_INT("minibatch", "0", 0, 1e9, "",
           "Steps per gradient; 0 = 1/96 of the steps of an update, at least 16."),
    DS_INT("epochs", "0", 0, 1e6, "",
           "Passes of an update through its steps; 0 = until it had 128 minibatches, 1 to 10."),
    DS_REAL("lr", "1.5e-3", 0, 1, "", "Learning rate of Adam."),
    DS_BOOL("anneal", "true", "Let the learning rate fall linearly to 0 over the planned budget."),
    DS_REAL("adam_eps", "1e-5", 0, 1, "", "Added to the root of the second moment."),
    RL_PARAMS("true", "tanh"),
    DS_REAL("lambda", "0.95", 0, 1, "", "Decay of generalised advantage estimation."),
    DS_REAL("clip", "0.2", 0, 1e6, "", "eps: largest rewarded change of the ratio of probabilities."),
    DS_REAL("clip_value", "0", 0, 1e9, "", "Largest change of the value function per update; 0 = no limit."),
    DS_REAL("entropy", "0", 0, 1e6, "", "Coefficient c_e of the entropy."),
    DS_REAL("value", "0.5", 0, 1e6, "", "Coefficient c_v of the value loss."),
    DS_ENUM("value_loss", "squared", value_losses,
            "squared = mean (V - R)^2 (Stable-Baselines3); half_max = half of it, with clip_value the larger "
            "of the clipped and the unclipped one (CleanRL)."),
    DS_BOOL("normalise_advantage", "true",
            "Normalise the advantages of each minibatch to mean 0 and standard deviation 1."),
    DS_REAL("grad_norm", "0.5", 0, 1e9, "", "Longest gradient of all weights together; 0 = no limit."),
    DS_REAL("target_kl", "0.05", 0, 1e9, "",
            "An update ends when the policy has moved further than 1.5 times this (mean of ratio - 1 - "
            "ln ratio); 0 = never."),
    DS_BOOL("normalise_obs", "true",
            "Normalise observations by running mean and deviation, clipped to +-10."),
    DS_BOOL("normalise_reward", "false",
            "Divide rewards by the deviation of their running discounted sum, clipped to +-10 (CleanRL)."),
    DS_REAL("log_std", "-0.5", -20, 2, "", "ln of the first standard deviation of the actions."),
    DS_REAL("action_range", "1", 1e-6, 1e6, "",
            "Half width of the box in the units of the policy: 1 = actions are in [-1, 1]."),
    DS_BOOL("sde", "false", "State-dependent exploration: noise that is smooth in time."),
    DS_INT("sde_every", "4", 0, 1e9, "", "Steps between new maps of that noise; 0 = one per episode."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("ppo", "0.5"),
    .flags = DS_OPT_USES_BUDGET,
    .needs = DS_OPT_IDS(DS_EXT_STEPS),
    .summary = "Proximal policy optimization (stepwise control)",
    .description = "Learns a control law from observations and rewards of every step, without gradients of "
                   "the simulation: a baseline of model-free reinforcement learning. Needs an environment "
                   "with ds.env.steps/1. Each episode costs one evaluation; the reported best is the best "
                   "episode, noise included.\nDefaults suit budgets of a thousand episodes; "
                   "docs/optimizers.md has the settings of Stable-Baselines3 and CleanRL.",
    .citation = "J. Schulman, F. Wolski, P. Dhariwal, A. Radford, O. Klimov: Proximal policy optimization "
                "algorithms. arXiv:1707.06347",
};

static const ds_opt_table table = {
    .size = sizeof(ppo),
    .read = read_params,
    .release = ppo_release,
    .begin = ppo_begin,
    .round = ppo_search,
    .end = ppo_end,
};

DS_OPT_KIT_DEFINE(table, desc)
