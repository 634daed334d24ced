/* SPDX-License-Identifier: Apache-2.0 */
/* ppo.c - proximal policy optimization: a stochastic policy is improved on the episodes it has just made, in
 * steps that change its probabilities by a bounded factor.
 *
 *     initialise policy pi and value function V
 *     for update = 1, 2, ...
 *         for env = 1 ... envs: run pi for some steps
 *         estimate advantages A and returns R (GAE)
 *         for epoch = 1 ... epochs, for each minibatch of the shuffled steps, by Adam:
 *             minimise -min(ratio A, clip(ratio, 1 - eps, 1 + eps) A) + c_v (V - R)^2 - c_e entropy
 *
 * Actions are drawn in [-1, 1]^m and cut to it before the step; the networks are those of
 * methods/actor_critic.h. Source: J. Schulman et al., arXiv:1707.06347, Algorithm 1.
 */
#include <diffsim/plugin.h>

#include "methods/actor_critic.h"
#include "methods/blas.h"
#include "methods/float_adam.h"
#include "methods/rl_params.h"
#include "methods/running_moments.h"
#include "methods/stepwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double obs_limit = 10.0; /* of normalised observations and rewards */
static const double kl_tolerance =
    1.5; /* an update ends where the divergence exceeds target_kl by this factor */

/* A stretch of one episode inside the rollout. */
typedef struct segment {
    size_t start, length;
    double last; /* value of the state behind it, 0 where the episode has ended */
} segment;

typedef struct ppo {
    const ds_host *host;
    const ds_problem *problem;
    /* parameters */
    actor_critic_shape shape;
    ppo_coefficients loss;
    stepwise_options look;
    int64_t envs, episodes, n_steps, minibatch, epochs, sde_every, evaluate_every, evaluate_episodes;
    double lr, adam_eps, gamma, lambda, grad_norm, target_kl, reward_scale;
    int anneal, normalise_obs, normalise_reward;
    /* state */
    stepwise train, trial;
    actor_critic ac;
    float_adam adam;
    running_moments *moments; /* of each feature, and what they are after this update */
    running_moments *next_moments;
    running_moments return_moments;
    uint64_t update;
    /* rollout: rows x ... */
    size_t rows, used;
    float *obs, *action;
    double *log_density, *reward, *value, *advantage, *target;
    segment *segment;
    size_t segments;
    size_t *block, *fill; /* per lane: where its rows begin, and how many there are in the open segment */
    size_t *order;        /* rows that are used, shuffled */
    /* per lane */
    float *batch_obs, *lane_action, *map;
    size_t *was_open;
    ds_random *random;
    /* minibatch */
    float *mini_obs, *mini_action;
    double *mini;
} ppo;

/* ---- acting ---- */

static void normalise(const ppo *p, float *row)
{
    for (size_t k = 0; p->normalise_obs && k < p->train.obs; k++) {
        row[k] = (float)running_moments_normal(&p->moments[k], (double)row[k], obs_limit);
    }
}

/* Features of all lanes of `s`, normalised, as rows of p->batch_obs. A lane without an episode has its row,
 * too: the last digits of a matrix product depend on the number of rows. */
static void gather(ppo *p, const stepwise *s)
{
    for (size_t i = 0; i < s->lanes; i++) {
        memcpy(p->batch_obs + i * s->obs, s->lane[i].obs, s->obs * sizeof(float));
        normalise(p, p->batch_obs + i * s->obs);
    }
}

/* Value of the present state of a lane. */
static double value_of(ppo *p, const stepwise_lane *l)
{
    memcpy(p->mini_obs, l->obs, p->train.obs * sizeof(float));
    normalise(p, p->mini_obs);
    return (double)actor_critic_value(&p->ac, 1, p->mini_obs)[0];
}

/* Draws the action of a lane. Each episode has random numbers of its own. */
static void draw(ppo *p, size_t lane, const float *mean)
{
    size_t act = p->train.act, t = p->train.lane[lane].t;
    float *a = p->lane_action + lane * act, *map = p->map + lane * p->ac.latent * act;
    if (t == 0) {
        p->random[lane] = ds_random_open(p->host->seed, "action", p->train.lane[lane].episode);
    }
    if (p->shape.sde && (t == 0 || (p->sde_every > 0 && t % (size_t)p->sde_every == 0))) {
        actor_critic_draw_map(&p->ac, &p->random[lane], map);
    }
    for (size_t k = 0; k < act; k++) {
        double noise = p->shape.sde ? actor_critic_map_noise(&p->ac, lane, k, map)
                                    : p->ac.deviation[lane * act + k] * ds_random_normal(&p->random[lane]);
        a[k] = (float)((double)mean[lane * act + k] + noise);
    }
}

/* ---- rollout ---- */

static void close_segment(ppo *p, size_t lane, double last)
{
    if (p->fill[lane] > 0) {
        p->segment[p->segments++] = (segment){p->block[lane], p->fill[lane], last};
        p->block[lane] += p->fill[lane];
        p->fill[lane] = 0;
    }
}

/* Where the next step of a lane is recorded. */
static size_t row_of(const ppo *p, size_t lane)
{
    return p->block[lane] + p->fill[lane];
}

/* What the policy does in a lane, recorded. */
static void record_action(ppo *p, size_t lane, const float *mean, double value)
{
    const stepwise *s = &p->train;
    size_t row = row_of(p, lane), act = s->act;
    const float *a = p->lane_action + lane * act;
    memcpy(p->obs + row * s->obs, s->lane[lane].obs, s->obs * sizeof(float));
    memcpy(p->action + row * act, a, act * sizeof(float));
    p->log_density[row] = gaussian_log_density(act, a, mean + lane * act, p->ac.deviation + lane * act);
    p->value[row] = value;
}

/* One step of all open lanes, recorded. */
static ds_status advance(ppo *p)
{
    stepwise *s = &p->train;
    gather(p, s);
    const float *mean = actor_critic_policy(&p->ac, s->lanes, p->batch_obs);
    const float *value = actor_critic_value(&p->ac, s->lanes, p->batch_obs);
    for (size_t i = 0; i < s->lanes; i++) {
        p->was_open[i] = s->lane[i].open != 0;
        if (p->was_open[i]) {
            draw(p, i, mean);
            record_action(p, i, mean, (double)value[i]);
        }
    }
    ds_status status = stepwise_step(s, p->lane_action);
    for (size_t i = 0; status == DS_OK && i < s->lanes; i++) {
        if (p->was_open[i]) {
            stepwise_lane *l = &s->lane[i];
            p->reward[row_of(p, i)] = l->reward;
            p->order[p->used++] = row_of(p, i);
            p->fill[i]++;
            if (l->ended) {
                close_segment(p, i, l->truncated ? value_of(p, l) : 0.0);
            }
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
                p->block[i] = (size_t)(s->lane[i].episode - first) * s->horizon;
                p->fill[i] = 0;
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

/* Runs the policy for n_steps steps in each lane; episodes go on in the next rollout. */
static ds_status collect_steps(ppo *p)
{
    stepwise *s = &p->train;
    for (size_t i = 0; i < s->lanes; i++) {
        p->block[i] = i * (size_t)p->n_steps;
        p->fill[i] = 0;
    }
    for (int64_t k = 0; k < p->n_steps; k++) {
        ds_status status = stepwise_begin(s, UINT64_MAX, "rollout", p->update);
        status = status == DS_OK ? advance(p) : status;
        if (status != DS_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < s->lanes; i++) {
        if (s->lane[i].open && p->fill[i] > 0) {
            close_segment(p, i, value_of(p, &s->lane[i]));
        }
    }
    return DS_OK;
}

/* Rewards divided by the deviation of the running discounted return (CleanRL). */
static void scale_rewards(ppo *p)
{
    double scale = p->reward_scale >= 0.0 ? p->reward_scale : stepwise_scale(&p->train);
    for (size_t i = 0; i < p->segments; i++) {
        double sum = 0.0;
        for (size_t t = 0; t < p->segment[i].length; t++) {
            double *r = &p->reward[p->segment[i].start + t];
            *r *= scale;
            if (p->normalise_reward) {
                sum = *r + p->gamma * sum;
                running_moments_add(&p->return_moments, sum);
            }
        }
    }
    double deviation = running_moments_deviation(&p->return_moments);
    for (size_t k = 0; p->normalise_reward && k < p->used; k++) {
        double *r = &p->reward[p->order[k]];
        *r = fmin(fmax(*r / deviation, -obs_limit), obs_limit);
    }
}

/* ---- learning ---- */

static void shuffle(size_t count, size_t *order, ds_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)ds_random_below(random, i), swap = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
}

static ppo_minibatch take_minibatch(ppo *p, const size_t *order, size_t count)
{
    size_t n = p->train.obs, m = p->train.act;
    double *density = p->mini, *advantage = density + count, *target = advantage + count,
           *value = target + count;
    for (size_t i = 0; i < count; i++) {
        size_t row = order[i];
        memcpy(p->mini_obs + i * n, p->obs + row * n, n * sizeof(float));
        memcpy(p->mini_action + i * m, p->action + row * m, m * sizeof(float));
        density[i] = p->log_density[row];
        advantage[i] = p->advantage[row];
        target[i] = p->target[row];
        value[i] = p->value[row];
    }
    return (ppo_minibatch){count, p->mini_obs, p->mini_action, density, advantage, target, value};
}

/* Learning rate of this update: falls linearly to 0 over the planned budget. */
static double learning_rate(const ppo *p)
{
    double steps = p->n_steps > 0 ? (double)p->n_steps * (double)p->train.lanes
                                  : (double)p->episodes * (double)p->train.horizon;
    double updates = ceil((double)p->problem->budget * (double)p->train.horizon / steps);
    if (!p->anneal || p->problem->budget == 0) {
        return p->lr;
    }
    return p->lr * fmax(1.0 - (double)p->update / updates, 1.0 / updates);
}

/* The epochs of one update. */
static void improve(ppo *p)
{
    double lr = learning_rate(p);
    size_t size = (size_t)p->minibatch;
    ds_random random = ds_random_open(p->host->seed, "shuffle", p->update);
    for (int64_t epoch = 0; epoch < p->epochs && !p->host->should_stop(p->host); epoch++) {
        shuffle(p->used, p->order, &random);
        for (size_t at = 0; at < p->used; at += size) {
            size_t count = p->used - at < size ? p->used - at : size;
            ppo_minibatch b = take_minibatch(p, p->order + at, count);
            ppo_terms t = ppo_loss(&p->ac, &p->loss, &b);
            if (p->target_kl > 0.0 && !(t.kl <= kl_tolerance * p->target_kl)) {
                return;
            }
            double norm = float_norm(p->ac.count, p->ac.g);
            double scale = p->grad_norm > 0.0 && norm > p->grad_norm ? p->grad_norm / norm : 1.0;
            if (isfinite(norm)) {
                float_adam_step(&p->adam, lr, scale, p->ac.g, p->ac.w);
            }
        }
    }
}

/* The observations of a rollout enter the moments when the update is over: within a rollout the policy is
 * constant. */
static void normalise_rollout(ppo *p)
{
    size_t n = p->train.obs;
    for (size_t i = 0; p->normalise_obs && i < p->used; i++) {
        float *row = p->obs + p->order[i] * n;
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
    for (size_t i = 0; i < p->segments; i++) {
        segment g = p->segment[i];
        advantage_estimate(g.length, p->reward + g.start, p->value + g.start, g.last, p->gamma, p->lambda,
                           p->advantage + g.start, p->target + g.start);
    }
    improve(p);
    memcpy(p->moments, p->next_moments, p->train.obs * sizeof *p->moments);
    p->update++;
}

/* ---- trials without noise ---- */

static void choose_mean(void *self, float *action)
{
    ppo *p = self;
    gather(p, &p->trial);
    const float *mean = actor_critic_policy(&p->ac, p->trial.lanes, p->batch_obs);
    memcpy(action, mean, p->trial.lanes * p->trial.act * sizeof(float));
}

/* ---- run ---- */

static ds_status prepare(ppo *p, const ds_objective *objective)
{
    size_t lanes = (size_t)(p->envs > 0 ? p->envs : p->n_steps > 0 ? 1 : p->episodes);
    ds_status status = stepwise_init(&p->train, p->host, p->problem, objective, 0, lanes, &p->look);
    if (status == DS_OK && p->evaluate_every > 0) {
        status = stepwise_init(&p->trial, p->host, p->problem, objective, p->train.lanes,
                               (size_t)p->evaluate_episodes, &p->look);
    }
    if (status != DS_OK) {
        return status;
    }
    const stepwise *s = &p->train;
    if (s->lanes < lanes && p->envs > 0) {
        p->host->log(p->host, DS_LOG_WARNING, "fewer episodes at a time than envs: the host has fewer lanes");
    }
    size_t most = s->lanes > p->trial.lanes ? s->lanes : p->trial.lanes;
    p->gamma = p->gamma >= 0.0 ? p->gamma : s->horizon <= RL_SHORT_HORIZON ? 1.0 : 0.99;
    p->rows = p->n_steps > 0 ? (size_t)p->n_steps * s->lanes : (size_t)p->episodes * s->horizon;
    size_t quarter = (size_t)p->episodes * s->horizon / 4;
    p->minibatch = p->minibatch > 0 ? p->minibatch : (int64_t)(quarter > 16 ? quarter : 16);
    size_t mini = (size_t)p->minibatch < p->rows ? (size_t)p->minibatch : p->rows;
    p->shape.obs = s->obs;
    p->shape.act = s->act;
    ds_random random = ds_random_open(p->host->seed, "init", 0);
    int ok = actor_critic_init(&p->ac, &p->shape, mini > most ? mini : most, &random) &&
             float_adam_init(&p->adam, p->ac.count, p->adam_eps);
    p->moments = calloc(2 * s->obs, sizeof *p->moments);
    p->obs = malloc((p->rows * (s->obs + s->act)) * sizeof(float));
    p->log_density = malloc(5 * p->rows * sizeof(double));
    p->segment = malloc((p->rows + s->lanes) * sizeof *p->segment);
    p->order = malloc((p->rows + 3 * most) * sizeof(size_t));
    p->batch_obs = malloc(
        (most * (s->obs + s->act + p->ac.latent * s->act) + (mini + 1) * (s->obs + s->act)) * sizeof(float));
    p->mini = malloc(4 * mini * sizeof(double));
    p->random = calloc(most, sizeof *p->random);
    if (!ok || !p->moments || !p->obs || !p->log_density || !p->segment || !p->order || !p->batch_obs ||
        !p->mini || !p->random) {
        p->host->error(p->host, DS_E_NOMEM, "out of memory: lower episodes, n_steps, envs or hidden");
        return DS_E_NOMEM;
    }
    p->next_moments = p->moments + s->obs;
    p->action = p->obs + p->rows * s->obs;
    p->reward = p->log_density + p->rows;
    p->value = p->reward + p->rows;
    p->advantage = p->value + p->rows;
    p->target = p->advantage + p->rows;
    p->block = p->order + p->rows;
    p->fill = p->block + most;
    p->was_open = p->fill + most;
    p->lane_action = p->batch_obs + most * s->obs;
    p->map = p->lane_action + most * s->act;
    p->mini_obs = p->map + most * p->ac.latent * s->act;
    p->mini_action = p->mini_obs + (mini + 1) * s->obs;
    return DS_OK;
}

static ds_status run(void *self, const ds_objective *objective)
{
    ppo *p = self;
    ds_status status = prepare(p, objective);
    uint64_t trial = (uint64_t)p->evaluate_every;
    while (status == DS_OK) {
        p->used = p->segments = 0;
        status = p->n_steps > 0 ? collect_steps(p) : collect_episodes(p);
        if (status != DS_OK) {
            return status;
        }
        learn(p);
        if (p->evaluate_every > 0 && p->train.finished >= trial) {
            trial += (uint64_t)p->evaluate_every;
            status = stepwise_trial(&p->trial, (uint64_t)p->evaluate_episodes, p->update, p->lane_action,
                                    choose_mean, p);
        }
    }
    return status;
}

/* ---- plugin ---- */

static void destroy(void *self)
{
    ppo *p = self;
    if (p) {
        stepwise_free(&p->train);
        stepwise_free(&p->trial);
        actor_critic_free(&p->ac);
        float_adam_free(&p->adam);
        free(p->moments);
        free(p->obs);
        free(p->log_density);
        free(p->segment);
        free(p->order);
        free(p->batch_obs);
        free(p->mini);
        free(p->random);
        free(p);
    }
}

static void read_params(ppo *p, param_reader *in)
{
    p->shape.hidden_count = rl_param_widths(in, "hidden", p->shape.hidden);
    p->shape.activation = (int)param_int(in, "activation");
    p->shape.log_std = param_real(in, "log_std");
    p->shape.sde = param_int(in, "sde") != 0;
    p->sde_every = param_int(in, "sde_every");
    p->look.time = param_int(in, "time") != 0;
    p->look.truncate = param_int(in, "end") != 0;
    p->look.range = param_real(in, "action_range");
    p->envs = param_int(in, "envs");
    p->episodes = param_int(in, "episodes");
    p->n_steps = param_int(in, "n_steps");
    p->minibatch = param_int(in, "minibatch");
    p->epochs = param_int(in, "epochs");
    p->lr = param_real(in, "lr");
    p->anneal = param_int(in, "anneal") != 0;
    p->adam_eps = param_real(in, "adam_eps");
    p->gamma = rl_param_auto(in, "gamma", -1.0);
    p->reward_scale = rl_param_auto(in, "reward_scale", -1.0);
    p->lambda = param_real(in, "lambda");
    p->loss.clip = param_real(in, "clip");
    p->loss.clip_value = param_real(in, "clip_value");
    p->loss.entropy = param_real(in, "entropy");
    p->loss.value = param_real(in, "value");
    p->loss.max_value_loss = param_int(in, "value_loss") != 0;
    p->loss.normalise = param_int(in, "normalise_advantage") != 0;
    p->grad_norm = param_real(in, "grad_norm");
    p->target_kl = param_real(in, "target_kl");
    p->normalise_obs = param_int(in, "normalise_obs") != 0;
    p->normalise_reward = param_int(in, "normalise_reward") != 0;
    p->evaluate_every = param_int(in, "evaluate_every");
    p->evaluate_episodes = param_int(in, "evaluate_episodes");
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    ppo *p = calloc(1, sizeof *p);
    if (!p) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    param_reader in = {host, DS_OK};
    p->host = host;
    p->problem = problem;
    read_params(p, &in);
    if (in.status == DS_OK && p->shape.sde && p->shape.hidden_count == 0) {
        in.status = DS_E_PARAM;
        host->error(host, DS_E_PARAM, "sde = true needs a hidden layer: give hidden at least one width");
    }
    if (in.status != DS_OK) {
        destroy(p);
        return in.status;
    }
    blas_use_one_thread();
    *out = p;
    return DS_OK;
}

static const char *const value_losses[] = {"squared", "half_max", NULL};

static const ds_param *const params[] = {
    DS_LIST("hidden", "64, 64", 1, 4096, MLP_MAX_LAYERS - 1, "",
            "Widths of the hidden layers of both networks."),
    DS_INT("episodes", "20", 1, 1e6, "", "Whole episodes per update, where n_steps = 0."),
    DS_INT("n_steps", "0", 0, 1e9, "",
           "Steps of every env per update; episodes go on across updates. 0 = `episodes` whole episodes."),
    DS_INT(
        "envs", "0", 0, 1e4, "",
        "Episodes that are open at a time, which is what --jobs can use; 0 = `episodes`, or 1 with n_steps."),
    DS_INT("minibatch", "0", 0, 1e9, "",
           "Steps per gradient; 0 = a quarter of `episodes` episodes, at least 16."),
    DS_INT("epochs", "10", 1, 1e6, "", "Times that an update goes through its steps."),
    DS_REAL("lr", "1e-3", 0, 1, "", "Learning rate of Adam."),
    DS_BOOL("anneal", "true", "Let the learning rate fall linearly to 0 over the planned budget."),
    DS_REAL("adam_eps", "1e-5", 0, 1, "", "Added to the root of the second moment."),
    RL_PARAMS("true", "tanh"),
    DS_REAL("lambda", "0.95", 0, 1, "", "Decay of generalised advantage estimation."),
    DS_REAL("clip", "0.2", 0, 1e6, "", "eps: largest change of the ratio of probabilities that is rewarded."),
    DS_REAL("clip_value", "0", 0, 1e9, "", "Largest change of the value function per update; 0 = none."),
    DS_REAL("entropy", "0", 0, 1e6, "", "Coefficient c_e of the entropy."),
    DS_REAL("value", "0.5", 0, 1e6, "", "Coefficient c_v of the value loss."),
    DS_ENUM("value_loss", "squared", value_losses,
            "squared = mean (V - R)^2 (Stable-Baselines3); half_max = half of it, with clip_value the larger "
            "of the "
            "clipped and the plain one (CleanRL)."),
    DS_BOOL("normalise_advantage", "true",
            "Advantages of each minibatch get mean 0 and standard deviation 1."),
    DS_REAL("grad_norm", "0.5", 0, 1e9, "", "Longest gradient, all weights together; 0 = any."),
    DS_REAL("target_kl", "0.05", 0, 1e9, "",
            "An update ends when the policy has moved further than 1.5 times this (mean of ratio - 1 - ln "
            "ratio); 0 = "
            "never."),
    DS_BOOL("normalise_obs", "true", "Observations minus their mean, over their deviation, cut to +-10."),
    DS_BOOL("normalise_reward", "false",
            "Rewards divided by the deviation of their running discounted sum, cut to +-10 (CleanRL)."),
    DS_REAL("log_std", "-0.5", -20, 2, "", "ln of the first standard deviation of the actions."),
    DS_REAL("action_range", "1", 1e-6, 1e6, "",
            "Half width of the box in the units of the policy: 1 = actions are in [-1, 1]."),
    DS_BOOL("sde", "false", "State-dependent exploration: noise that is smooth in time."),
    DS_INT("sde_every", "4", 0, 1e9, "", "Steps between new maps of that noise; 0 = one per episode."),
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_BUDGET | DS_OPT_NEEDS_RL,
    .id = "ppo",
    .version = "0.1",
    .license = "Apache-2.0",
    .summary = "Proximal policy optimization (stepwise control)",
    .description = "Learns a control law from observations and rewards of every step, without gradients of "
                   "the simulation: a "
                   "baseline of model-free reinforcement learning. Needs an environment with ds.env.rl/1. "
                   "Each episode costs "
                   "one evaluation; what is reported as best is the best episode, noise included.\n"
                   "Defaults suit budgets of a thousand episodes; docs/optimizers.md has the settings of "
                   "Stable-Baselines3 and "
                   "CleanRL.",
    .citation = "J. Schulman, F. Wolski, P. Dhariwal, A. Radford, O. Klimov: Proximal policy optimization "
                "algorithms. "
                "arXiv:1707.06347",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = create,
    .destroy = destroy,
    .run = run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
