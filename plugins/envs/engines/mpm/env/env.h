/* SPDX-License-Identifier: Apache-2.0 */
/* What the plasticine environment plugins share: parameters, the functions of the environment interface and
 * the scene extension. A task file holds an mpm_task and a descriptor, and ends with MPM_DEFINE_ENV. */
#ifndef MPM_ENV_H
#define MPM_ENV_H

#include "episode.h"
#include "target.h"

#include <diffsim/ext/rl.h>
#include <diffsim/ext/scene.h>
#include <diffsim/plugin.h>

typedef struct mpm_task {
    mpm_scene scene;
    /* Changes the scene for variant 1..5, where more than the target differs; may be NULL. */
    void (*vary)(mpm_scene *scene, uint32_t variant);
    /* The built-in targets: the actions that make them,
     * [MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][action_dim], and the file beside the plugin that holds
     * the results; or, where that is NULL, where the particles go. */
    const double *moves;
    const char *target_file;
    mpm_place *place;
} mpm_task;

/* Frames and metrics of the last episode. */
typedef struct mpm_recording {
    uint64_t frames;       /* kept so far; 0 = none */
    double *positions;     /* [frames][particles][3] */
    mpm_pose *poses;       /* [frames][tools] */
    double *metrics;       /* [MPM_METRICS][steps + 1] */
    double *target_points; /* [target_count][3] */
    uint64_t target_count;
} mpm_recording;

enum { MPM_METRICS = 10 };

typedef struct mpm_env {
    const ds_host *host;
    mpm_scene scene; /* the task's, for this variant */
    mpm_episode episode;
    uint32_t particles_asked; /* parameter `particles` */
    uint32_t observed_asked;  /* parameter `observed` */
    mpm_recording recording;
} mpm_env;

ds_status mpm_env_create(const mpm_task *task, const ds_host *host, void **out);
void mpm_env_destroy(void *self);
ds_status mpm_env_info(void *self, ds_env_info *out);
ds_status mpm_env_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0);
ds_status mpm_env_evaluate(void *self, ds_eval *io);
const void *mpm_env_extension(void *self, const char *id);

/* One evaluation as an episode: sets all that io returns. hook and context: see mpm_episode_run(). */
ds_status mpm_env_episode(mpm_episode *e, const ds_host *host, ds_eval *io, mpm_step_hook *hook,
                          void *context);
bool mpm_env_finite(uint64_t n, const double *values);
/* Whether the host wants the episode to end; context: the ds_host. */
uint32_t mpm_env_should_stop(const void *context);

/* env_params.c: how to simulate, for environments with other parameters than these. */
extern const ds_param mpm_engine_param, mpm_precision_param, mpm_memory_param;
ds_status mpm_env_read_engine(const ds_host *host, mpm_episode_spec *spec);

/* env_params.c: numbers of a pose: 7, or 8 where the tool has a gap. */
uint64_t mpm_env_pose_size(const mpm_tool *tool);

/* env_params.c: fills env->scene and env->episode from the host's parameters. */
ds_status mpm_env_configure(mpm_env *env, const mpm_task *task);

/* One error line; returns `status`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
ds_status
mpm_env_fail(const ds_host *host, ds_status status, const char *format, ...);

/* env_scene.c */
extern const ds_scene mpm_env_scene;
ds_status mpm_recording_reserve(mpm_env *env);
void mpm_recording_free(mpm_recording *recording);
mpm_step_hook mpm_recording_step; /* context: the mpm_env */

/* env_rl.c */
extern const ds_rl mpm_env_rl;

/* The task of the plugin that this is linked into. */
const mpm_task *mpm_task_of_plugin(void);

/* The parameters and extensions of every task. */
extern const ds_param *const mpm_env_params[];
extern const char *const mpm_env_extensions[];

/* Stepwise control, for the description of a task. */
#define MPM_STEPWISE_TEXT                                                                                    \
    "\nStepwise control: an action is the variables of a segment. Observations are PlasticineLab's: x, y, "  \
    "z "                                                                                                     \
    "and velocity of some particles (parameter observed), then position and quaternion of each tool, and "   \
    "the "                                                                                                   \
    "gap of chopsticks. Rewards: minus what the segment adds to the loss; with loss=final the decrease of "  \
    "the "                                                                                                   \
    "loss of the state."

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
