/* SPDX-License-Identifier: Apache-2.0 */
/* motion.h - double_pendulum by its angles, an environment of the kit (see motion.c). */
#ifndef DS_ENVS_PENDULA_MOTION_H
#define DS_ENVS_PENDULA_MOTION_H

#include <diffsim/helper/env_kit.h>

extern const ds_env_table motion_table;

#endif
