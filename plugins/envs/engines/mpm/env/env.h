/* SPDX-License-Identifier: Apache-2.0 */
/* What the plasticine environment plugins share: parameters, the functions of the environment interface and
 * the scene extension. A task file holds an mpm_task and a descriptor, and ends with MPM_DEFINE_ENV. */
#ifndef MPM_ENV_H
#define MPM_ENV_H

#include "env_params.h"
#include "env_rl.h"
#include "instance.h"

#include <diffsim/plugin.h>

ds_status mpm_env_create(const mpm_task *task, const ds_host *host, void **out);
void mpm_env_destroy(void *self);
ds_status mpm_env_info(void *self, ds_env_info *out);
ds_status mpm_env_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0);
ds_status mpm_env_evaluate(void *self, ds_eval *io);
const void *mpm_env_extension(void *self, const char *id);

/* The task of the plugin that this is linked into. */
const mpm_task *mpm_task_of_plugin(void);

/* The extensions of every task. */
extern const char *const mpm_env_extensions[];

/* What the descriptors of PlasticineLab's tasks have in common. */
#define MPM_PLASTICINE_DESC(id_)                                                                             \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_ENV, .flags = DS_ENV_GRADIENT, .id = id_,                \
    .version = "0.1.0", .license = "Apache-2.0",                                                             \
    .citation = "Huang et al., PlasticineLab: A soft-body manipulation benchmark with differentiable "       \
                "physics, ICLR 2021",                                                                        \
    .params = mpm_env_params, .extensions = mpm_env_extensions

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
    const mpm_task *mpm_task_of_plugin(void)                                                                 \
    {                                                                                                        \
        return &(task_);                                                                                     \
    }                                                                                                        \
    static ds_status create(const ds_host *host, void **out)                                                 \
    {                                                                                                        \
        return mpm_env_create(&(task_), host, out);                                                          \
    }                                                                                                        \
    static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),                               \
                                         .create = create,                                                   \
                                         .destroy = mpm_env_destroy,                                         \
                                         .info = mpm_env_info,                                               \
                                         .bounds = mpm_env_bounds,                                           \
                                         .evaluate = mpm_env_evaluate,                                       \
                                         .get_extension = mpm_env_extension};                                \
    DS_DEFINE_ENV(desc_, vtable)
#endif

#endif
