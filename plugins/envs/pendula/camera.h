/* SPDX-License-Identifier: Apache-2.0 */
/* camera.h - double_pendulum before a camera, an environment of the kit (see camera.c). */
#ifndef DS_ENVS_PENDULA_CAMERA_H
#define DS_ENVS_PENDULA_CAMERA_H

#include <diffsim/helper/env_kit.h>

extern const ds_env_table camera_table;

#endif
