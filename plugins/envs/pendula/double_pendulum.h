/* SPDX-License-Identifier: Apache-2.0 */
/* double_pendulum.h - the parts of the environment double_pendulum: pictures of two bobs (camera.c), and motions that are
 * compared with recorded ones (motion.c), of models that differ in what is unknown of them (model.c). */
#ifndef DS_ENVS_DOUBLE_PENDULUM_H
#define DS_ENVS_DOUBLE_PENDULUM_H

#include "engines/kit/env_kit.h"
#include "engines/pendulum/compound.h"
#include "engines/recording/fit.h"
#include "engines/recording/recorded.h"

/* Parameter `variant`. */
enum {
    VARIANT_CAMERA,
    VARIANT_LENGTHS,
    VARIANT_DAMPING,
    VARIANT_RECORDING,
    VARIANT_SYNTHETIC,
    VARIANT_INITIAL
};

/* Instances by their variant: VARIANT_CAMERA, all others. */
extern const env_table camera_table, motion_table;

/* ---- models ---- */

typedef struct model_variable {
    const char *name, *unit, *group;
    double lower, upper, start;
} model_variable;

/* A model, its episode, and what it is compared with. */
typedef struct model {
    int variant;
    uint64_t n;
    model_variable variable[COMPOUND_VARIABLES];
    double truth[COMPOUND_VARIABLES];               /* NAN where it is not known */
    double length[2], mass[2], gravity, per_length; /* m, kg, m/s^2; g / length of the first, 1/s^2 */
    double start[COMPOUND_STATES];                  /* as far as it is no variable */
    compound_method method;
    uint64_t substeps;
    int joints; /* the second angle is compared as that of the joint, b - a */
    int rates;  /* angles and rates are compared */
    uint64_t fitted, rows;
    double dt;
    fit fit;
    double *given; /* [rows][COMPOUND_STATES]: recorded states; NAN where they are not known */
} model;

/* Reads the parameters of a variant and makes what it is compared with, of `room`. */
void model_read(model *m, ds_param_reader *in, memory *room);
/* Constants and start for variables x[n]. */
void model_set(const model *m, const double *x, compound *out);
/* Lengths of the arms as they are drawn, m. */
void model_arms(const model *m, const double *x, double length[2]);
/* out[quantities] = what is compared of a state, or of its derivative by a variable. */
void model_observe(const model *m, const double *y, size_t stride, double *out);
uint64_t model_quantities(const model *m);

#endif
