/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - see diffsim/lib/environment.h. */
#include "config.h"

#include <diffsim/lib/environment.h>

#include <stdio.h>
#include <stdlib.h>

#include "embed/embed.h"
#include "plugin/needs.h"

struct ds_environment {
    ds_env *env;
    char message[300];
};

static int open_environment(ds_environment *e, const char *name, const char *lines, uint64_t seed,
                            uint32_t threads, ds_error *error)
{
    const ds_module *module = NULL;
    ds_settings settings = {0};
    int status = ds_embed_open(name, DS_KIND_ENV, lines, &module, &settings, error);
    status = status != 0 ? status
                         : ds_need_process(module->plugin->desc, "an environment of libdiffsim",
                                           "let dshost evaluate it", error);
    status = status != 0 ? status : ds_env_open(module, &settings, seed, threads, NULL, &e->env, error);
    ds_settings_clear(&settings);
    return status;
}

DS_EXPORT ds_environment *ds_environment_open(const char *environment, const char *settings, uint64_t seed,
                                              uint32_t threads, char *why, uint64_t size)
{
    ds_error error = {0, "out of memory"};
    ds_environment *e = calloc(1, sizeof *e);
    if (e == NULL || open_environment(e, environment, settings, seed, threads, &error) != 0) {
        ds_embed_say(&error, why, size);
        free(e);
        return NULL;
    }
    return e;
}

DS_EXPORT ds_status ds_environment_describe(const ds_environment *e, ds_environment_box *box)
{
    if (!DS_HAS(ds_environment_box, box, loss_floor)) {
        return DS_E_ARG;
    }
    box->has_gradient = (uint32_t)e->env->has_gradient;
    box->n = e->env->info.n;
    box->lower = e->env->lower;
    box->upper = e->env->upper;
    box->x0 = e->env->x0;
    box->loss_floor = e->env->info.loss_floor;
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_evaluate(ds_environment *e, const double *x, uint64_t noise_key,
                                            double *loss, double *grad, uint32_t *outcome)
{
    const ds_env *env = e->env;
    ds_answer answer = {0};
    e->message[0] = '\0';
    for (uint64_t i = 0; i < env->info.n; i++) {
        if (!(x[i] >= env->lower[i] && x[i] <= env->upper[i])) { /* also catches NaN */
            snprintf(e->message, sizeof e->message, "variable %llu is %g, outside of its bounds %g..%g",
                     (unsigned long long)i, x[i], env->lower[i], env->upper[i]);
            return DS_E_ARG;
        }
    }
    if (grad != NULL && !env->has_gradient) {
        snprintf(e->message, sizeof e->message, "%s has no gradient", env->module->id);
        return DS_E_UNSUPPORTED;
    }
    ds_status status = ds_env_evaluate(e->env, x, noise_key, grad != NULL ? DS_WANT_GRAD : 0, grad, &answer);
    *loss = answer.loss;
    if (outcome != NULL) {
        *outcome = answer.outcome;
    }
    if (answer.outcome != DS_EVAL_OK && answer.message[0] == '\0') {
        snprintf(e->message, sizeof e->message, "%s: %s at step %lld", env->module->id,
                 ds_outcome_name(answer.outcome), (long long)answer.bad_step);
    } else {
        snprintf(e->message, sizeof e->message, "%s", answer.message);
    }
    return status;
}

DS_EXPORT const char *ds_environment_message(const ds_environment *e)
{
    return e->message;
}

DS_EXPORT void ds_environment_close(ds_environment *e)
{
    if (e != NULL) {
        ds_env_close(e->env);
        free(e);
    }
}
