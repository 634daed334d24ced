/* SPDX-License-Identifier: Apache-2.0 */
/* disc_env.h - a round slab lies in a pan and should be turned over: environment flip, and scenes with
 * such a slab (scene.h). */
#ifndef DS_ENGINES_CLOTH_DISC_ENV_H
#define DS_ENGINES_CLOTH_DISC_ENV_H

#include "engines/physics/cloth/camera.h"
#include "engines/physics/cloth/cloth.h"
#include "engines/physics/cloth/env/constants.h"
#include "engines/physics/cloth/sheet.h"
#include "engines/physics/cloth/vertex_net.h"
#include "engines/physics/smoothing/softness.h"

#include <diffsim/helper/env_kit.h>

enum { DISC_ENV_SEGMENTS = 100 }; /* most segments of the motion of the pan */

typedef struct disc_env {
    ds_env_kit kit; /* first */
    cloth c;
    uint64_t per, every; /* `per` steps of the simulation make a segment, `every` an output step */
    double stiffness, stiffness_bar, damping, lower[3], upper[3];
    cloth_constants constants; /* the last variables */
    touch_pan_bar pan_bar;     /* of the last adjoint, if the profile has variables */
    double way[DISC_ENV_SEGMENTS + 1][3],
        way_bar[DISC_ENV_SEGMENTS + 1][3]; /* x, y, tilt; the first is the start */
    uint32_t corner[4];
    double *goal;                      /* targets of the corners, at their vertices */
    double *frame;                     /* positions at every output step */
    uint32_t *vertex, *triangle, *pan; /* vertices of the pancake; triangles of pancake and pan as drawn */
    uint32_t *face;                    /* triangles and vertices of the side that lies up */
    uint64_t vertices, corners, face_corners; /* lengths of the first two lists, and of the last */
    double now;                               /* stepwise control: loss of the state */
    proximity near;
    proximity_seen gaps; /* of the vertices, in the last assessed state */
    cloth_camera seen;   /* loss = image */
    vertex_net net;
    uint32_t radius; /* of the slab, in lattice steps */
    double spacing;  /* m, of the lattice in all directions */
} disc_env;

extern const ds_param *const disc_env_params[];
extern const ds_scene_kit_label disc_env_metrics[];
extern const char disc_env_cure[];

/* Entries of the ds_env_table; disc_env_read() reads disc_env_params. */
void disc_env_read(void *self, ds_param_reader *in);
ds_status disc_env_allocate(void *self);
void disc_env_release(void *self);
void disc_env_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void disc_env_variable(const void *self, uint64_t i, ds_env_variable *out);
uint64_t disc_env_hooks(const void *self, ds_hook *out);
ds_status disc_env_simulate(void *self, ds_eval *io);
ds_status disc_env_adjoint(void *self, ds_eval *io);
void disc_env_bodies(void *self, ds_scene_kit *s);
void disc_env_place(const void *self, uint64_t k, uint64_t b, double *out);
void disc_env_measure(void *self, uint64_t k, double *out);
ds_status disc_env_begin(void *self, uint64_t noise_key);
void disc_env_observe(const void *self, double *obs);
ds_status disc_env_act(void *self, uint64_t k, ds_step *io);
uint64_t disc_env_channels(const void *self);
void disc_env_channel(const void *self, uint64_t i, ds_channel *out);
ds_status disc_env_answer(void *self, ds_eval *io, ds_eval_query *ask);
/* All but size, read and release. The adjoint repeats the episode from its checkpoints. */
#define DISC_ENV_TABLE                                                                                       \
    .advice = "reduce parameter duration", .cure = disc_env_cure, .allocate = disc_env_allocate,             \
    .range = disc_env_range, .variable = disc_env_variable, .simulate = disc_env_simulate,                   \
    .adjoint = disc_env_adjoint, .passes = 2, .metrics = disc_env_metrics, .bodies = disc_env_bodies,        \
    .place = disc_env_place, .measure = disc_env_measure, .begin = disc_env_begin,                           \
    .observe = disc_env_observe, .act = disc_env_act, .channels = disc_env_channels,                         \
    .channel = disc_env_channel, .answer = disc_env_answer

#endif
