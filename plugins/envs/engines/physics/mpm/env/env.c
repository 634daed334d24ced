/* SPDX-License-Identifier: Apache-2.0 */
/* Stepwise control of the plasticine environments, with the observations of PlasticineLab (Huang et al. 2021,
 * envs/env.py): some of the particles, and the tools. */
#include "env.h"

#include "engines/kit/algebra/mat3.h"
#include "stepwise.h"
#include "sweep.h"

#include <string.h>

uint64_t mpm_env_hooks(const void *self, ds_hook *out)
{
    (void)self;
    return mpm_net_hooks(out);
}

ds_status mpm_env_wire(void *self)
{
    mpm_env *env = self;
    mpm_sim *sim = &env->episode.sim;
    if (env->kit.hybrid.nets == 0) {
        return DS_OK;
    }
    if (!mpm_net_open(&env->net, &env->kit.hybrid, env->scene.yield_stress, sim->phases[0].material.mu,
                      &env->kit.memory)) {
        return ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory for the networks of residual");
    }
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        sim->phases[k].material.yield = &env->net.yield;
    }
    return DS_OK;
}

void mpm_env_release(void *self)
{
    mpm_env *env = self;
    mpm_episode_free(&env->episode);
    sight_close(&env->image.sight);
}

ds_status mpm_env_begin(void *self, uint64_t noise_key)
{
    mpm_env *env = self;
    (void)noise_key;
    return mpm_stepwise_reset(&env->episode, env->kit.host, env->kit.n_obs);
}

void mpm_env_observe(const void *self, double *obs)
{
    const mpm_env *env = self;
    const mpm_pose *poses = mpm_stepwise_poses(&env->episode);
    for (uint32_t i = 0; i < mpm_env_observed(env); i++) {
        const mpm_particle *particle = &env->episode.now[(size_t)i * mpm_env_stride(env)];
        memcpy(obs, particle->x, sizeof particle->x);
        memcpy(obs + 3, particle->v, sizeof particle->v);
        obs += 6;
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        memcpy(obs, poses[t].position, sizeof poses[t].position);
        memcpy(obs + 3, poses[t].rotation, sizeof poses[t].rotation);
        uint64_t size = mpm_env_pose_size(&env->scene.tools[t]);
        if (size == 8) {
            obs[7] = poses[t].gap;
        }
        obs += size;
    }
}

/* mpm_env_observe() backwards. */
static void observe_adjoint(const void *self, const double *obs_bar, mpm_particle *bar, mpm_pose *poses_bar)
{
    const mpm_env *env = self;
    for (uint32_t i = 0; i < mpm_env_observed(env); i++, obs_bar += 6) {
        mpm_particle *particle = &bar[(size_t)i * mpm_env_stride(env)];
        vec3_add_scaled(particle->x, 1.0, obs_bar);
        vec3_add_scaled(particle->v, 1.0, obs_bar + 3);
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        uint64_t size = mpm_env_pose_size(&env->scene.tools[t]);
        vec3_add_scaled(poses_bar[t].position, 1.0, obs_bar);
        for (int d = 0; d < 4; d++) {
            poses_bar[t].rotation[d] += obs_bar[3 + d];
        }
        poses_bar[t].gap += size == 8 ? obs_bar[7] : 0.0;
        obs_bar += size;
    }
}

ds_status mpm_env_back_begin(void *self, uint64_t last)
{
    mpm_env *env = self;
    return mpm_sweep_begin(&env->episode, env->kit.host, last);
}

ds_status mpm_env_back(void *self, ds_back *io)
{
    mpm_env *env = self;
    return mpm_sweep_back(&env->episode, env->kit.host, io, observe_adjoint, env);
}

ds_status mpm_env_act(void *self, uint64_t k, ds_step *io)
{
    mpm_env *env = self;
    (void)k;
    return mpm_stepwise_act(&env->episode, env->kit.host, io);
}
