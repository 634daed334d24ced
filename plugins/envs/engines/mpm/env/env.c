/* SPDX-License-Identifier: Apache-2.0 */
/* The environment interface on top of an episode. */
#include "env.h"

#include "env_scene.h"
#include "evaluate.h"

#include <diffsim/helper/fail.h>
#include <stdlib.h>
#include <string.h>

ds_status mpm_env_create(const mpm_task *task, const ds_host *host, void **out)
{
    mpm_env *env = calloc(1, sizeof *env);
    if (!env) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the environment");
    }
    env->host = host;
    ds_status status = mpm_env_configure(env, task);
    if (status != DS_OK) {
        mpm_env_destroy(env);
        return status;
    }
    env->episode.should_stop = mpm_env_should_stop;
    env->episode.stop_context = host;
    *out = env;
    return DS_OK;
}

void mpm_env_destroy(void *self)
{
    mpm_env *env = self;
    if (env) {
        mpm_recording_free(&env->recording);
        mpm_episode_free(&env->episode);
        free(env);
    }
}

ds_status mpm_env_info(void *self, ds_env_info *out)
{
    const mpm_env *env = self;
    const mpm_domain *domain = &env->episode.sim.domain;
    ds_env_info info = {0};
    info.struct_size = out->struct_size;
    info.n = mpm_episode_dim(&env->episode);
    info.steps = env->episode.steps;
    info.dt = domain->substeps * domain->dt;
    info.loss_floor = 0.0;
    memcpy(out, &info, out->struct_size < sizeof info ? out->struct_size : sizeof info);
    return DS_OK;
}

ds_status mpm_env_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const mpm_env *env = self;
    if (n != mpm_episode_dim(&env->episode)) {
        return ds_host_fail(env->host, DS_E_ARG, "bounds of %llu variables asked for, there are %u",
                            (unsigned long long)n, mpm_episode_dim(&env->episode));
    }
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1.0;
        upper[i] = 1.0;
        if (x0) {
            x0[i] = 0.0;
        }
    }
    return DS_OK;
}

ds_status mpm_env_evaluate(void *self, ds_eval *io)
{
    mpm_env *env = self;
    bool scene = (io->want & DS_WANT_SCENE) != 0;
    env->recording.frames = 0;
    if (scene) {
        ds_status status = mpm_recording_reserve(env);
        if (status != DS_OK) {
            return status;
        }
    }
    ds_status status = mpm_env_episode(&env->episode, env->host, io, scene ? mpm_recording_step : NULL, env);
    if (status != DS_OK) {
        env->recording.frames = 0;
    }
    return status;
}

const char *const mpm_env_extensions[] = {DS_EXT_SCENE, DS_EXT_RL, NULL};

const void *mpm_env_extension(void *self, const char *id)
{
    (void)self;
    if (strcmp(id, DS_EXT_RL) == 0) {
        return &mpm_env_rl;
    }
    return strcmp(id, DS_EXT_SCENE) == 0 ? &mpm_env_scene : NULL;
}
