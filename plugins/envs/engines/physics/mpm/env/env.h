/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - shared code of the plasticine environment plugins: instances, parameters, and the functions of the
 * environment interface. A task file holds an mpm_task and a descriptor, and ends with MPM_DEFINE_ENV. */
#ifndef MPM_ENV_H
#define MPM_ENV_H

#include "engines/physics/mpm/env/episode.h"
#include "engines/physics/mpm/env/terms.h"
#include "engines/physics/mpm/env/variables.h"
#include "engines/physics/mpm/sim/material.h"
#include "engines/physics/mpm/sim/target.h"
#include "engines/rendering/observation/comparison.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <stdbool.h>

/* ---- loss = image ---- */

typedef struct mpm_image {
    image_loss image_loss;
    uint32_t first, count; /* the observed particles */
    uint32_t shown;        /* step of the last drawn state */
} mpm_image;

/* Sets the loss of an episode in these modes; does nothing unless image_loss.wanted is set. `image` must
 * outlive the episode. */
void mpm_image_goal(mpm_image *image, mpm_goal *goal, mpm_episode_spec *spec);

/* Prepares particles first .. first + count - 1 of an episode that exists, and its target, a cloud of points.
 * Sets image_loss.radius if it is 0. Reports failures to the host. */
ds_status mpm_image_open(mpm_image *image, const mpm_episode *e, uint32_t first, uint32_t count,
                         image_loss_points target, const ds_host *host);

/* ---- network in the yield stress ----
 *
 * A network in the yield stress of the plasticine: hook points and the callbacks of the simulation.
 * Source of the wiring: E. Heiden et al., "NeuralSim", ICRA 2021; its place is our choice. */

typedef struct mpm_net {
    mpm_yield yield; /* for mpm_material.yield */
    const ds_hybrid *hybrid;
    double stress, mu; /* Pa, of the scene */
    const double *weights;
    double *tape;  /* [MPM_PARTS][hybrid->tape] */
    double *w_bar; /* [MPM_PARTS][hybrid->variables] */
} mpm_net;

/* ---- instances ---- */

typedef struct mpm_task {
    mpm_scene scene;
    /* Changes the scene for variant 1..5 if more than the target differs; may be NULL. */
    void (*vary)(mpm_scene *scene, uint32_t variant);
    /* The built-in targets: the actions that make them, [MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][action_dim],
     * and the file next to the plugin that holds the results; or, if that is NULL, the aims of the bodies. */
    const double *moves;
    const char *target_file;
    /* Set by scene files: the path of a file of targets instead of target_file, a density with n nodes along
     * each axis, or bodies that fill the target. */
    const char *target_path;
    const double *density;
    int n;
    const mpm_scene *shapes;
    bool no_target;
    mpm_terms terms; /* of the loss */
    /* A space of its own, in place of a preset; NULL: a preset. */
    const mpm_domain *domain;
    uint32_t motion; /* MPM_MOTION_* */
    bool velocity;   /* actions are velocities, m/s and rad/s, up to the `scale` of the tools */
    uint32_t n_variables;
    mpm_variable variables[MPM_MAX_VARIABLES];
    /* Names of bodies and tools; NULL: the engine's own. */
    const char *body_names[MPM_MAX_BODIES], *tool_names[MPM_MAX_TOOLS];
} mpm_task;

/* What a user decides about an episode of a task. */
typedef struct mpm_choices {
    uint32_t variant, steps, segments, loss;
    double softness, weight_density, weight_sdf, weight_contact;
    bool soft_contact;
    const ds_host *cameras; /* gives mpm_image_params; NULL: the environment's host */
} mpm_choices;

typedef struct mpm_env {
    ds_env_kit kit; /* first */
    const mpm_task *task;
    mpm_scene scene; /* the task's scene, for this variant */
    mpm_episode episode;
    mpm_image image; /* loss = image */
    mpm_terms_run terms;
    mpm_net net;              /* a network in the yield stress, if wired */
    mpm_variables variables;  /* of the task */
    uint32_t particles_asked; /* parameter `particles` */
    uint32_t observed_asked;  /* parameter `observed` */
    bool outline;             /* the scene also shows the bounds of the tools, as lines */
    char outline_name[MPM_MAX_TOOLS][DS_MAX_NAME + 8];
    /* Drawn data of the last episode, if a scene is wanted. */
    double *positions;     /* [steps + 1][particles][3] */
    mpm_pose *poses;       /* [steps + 1][tools] */
    double *target_points; /* as many as the last body, the target, counts */
} mpm_env;

/* ---- parameters ---- */

/* Cameras of loss = image: in front and above, and nearly on top. */
#define MPM_CAMERAS "0,25,0,0,65,90"

/* The parameters of loss = image; every task has them. */
extern const ds_param *const mpm_image_params[];

/* The parameters of every task. */
extern const ds_param *const mpm_env_params[];

/* Simulation parameters, for environments with other parameters than these. */
extern const ds_param mpm_engine_param, mpm_precision_param, mpm_memory_param;
void mpm_env_read_engine(ds_param_reader *in, mpm_episode_spec *spec);

/* Numbers of a pose: 7, or 8 if the tool has a gap. */
uint64_t mpm_env_pose_size(const mpm_tool *tool);

/* Particles 0, s, 2 s, ... are observed, with s = n / wanted as in PlasticineLab. */
uint32_t mpm_env_stride(const mpm_env *env);
uint32_t mpm_env_observed(const mpm_env *env);

/* Fills env->scene, env->episode and env->kit from the host's parameters. The task must outlive env. */
void mpm_env_configure(mpm_env *env, const mpm_task *task, ds_param_reader *in);
/* The same with choices that the caller has read. */
void mpm_env_configure_as(mpm_env *env, const mpm_task *task, const mpm_choices *choices,
                          ds_param_reader *in);

/* The parameters of scenes from files; with those that keep the scene's value unless they are set. */
extern const ds_param *const mpm_scene_params[];
/* Replaces the choices of a scene by those that the user has set. */
void mpm_scene_choices(ds_param_reader *in, mpm_choices *choices);

/* ---- scene ---- */

extern const ds_scene_kit_label mpm_env_metrics[];
void mpm_env_bodies(void *self, ds_scene_kit *s);
void mpm_env_place(const void *self, uint64_t k, uint64_t b, double *out);
/* The scene of an episode that diverges is recorded up to that step. */
ds_status mpm_env_simulate(void *self, ds_eval *io);

/* ---- environment interface ---- */

/* Entries of a task's table; read() is mpm_env_configure() for the task. */
ds_status mpm_env_wire(void *self);
void mpm_env_release(void *self);
uint64_t mpm_env_hooks(const void *self, ds_hook *out);
void mpm_env_variable(const void *self, uint64_t i, ds_env_variable *out);
void mpm_env_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
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

/* Common fields of the descriptors of PlasticineLab's tasks. */
#define MPM_PLASTICINE_DESC(id_)                                                                             \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_ENV, .flags = DS_ENV_GRADIENT, .id = id_,                \
    .version = "0.2.1", .license = "Apache-2.0",                                                             \
    .citation = "Huang et al., PlasticineLab: A soft-body manipulation benchmark with differentiable "       \
                "physics, ICLR 2021",                                                                        \
    .params = mpm_env_params

/* Defines what a task's plugin needs in addition to its description. With MPM_TASKS_ONLY it defines the
 * description only, under a name of its own, for programs that use all tasks (tasks.h). */
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
    IMAGE_LOSS_DEFINE_CHANNELS(mpm_env, image.image_loss)                                                    \
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
                                            IMAGE_LOSS_TABLE};                                               \
    DS_ENV_KIT_DEFINE(task_table, desc_)
#endif

#endif
