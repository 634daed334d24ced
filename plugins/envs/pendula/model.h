/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - the variants of double_pendulum that compare angles: models that differ in what is unknown of
 * them, and what they are compared with. */
#ifndef DS_ENVS_PENDULA_MODEL_H
#define DS_ENVS_PENDULA_MODEL_H

#include "engines/physics/pendulum/compound.h"
#include "engines/data/fit.h"
#include "engines/data/recorded.h"

#include <diffsim/helper/env_kit.h>

/* Parameter `variant`. */
enum {
    VARIANT_CAMERA,
    VARIANT_LENGTHS,
    VARIANT_DAMPING,
    VARIANT_RECORDING,
    VARIANT_SYNTHETIC,
    VARIANT_INITIAL
};

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
void model_read(model *m, ds_param_reader *in, ds_memory *room);
/* Constants and start for variables x[n]. */
void model_set(const model *m, const double *x, compound *out);
/* Lengths of the arms as they are drawn, m. */
void model_arms(const model *m, const double *x, double length[2]);
/* out[quantities] = what is compared of a state, or of its derivative by a variable. */
void model_observe(const model *m, const double *y, size_t stride, double *out);
/* out[COMPOUND_VARIABLES] = number q of what is compared of the derivatives of a
 * state, y_dot[COMPOUND_SLOPES]. */
static inline void model_observe_slopes(const model *m, uint64_t q, const double *restrict y_dot,
                                        double *restrict out)
{
    const double *row = y_dot + q * COMPOUND_VARIABLES;
    const int joint = m->joints && q == 1;
    for (uint64_t v = 0; v < COMPOUND_VARIABLES; v++) {
        out[v] = joint ? row[v] - y_dot[v] : row[v];
    }
}
/* Adds to y_bar[COMPOUND_STATES] the derivatives for that by number q of what is compared. */
void model_observe_bar(const model *m, uint64_t q, double bar, double *y_bar);
uint64_t model_quantities(const model *m);

#endif
