/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the plasticine environments: from the host's values to an episode. */
#ifndef MPM_ENV_PARAMS_H
#define MPM_ENV_PARAMS_H

#include "instance.h"

/* Where the cameras of loss = image are: in front and above, and nearly on top. */
#define MPM_CAMERAS "0,25,0,0,65,90"

/* Those of every task. */
extern const ds_param *const mpm_env_params[];

/* How to simulate, for environments with other parameters than these. */
extern const ds_param mpm_engine_param, mpm_precision_param, mpm_memory_param;
void mpm_env_read_engine(ds_param_reader *in, mpm_episode_spec *spec);

/* Numbers of a pose: 7, or 8 where the tool has a gap. */
uint64_t mpm_env_pose_size(const mpm_tool *tool);

/* Particles 0, s, 2 s, ... are observed, with s = n / wanted as PlasticineLab has it. */
uint32_t mpm_env_stride(const mpm_env *env);
uint32_t mpm_env_observed(const mpm_env *env);

/* Fills env->scene, env->episode and env->kit from the host's parameters. */
void mpm_env_configure(mpm_env *env, const mpm_task *task, ds_param_reader *in);

#endif
