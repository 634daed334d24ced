/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - a policy learned by an optimizer (policy.npz, docs/optimizers.md): reading, validation,
 * evaluation (observation to action), and playing episodes. The networks are those of the optimizers, in
 * double precision. */
#ifndef DS_POLICY_POLICY_H
#define DS_POLICY_POLICY_H

#include "config/npy.h"
#include "config/settings.h"
#include "evaluate/pool.h"
#include "plugin/instance.h"

#include <diffsim/helper/random.h>

enum { DS_POLICY_LAYERS = 64 };

/* Where the standard deviation of an action comes from. */
enum { DS_POLICY_PLAIN, DS_POLICY_SDE, DS_POLICY_CLAMP, DS_POLICY_TANH };

typedef struct ds_policy {
    char *path, *method, *method_version, *env, *env_version, *env_settings;
    uint64_t n_obs, n_act, evaluations;
    int time, relu, tanh_squash, noise;
    double clip, range;
    ds_array mean, variance; /* of the features: n_obs, and one for the time */
    ds_array lower, upper;   /* of actions: 1 row, or one per step */
    uint64_t layers;
    ds_array weight[DS_POLICY_LAYERS], bias[DS_POLICY_LAYERS];
    ds_array log_std; /* empty if it is among the outputs */
    double *work;     /* input and output of a layer */
    uint64_t widest;  /* numbers in each */
} ds_policy;

/* Reads a file. Fails with DS_EXIT_CONFIG if it is not a policy, damaged, incomplete or inconsistent; free
 * the policy in any case. */
int ds_policy_read(ds_policy *p, const char *path, ds_error *e);
/* The same from bytes of malloc(), which are owned from now on. */
int ds_policy_parse(ds_policy *p, void *data, size_t bytes, const char *name, ds_error *e);
void ds_policy_free(ds_policy *p);

/* Fails with DS_EXIT_CONFIG unless the policy was learned on this environment, with the same numbers of
 * observations and actions. */
int ds_policy_check(const ds_policy *p, const char *id, const ds_env_facts *env, ds_error *e);

/* The action (n_act values in units of the environment) of step `step` (0, 1, ...) of `horizon` for an
 * observation of n_obs values: the mean, or, with `random`, drawn around it. */
void ds_policy_act(ds_policy *p, const double *obs, uint64_t step, uint64_t horizon, ds_random *random,
                   double *action);

/* ---- episodes of an environment under a policy ---- */

/* One episode: its start and its result. */
typedef struct ds_played {
    uint64_t key;   /* noise key: start and noise of a stochastic environment; 0 = none */
    int stochastic; /* draw actions with random numbers of `seed` instead of using the mean */
    uint64_t seed;
    uint64_t steps;   /* taken */
    ds_answer answer; /* loss and outcome of the episode */
} ds_played;

/* Plays `count` episodes, one after the other, of an environment that ds_policy_check() has accepted. x (may
 * be NULL) receives the actions of the last one: n values; steps not taken keep those of the start point, as
 * in the record of a run. */
int ds_policy_play(ds_pool *pool, ds_policy *p, uint64_t count, ds_played *played, double *x, ds_error *e);

#endif
