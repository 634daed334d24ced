/* SPDX-License-Identifier: Apache-2.0 */
/* The scene of the plasticine environments, functions of their table: what is kept of an episode, and how it
 * is drawn. */
#ifndef MPM_ENV_SCENE_H
#define MPM_ENV_SCENE_H

#include "instance.h"

extern const ds_scene_kit_label mpm_env_metrics[];
void mpm_env_bodies(void *self, ds_scene_kit *s);
void mpm_env_place(const void *self, uint64_t k, uint64_t b, double *out);
/* The scene of an episode that diverges is kept up to there. */
ds_status mpm_env_simulate(void *self, ds_eval *io);

#endif
