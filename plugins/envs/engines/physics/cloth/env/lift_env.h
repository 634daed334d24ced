/* SPDX-License-Identifier: Apache-2.0 */
/* lift_env.h - the properties of a cloth from a recording of its corners while a gripper lifts it:
 * environment realtosim, and scenes with such a recording (scene.h). */
#ifndef DS_ENGINES_CLOTH_LIFT_ENV_H
#define DS_ENGINES_CLOTH_LIFT_ENV_H

#include "engines/physics/cloth/lift.h"

#include <diffsim/helper/env_kit.h>

typedef struct lift_env {
    ds_env_kit kit; /* first */
    lift l;
    cloth_camera seen; /* loss = image */
    int own;           /* the recording comes with the plugin */
    double *side;      /* two more sets of residuals, and a point */
    int displaced;     /* the engine has simulated another point since */
    uint64_t known;    /* whether `reference` is given: variables of the cloth of the target images */
    double reference[LIFT_VARIABLES];
} lift_env;

extern const ds_param *const lift_env_params[];
extern const ds_scene_kit_label lift_env_metrics[];
extern const char lift_env_cure[];

/* Entries of the ds_env_table; lift_env_read() reads lift_env_params. */
void lift_env_read(void *self, ds_param_reader *in);
ds_status lift_env_allocate(void *self);
uint64_t lift_env_hooks(const void *self, ds_hook *out);
void lift_env_release(void *self);
void lift_env_variable(const void *self, uint64_t i, ds_env_variable *out);
ds_status lift_env_simulate(void *self, ds_eval *io);
ds_status lift_env_adjoint(void *self, ds_eval *io);
void lift_env_bodies(void *self, ds_scene_kit *s);
void lift_env_place(const void *self, uint64_t k, uint64_t b, double *out);
void lift_env_measure(void *self, uint64_t k, double *out);
uint64_t lift_env_channels(const void *self);
void lift_env_channel(const void *self, uint64_t i, ds_channel *out);
ds_status lift_env_answer(void *self, ds_eval *io, ds_eval_query *ask);
/* All but size, read, hook_points and release. The adjoint repeats the episode from its checkpoints. */
#define LIFT_ENV_TABLE                                                                                       \
    .advice = "raise parameter h or shorten the recording", .cure = lift_env_cure,                           \
    .allocate = lift_env_allocate, .limit = 1, .variable = lift_env_variable, .simulate = lift_env_simulate, \
    .adjoint = lift_env_adjoint, .passes = 2, .metrics = lift_env_metrics, .bodies = lift_env_bodies,        \
    .place = lift_env_place, .measure = lift_env_measure, .channels = lift_env_channels,                     \
    .channel = lift_env_channel, .answer = lift_env_answer

#endif
