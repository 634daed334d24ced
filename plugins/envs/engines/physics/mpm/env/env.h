/* SPDX-License-Identifier: Apache-2.0 */
/* What the plasticine environment plugins share: parameters, the functions of the environment interface and
 * the scene extension. A task file holds an mpm_task and a descriptor, and ends with MPM_DEFINE_ENV. */
#ifndef MPM_ENV_H
#define MPM_ENV_H

#include "env_params.h"
#include "env_scene.h"

/* The functions of a task's table; read() is mpm_env_configure() for the task. */
ds_status mpm_env_wire(void *self);
void mpm_env_release(void *self);
uint64_t mpm_env_hooks(const void *self, ds_hook *out);
void mpm_env_variable(const void *self, uint64_t i, ds_env_variable *out);
ds_status mpm_env_begin(void *self, uint64_t noise_key);
void mpm_env_observe(const void *self, double *obs);
ds_status mpm_env_act(void *self, uint64_t k, ds_step *io);
ds_status mpm_env_back_begin(void *self, uint64_t last);
ds_status mpm_env_back(void *self, ds_back *io);

/* Stepwise control, for the description of a task. */
#define MPM_STEPWISE_TEXT                                                                                    \
    "\nStepwise control: an action is the variables of a segment. Observations are PlasticineLab's: x, y, "  \
    "z "                                                                                                     \
    "and velocity of some particles (parameter observed), then position and quaternion of each tool, and "   \
    "the gap of chopsticks. Rewards: minus what the segment adds to the loss; with loss=final the decrease " \
    "of the loss of the state."

/* What the descriptors of PlasticineLab's tasks have in common. */
#define MPM_PLASTICINE_DESC(id_)                                                                             \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_ENV, .flags = DS_ENV_GRADIENT, .id = id_,                \
    .version = "0.2.1", .license = "Apache-2.0",                                                             \
    .citation = "Huang et al., PlasticineLab: A soft-body manipulation benchmark with differentiable "       \
                "physics, ICLR 2021",                                                                        \
    .params = mpm_env_params

/* Everything that a task's plugin needs besides its description. With MPM_TASKS_ONLY the description
 * alone, under a name of its own, for programs that know all tasks (tasks.h). */
#ifdef MPM_TASKS_ONLY
#define MPM_DEFINE_ENV(task_, desc_)                                                                         \
    extern const mpm_task *const mpm_task_##task_;                                                           \
    const mpm_task *const mpm_task_##task_ = &(task_);                                                       \
    extern const ds_desc *const mpm_desc_##task_;                                                            \
    const ds_desc *const mpm_desc_##task_ = &(desc_);
#else
#define MPM_DEFINE_ENV(task_, desc_)                                                                         \
    static void read_task(void *self, ds_param_reader *in)                                                   \
    {                                                                                                        \
        mpm_env_configure(self, &(task_), in);                                                               \
    }                                                                                                        \
    SIGHT_DEFINE_CHANNELS(mpm_env, image.sight)                                                              \
    static const ds_env_table task_table = {.size = sizeof(mpm_env),                                         \
                                            .advice = "",                                                    \
                                            .read = read_task,                                               \
                                            .hook_points = mpm_env_hooks,                                    \
                                            .allocate = mpm_env_wire,                                        \
                                            .release = mpm_env_release,                                      \
                                            .limit = 1,                                                      \
                                            .variable = mpm_env_variable,                                    \
                                            .simulate = mpm_env_simulate,                                    \
                                            .metrics = mpm_env_metrics,                                      \
                                            .bodies = mpm_env_bodies,                                        \
                                            .place = mpm_env_place,                                          \
                                            .begin = mpm_env_begin,                                          \
                                            .observe = mpm_env_observe,                                      \
                                            .act = mpm_env_act,                                              \
                                            .back_begin = mpm_env_back_begin,                                \
                                            .back = mpm_env_back,                                            \
                                            SIGHT_TABLE};                                                    \
    DS_ENV_KIT_DEFINE(task_table, desc_)
#endif

#endif
