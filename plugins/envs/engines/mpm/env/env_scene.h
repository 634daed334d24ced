/* SPDX-License-Identifier: Apache-2.0 */
/* Scene extension of the plasticine environments: what is kept of an episode, and how it is drawn. */
#ifndef MPM_ENV_SCENE_H
#define MPM_ENV_SCENE_H

#include "instance.h"

#include <diffsim/ext/scene.h>

extern const ds_scene mpm_env_scene;
ds_status mpm_recording_reserve(mpm_env *env);
void mpm_recording_free(mpm_recording *recording);
mpm_step_hook mpm_recording_step; /* context: the mpm_env */

#endif
