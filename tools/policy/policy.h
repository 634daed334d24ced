/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - a policy that an optimizer has learned (policy.npz, docs/optimizers.md): read, tested, and
 * evaluated: observation in, action out. Networks are those of the optimizers in double precision. */
#ifndef DS_POLICY_POLICY_H
#define DS_POLICY_POLICY_H

#include <diffsim/helper/random.h>

#include "config/npy.h"
#include "config/settings.h"
#include "plugin/instance.h"

enum { DS_POLICY_LAYERS = 64 };

/* How the deviation of an action comes from the file. */
enum { DS_POLICY_PLAIN, DS_POLICY_SDE, DS_POLICY_CLAMP, DS_POLICY_TANH };

typedef struct ds_policy {
    char *path, *method, *method_version, *env, *env_version, *env_settings;
    uint64_t n_obs, n_act, evaluations;
    int time, relu, tanh_squash, noise;
    double clip, range;
    ds_array mean, variance; /* of the features: n_obs, and one for the time */
    ds_array lower, upper;   /* of actions: 1 row, or one for each step */
    uint64_t layers;
    ds_array weight[DS_POLICY_LAYERS], bias[DS_POLICY_LAYERS];
    ds_array log_std; /* empty where it is in the outputs */
    double *work;     /* input and output of a layer */
    uint64_t widest;  /* numbers of each */
} ds_policy;

/* Reads a file. DS_EXIT_CONFIG and one line where it is none, is damaged, lacks something or does not fit
 * together; the policy is to be freed in any case. */
int ds_policy_read(ds_policy *p, const char *path, ds_error *e);
/* The same of bytes of malloc(), which are taken over. */
int ds_policy_parse(ds_policy *p, void *data, size_t bytes, const char *name, ds_error *e);
void ds_policy_free(ds_policy *p);

/* Was it learned on this environment, and has that as many observations and actions as then? Else
 * DS_EXIT_CONFIG. */
int ds_policy_check(const ds_policy *p, const char *id, const ds_env_facts *env, ds_error *e);

/* The action (n_act values in the units of the environment) of step `step` (0, 1, ...) of `horizon` for an
 * observation of n_obs values: the mean, or, with `random`, drawn around it. */
void ds_policy_act(ds_policy *p, const double *obs, uint64_t step, uint64_t horizon, ds_random *random,
                   double *action);

#endif
