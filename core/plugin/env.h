/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - makes environment instances, with all that they offer beside evaluate(). */
#ifndef DS_PLUGIN_ENV_H
#define DS_PLUGIN_ENV_H

#include "plugin/env_residuals.h"
#include "plugin/env_rl.h"
#include "plugin/instance.h"

/* Makes an environment from section [env] of the settings, asks info and bounds and extensions and tests them. */
int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e);
void ds_env_close(ds_env *env);

/* What an instance says about itself, wherever it is. */
typedef struct ds_env_facts {
    ds_env_info info;
    ds_rl_info rl;      /* horizon 0 = no stepwise control */
    uint64_t residuals; /* their number; 0 = not offered */
    int has_gradient;
    int stochastic;
    const double *lower, *upper, *x0; /* info.n values each */
    const ds_params *params;
} ds_env_facts;

ds_env_facts ds_env_facts_of(const ds_env *env);

#endif
