/* SPDX-License-Identifier: Apache-2.0 */
/* sheet_env.h - a cloth held at two corners is swung and released, and should lie on the floor like a
 * target: environment swing, and scenes with such a cloth (scene.h). */
#ifndef DS_ENGINES_CLOTH_SHEET_ENV_H
#define DS_ENGINES_CLOTH_SHEET_ENV_H

#include "engines/physics/cloth/camera.h"
#include "engines/physics/cloth/cloth.h"
#include "engines/physics/cloth/env/constants.h"
#include "engines/physics/cloth/sheet.h"
#include "engines/physics/cloth/vertex_net.h"

#include <diffsim/helper/env_kit.h>

typedef struct sheet_env {
    ds_env_kit kit; /* first; its output steps are of `every` steps of the simulation */
    cloth c;
    sheet s;
    int64_t loss, size;
    uint64_t of_k, of_v;                    /* variables that are stiffness and velocity */
    uint64_t cells, across, along, patches; /* along one edge; patches along each direction, and in all */
    uint64_t hold, every;
    double range[2], fixed_k, fixed_v[3], fixed_size[2], height, damping;
    double lower[3], upper[3], start[3]; /* of velocities as variables */
    double size_lower[2], size_upper[2]; /* of width and length as variables */
    double start_k;                      /* variable of the stiffness at the start, in [-1, 1] */
    double *target_k, target_v[3];       /* stiffness of the patches and velocity of the target */
    double *k, *k_bar;                   /* per patch: N/m */
    double height_bar;                   /* by `height` */
    cloth_constants constants;           /* the last variables */
    double v[3], v_bar[3], dim[2];       /* of the present episode: velocity, width and length */
    uint32_t corner[4];
    double *target, *goal; /* final positions of the target; its centre of mass, stored as one vertex */
    double *frame;         /* positions at every output step */
    cloth_camera seen;     /* loss = image */
    vertex_net net;        /* its w is NULL for the target */
    fem_obstacle solid[FEM_MOST_OBSTACLES]; /* set before allocate() */
    size_t solids;
    fem_obstacle_bar solid_bar[FEM_MOST_OBSTACLES]; /* of the last adjoint, if they have variables */
} sheet_env;

extern const ds_param *const sheet_env_params[];
extern const ds_scene_kit_label sheet_env_metrics[];
extern const char sheet_env_cure[];

/* The variable of a stiffness (N/m) in e->range, and the other way round. */
double sheet_env_variable_of(const sheet_env *e, double k);

/* Entries of the ds_env_table; sheet_env_read() reads sheet_env_params. */
/* Counts the variables of the environment anew. */
void sheet_env_count(sheet_env *e);
void sheet_env_read(void *self, ds_param_reader *in);
uint64_t sheet_env_hooks(const void *self, ds_hook *out);
ds_status sheet_env_allocate(void *self);
void sheet_env_release(void *self);
void sheet_env_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void sheet_env_variable(const void *self, uint64_t i, ds_env_variable *out);
ds_status sheet_env_simulate(void *self, ds_eval *io);
ds_status sheet_env_adjoint(void *self, ds_eval *io);
void sheet_env_bodies(void *self, ds_scene_kit *s);
void sheet_env_place(const void *self, uint64_t k, uint64_t b, double *out);
void sheet_env_measure(void *self, uint64_t k, double *out);
uint64_t sheet_env_channels(const void *self);
void sheet_env_channel(const void *self, uint64_t i, ds_channel *out);
ds_status sheet_env_answer(void *self, ds_eval *io, ds_eval_query *ask);
/* All but size, read, hook_points and release. The adjoint repeats the episode from its checkpoints. */
#define SHEET_ENV_TABLE                                                                                      \
    .advice = "reduce parameter cells or duration", .cure = sheet_env_cure, .allocate = sheet_env_allocate,  \
    .range = sheet_env_range, .variable = sheet_env_variable, .simulate = sheet_env_simulate,                \
    .adjoint = sheet_env_adjoint, .passes = 2, .metrics = sheet_env_metrics, .bodies = sheet_env_bodies,     \
    .place = sheet_env_place, .measure = sheet_env_measure, .channels = sheet_env_channels,                  \
    .channel = sheet_env_channel, .answer = sheet_env_answer

#endif
