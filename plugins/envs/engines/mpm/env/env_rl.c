/* SPDX-License-Identifier: Apache-2.0 */
/* Stepwise control of the plasticine environments, with the observations of PlasticineLab (Huang et al. 2021,
 * envs/env.py): some of the particles, and the tools. */
#include "env_rl.h"

#include "env_params.h"
#include "stepwise.h"

#include <string.h>

/* Particles 0, s, 2 s, ... are observed, with s = n / wanted as PlasticineLab has it. */
static uint32_t stride_of(const mpm_env *env)
{
    uint32_t n = env->episode.sim.n_particles, wanted = env->observed_asked;
    return n < wanted || wanted == 0 ? 1 : n / wanted;
}

static uint32_t observed(const mpm_env *env)
{
    uint32_t n = env->episode.sim.n_particles, stride = stride_of(env);
    return env->observed_asked == 0 ? 0 : (n + stride - 1) / stride;
}

static ds_status rl_info(void *self, ds_rl_info *out)
{
    const mpm_env *env = self;
    const mpm_domain *domain = &env->episode.sim.domain;
    out->horizon = env->episode.segments;
    out->n_act = env->episode.action_dim;
    out->n_obs = 6 * (uint64_t)observed(env);
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        out->n_obs += mpm_env_pose_size(&env->scene.tools[t]);
    }
    out->dt = domain->substeps * domain->dt * env->episode.steps / env->episode.segments;
    return DS_OK;
}

static void observe(const mpm_env *env, double *obs)
{
    const mpm_pose *poses = mpm_stepwise_poses(&env->episode);
    for (uint32_t i = 0; i < observed(env); i++) {
        const mpm_particle *particle = &env->episode.now[(size_t)i * stride_of(env)];
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

static ds_status rl_reset(void *self, uint64_t noise_key, double *obs)
{
    mpm_env *env = self;
    (void)noise_key;
    env->recording.frames = 0;
    ds_status status = mpm_stepwise_reset(&env->episode, env->host);
    if (status == DS_OK) {
        observe(env, obs);
    }
    return status;
}

static ds_status rl_step(void *self, ds_rl_step *io)
{
    mpm_env *env = self;
    ds_status status = mpm_stepwise_act(&env->episode, env->host, io);
    if (status == DS_OK && io->outcome == DS_EVAL_OK) {
        observe(env, io->obs);
    }
    return status;
}

const ds_rl mpm_env_rl = {.struct_size = sizeof(ds_rl), .info = rl_info, .reset = rl_reset, .step = rl_step};
