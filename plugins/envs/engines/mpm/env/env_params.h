/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the plasticine environments: from the host's values to an episode. */
#ifndef MPM_ENV_PARAMS_H
#define MPM_ENV_PARAMS_H

#include "instance.h"

#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>

/* Those of every task. */
extern const ds_param *const mpm_env_params[];

/* How to simulate, for environments with other parameters than these. */
extern const ds_param mpm_engine_param, mpm_precision_param, mpm_memory_param;
void mpm_env_read_engine(ds_param_reader *in, mpm_episode_spec *spec);

/* Numbers of a pose: 7, or 8 where the tool has a gap. */
uint64_t mpm_env_pose_size(const mpm_tool *tool);

/* Fills env->scene and env->episode from the host's parameters. */
ds_status mpm_env_configure(mpm_env *env, const mpm_task *task);

#endif
