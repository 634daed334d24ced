/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - an environment instance from its creation to its end. */
#include "config.h"

#include "plugin/env.h"

#include <math.h>
#include <stdlib.h>

static int ask_bounds(ds_env *env, ds_error *e)
{
    uint64_t n = env->info.n;
    ds_status st = env->vt->bounds(env->self, n, env->lower, env->upper, env->x0);
    if (st != DS_OK) {
        return ds_services_fail(&env->services, e, "bounds()", st);
    }
    for (uint64_t i = 0; i < n; i++) {
        double lo = env->lower[i], hi = env->upper[i], x0 = env->x0[i];
        if (!(isfinite(lo) && isfinite(hi) && lo < hi)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: bounds of variable %llu are %g..%g: they must be finite and lower < upper",
                           env->module->id, (unsigned long long)i, lo, hi);
        }
        if (!(x0 >= lo && x0 <= hi)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: start point: variable %llu is %g, outside of its bounds %g..%g",
                           env->module->id, (unsigned long long)i, x0, lo, hi);
        }
    }
    return 0;
}

int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e)
{
    ds_env *env = calloc(1, sizeof *env);
    ds_params *params = NULL;
    int status;

    if (env == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    env->module = module;
    env->vt = &module->env;
    status = ds_params_make(module->plugin->desc->params, module->id, settings, DS_SECTION_ENV, &params, e);
    if (status != 0) {
        free(env);
        return status;
    }
    ds_services_init(&env->services, module, params, seed, threads, stop);
    ds_status st = env->vt->create(&env->services.host, &env->self);
    if (st != DS_OK || env->self == NULL) {
        status = st != DS_OK ? ds_services_fail(&env->services, e, "create()", st)
                             : ds_fail(e, DS_EXIT_PLUGIN, "%s: create() returned DS_OK without an instance",
                                       module->id);
        env->self = NULL;
        ds_env_close(env);
        return status;
    }
    env->info.struct_size = sizeof env->info;
    env->info.loss_floor = -INFINITY;
    st = env->vt->info(env->self, &env->info);
    if (st != DS_OK) {
        status = ds_services_fail(&env->services, e, "info()", st);
    } else if (env->info.n < 1 || env->info.n > (1u << 24)) {
        status = ds_fail(e, DS_EXIT_PLUGIN, "%s: info() says %llu variables, 1 to %u are possible",
                         module->id, (unsigned long long)env->info.n, 1u << 24);
    } else {
        env->lower = calloc(env->info.n, 3 * sizeof *env->lower);
        status = env->lower == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : 0;
    }
    if (status == 0) {
        env->upper = env->lower + env->info.n;
        env->x0 = env->upper + env->info.n;
        status = ask_bounds(env, e);
    }
    if (status == 0) {
        ds_env_ask_batch(env);
    }
    status = status != 0 ? status : ds_env_ask_residuals(env, e);
    status = status != 0 ? status : ds_env_ask_rl(env, e);
    if (status != 0) {
        ds_env_close(env);
        return status;
    }
    env->has_gradient =
        (module->plugin->desc->flags & DS_ENV_GRADIENT) != 0 && (env->info.flags & DS_INFO_NO_GRADIENT) == 0;
    *out = env;
    return 0;
}

void ds_env_close(ds_env *env)
{
    if (env == NULL) {
        return;
    }
    if (env->self != NULL) {
        env->vt->destroy(env->self);
    }
    ds_services_clear(&env->services);
    free(env->lower);
    free(env);
}

ds_env_facts ds_env_facts_of(const ds_env *env)
{
    return (ds_env_facts){.info = env->info,
                          .rl = env->rl_info,
                          .residuals = env->residual_count,
                          .has_gradient = env->has_gradient != 0,
                          .stochastic = (env->module->plugin->desc->flags & DS_ENV_STOCHASTIC) != 0,
                          .lower = env->lower,
                          .upper = env->upper,
                          .x0 = env->x0,
                          .params = env->services.params};
}
