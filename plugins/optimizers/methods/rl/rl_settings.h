/* SPDX-License-Identifier: Apache-2.0 */
/* rl_settings.h - parameters shared by the optimizers for stepwise control, and the lanes for training and
 * for trials. */
#ifndef DS_METHODS_RL_SETTINGS_H
#define DS_METHODS_RL_SETTINGS_H

#include "methods/rl/mlp.h"
#include "methods/rl/policy_file.h"
#include "methods/rl/stepwise.h"

#include <diffsim/helper/opt_kit.h>
#include <math.h>
#include <string.h>

/* Short episodes are not discounted where their end is the end of the task: a value that continues after it
 * would have no bound. */
enum { RL_SHORT_HORIZON = 10 };

static const char *const rl_activations[] = {"tanh", "relu", NULL};
static const char *const rl_ends[] = {"auto", "terminate", "truncate", NULL}; /* STEPWISE_* */

#define RL_PARAMS(time_, activation_)                                                                        \
    DS_LIST("gamma", "", 0, 1, 1, "",                                                                        \
            "Discount per step; empty = 1 for at most 10 control steps with an end of the task, else "       \
            "0.99."),                                                                                        \
        RL_OTHER_PARAMS(time_, activation_)

/* The same, where gamma is another. */
#define RL_OTHER_PARAMS(time_, activation_)                                                                  \
    DS_LIST("reward_scale", "", 0, 1e9, 1, "",                                                               \
            "Factor of the rewards; empty = 1/(largest - smallest loss of the first ten episodes), while "   \
            "these do not differ 1/(largest sum of rewards); shac always takes the latter."),                \
        DS_BOOL("time", time_,                                                                               \
                "Give the networks the time of the episode, 0 to 1, as a further observation."),             \
        DS_ENUM("end", "auto", rl_ends,                                                                      \
                "Meaning of the last step of an episode: auto = the environment decides; terminate = the "   \
                "end of the task; truncate = a mere time limit at the horizon, after which the value of "    \
                "the state counts."),                                                                        \
        DS_ENUM("activation", activation_, rl_activations, "Of the hidden layers."),                         \
        DS_INT("evaluate_every", "0", 0, 1e9, "",                                                            \
               "After each so many training episodes the policy is tried without noise; 0 = never. These "   \
               "episodes cost budget, too."),                                                                \
        DS_INT("evaluate_episodes", "20", 1, 1e6, "", "Episodes of one such trial."),                        \
        DS_OPT_START_PARAMS("false")

typedef struct rl_settings {
    stepwise_options look;
    size_t hidden_count, hidden[MLP_MAX_LAYERS - 1];
    int activation;             /* MLP_* */
    double gamma, reward_scale; /* negative = automatic; gamma until rl_open() */
    int64_t evaluate_every, evaluate_episodes;
    uint64_t next_trial, trials; /* finished episodes at the next trial; trials so far */
    double best_trial;           /* lowest mean loss of one; INFINITY before the first */
} rl_settings;

/* Value of a list parameter with at most one entry, or `automatic` where it is empty. */
static inline double rl_param_auto(ds_param_reader *in, const char *name, double automatic)
{
    uint64_t count;
    const double *v = ds_param_list(in, name, &count);
    return count > 0 ? v[0] : automatic;
}

/* Widths of the hidden layers; returns their number, 0 where the list is empty. */
static inline size_t rl_param_widths(ds_param_reader *in, const char *name, size_t hidden[MLP_MAX_LAYERS - 1])
{
    uint64_t count;
    const double *v = ds_param_list(in, name, &count);
    for (uint64_t i = 0; i < count && i < MLP_MAX_LAYERS - 1; i++) {
        hidden[i] = (size_t)v[i];
    }
    return (size_t)count;
}

/* Reads RL_PARAMS and `hidden`. */
static inline rl_settings rl_read_settings(ds_param_reader *in)
{
    rl_settings s = {.look.range = 1.0};
    s.look.time = ds_param_int(in, "time") != 0;
    s.look.end = (int)ds_param_int(in, "end");
    s.hidden_count = rl_param_widths(in, "hidden", s.hidden);
    s.activation = (int)ds_param_int(in, "activation");
    s.gamma = rl_param_auto(in, "gamma", -1.0);
    s.reward_scale = rl_param_auto(in, "reward_scale", -1.0);
    s.evaluate_every = ds_param_int(in, "evaluate_every");
    s.evaluate_episodes = ds_param_int(in, "evaluate_episodes");
    s.next_trial = (uint64_t)s.evaluate_every;
    s.best_trial = (double)INFINITY;
    return s;
}

/* The hidden layers of an optimizer's networks. */
static inline void rl_hidden_layers(const rl_settings *s, size_t *count, size_t *widths, int *activation)
{
    *count = s->hidden_count;
    memcpy(widths, s->hidden, sizeof s->hidden);
    *activation = s->activation;
}

/* Takes `lanes` lanes of the host for training and, where there are trials, more for these; chooses gamma.
 * DS_E_UNSUPPORTED or DS_E_NOMEM after host->error(). */
static inline ds_status rl_open(rl_settings *s, const ds_opt_kit *kit, size_t lanes, stepwise *train,
                                stepwise *trial)
{
    ds_evaluator_lanes host;
    ds_status status = ds_evaluator_lanes_open(&kit->evaluator, &host);
    if (status != DS_OK) {
        return status;
    }
    if (s->evaluate_every > 0 && host.count > 1 && lanes >= host.count) {
        lanes = host.count - 1; /* one is left for the trials */
    }
    status = stepwise_init(train, kit->problem, &host, 0, lanes, &s->look);
    if (status == DS_OK && s->evaluate_every > 0) {
        status =
            stepwise_init(trial, kit->problem, &host, train->lanes, (size_t)s->evaluate_episodes, &s->look);
    }
    if (status == DS_OK && s->gamma < 0.0) {
        s->gamma = train->horizon <= RL_SHORT_HORIZON && !stepwise_has_limit(train) ? 1.0 : 0.99;
    }
    return status;
}

/* Says where fewer episodes are open at a time than parameter `envs` wanted. */
static inline void rl_warn_lanes(const ds_opt_kit *kit, const stepwise *train, size_t wanted)
{
    if (train->lanes < wanted) {
        kit->host->log(kit->host, DS_LOG_WARNING,
                       "fewer episodes at a time than envs: the host has fewer lanes");
    }
}

/* Episodes that the budget planned at the first start leaves; any number where there is none, or it is used
 * up. Who learns while episodes are open begins no more at a time, so that a run that is extended goes
 * through the same steps again. */
static inline uint64_t rl_episodes_left(const ds_opt_kit *kit, const stepwise *train, const stepwise *trial)
{
    const uint64_t begun = train->begun + trial->begun + (kit->start.evaluated != 0),
                   planned = kit->problem->budget;
    return planned > begun ? planned - begun : planned == begun && stepwise_open(train) > 0 ? 0 : UINT64_MAX;
}

/* Leaves the policy in the folder of the run, as it is after the episodes so far. */
static inline void rl_save_policy(const ds_opt_kit *kit, const char *name, const policy_parts *parts,
                                  const stepwise *train, const stepwise *trial, uint64_t episodes,
                                  double loss)
{
    const policy_moment now = {train->finished + trial->finished, episodes, loss};
    policy_file_save(kit, name, parts, train, &now);
}

/* The policy of the best trial so far is left, too. */
static inline void rl_keep_best(rl_settings *s, const ds_opt_kit *kit, const policy_parts *parts,
                                const stepwise *train, const stepwise *trial)
{
    const uint64_t episodes = (uint64_t)s->evaluate_episodes;
    const double loss = trial->losses / (double)episodes;
    if (loss < s->best_trial) {
        s->best_trial = loss;
        rl_save_policy(kit, "policy_best.npz", parts, train, trial, episodes, loss);
    }
}

/* A trial without noise of the policy that `choose` follows and `parts` describes, where enough training
 * episodes are finished for one; `group` numbers it. */
static inline ds_status rl_try_policy(rl_settings *s, const ds_opt_kit *kit, const policy_parts *parts,
                                      const stepwise *train, stepwise *trial, uint64_t group, float *action,
                                      stepwise_policy choose, void *self)
{
    if (s->evaluate_every == 0 || train->finished < s->next_trial) {
        return DS_OK;
    }
    s->next_trial += (uint64_t)s->evaluate_every;
    s->trials++;
    ds_status status = stepwise_trial(trial, (uint64_t)s->evaluate_episodes, group, action, choose, self);
    if (status == DS_OK) {
        rl_keep_best(s, kit, parts, train, trial);
    }
    return status;
}

#endif
