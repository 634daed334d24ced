/* SPDX-License-Identifier: Apache-2.0 */
/* methods/rl_params.h - parameters that the optimizers for stepwise control share. */
#ifndef DS_METHODS_RL_PARAMS_H
#define DS_METHODS_RL_PARAMS_H

#include "mlp.h"
#include "params.h"
#include "stepwise.h"

#include <math.h>

/* Short episodes are not discounted. */
enum { RL_SHORT_HORIZON = 10 };

static const char *const rl_activations[] = {"tanh", "relu", NULL};
static const char *const rl_ends[] = {"terminate", "truncate", NULL};

#define RL_PARAMS(time_, activation_)                                                                        \
    DS_LIST("gamma", "", 0, 1, 1, "",                                                                        \
            "Discount per step; empty = 1 for at most 10 control steps, else 0.99."),                        \
        DS_LIST("reward_scale", "", 0, 1e9, 1, "",                                                           \
                "Factor of the rewards; empty = 1/(largest - smallest loss of the first ten episodes), "     \
                "between 1e-3 "                                                                              \
                "and 1e3."),                                                                                 \
        DS_BOOL("time", time_,                                                                               \
                "Give the networks the time of the episode, 0 to 1, as a further observation."),             \
        DS_ENUM("end", "terminate", rl_ends,                                                                 \
                "What the last step of an episode is: terminate = the end of the task; truncate = a mere "   \
                "time limit, "                                                                               \
                "behind which the value of the state counts."),                                              \
        DS_ENUM("activation", activation_, rl_activations, "Of the hidden layers."),                         \
        DS_INT("evaluate_every", "0", 0, 1e9, "",                                                            \
               "After so many training episodes the policy is tried without noise; 0 = never. These "        \
               "episodes cost "                                                                              \
               "budget, too."),                                                                              \
        DS_INT("evaluate_episodes", "20", 1, 1e6, "", "Episodes of one such trial.")

/* Value of a list parameter with at most one entry, or `automatic` where it is empty. */
static inline double rl_param_auto(param_reader *in, const char *name, double automatic)
{
    const double *v = NULL;
    uint64_t count = 0;
    ds_status status = in->host->get_list(in->host, name, &v, &count);
    if (status != DS_OK) {
        param_failed(in, status, name);
        return automatic;
    }
    return count > 0 ? v[0] : automatic;
}

/* Widths of the hidden layers; returns their number, 0 where the list is empty. */
static inline size_t rl_param_widths(param_reader *in, const char *name, size_t hidden[MLP_MAX_LAYERS - 1])
{
    const double *v = NULL;
    uint64_t count = 0;
    ds_status status = in->host->get_list(in->host, name, &v, &count);
    if (status != DS_OK) {
        param_failed(in, status, name);
        return 0;
    }
    for (uint64_t i = 0; i < count && i < MLP_MAX_LAYERS - 1; i++) {
        hidden[i] = (size_t)v[i];
    }
    return (size_t)count;
}

#endif
