/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - the variants of double_pendulum: the two environments of the kit, and the models of those that
 * compare angles. */
#ifndef DS_ENVS_PENDULA_MODEL_H
#define DS_ENVS_PENDULA_MODEL_H

#include "engines/physics/pendulum/compound.h"
#include "engines/data/recording.h"

#include <diffsim/helper/env_kit.h>

/* The environments of the kit: camera.c, motion.c. */
extern const ds_env_table camera_table, motion_table;

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

/* A model, its episode, and its target. */
typedef struct model {
    int variant;
    uint64_t n;
    model_variable variable[COMPOUND_VARIABLES];
    double truth[COMPOUND_VARIABLES];               /* NAN if not known */
    double length[2], mass[2], gravity, per_length; /* m, kg, m/s^2; g / length of the first, 1/s^2 */
    double start[COMPOUND_STATES];                  /* state at the start, as far as it is not a variable */
    compound_method method;
    uint64_t substeps;
    int joints; /* 1: compares the second angle as that of the joint, b - a */
    int rates;  /* compared numbers: angles and rates */
    uint64_t fitted, rows;
    double dt;
    fit fit;
    double *given; /* [rows][COMPOUND_STATES]: recorded states; NAN if not known */
} model;

/* Reads the parameters of a variant and makes its target, with memory from `room`. */
void model_read(model *m, ds_param_reader *in, ds_memory *room);
/* Sets constants and start for variables x[n]. */
void model_set(const model *m, const double *x, compound *out);
/* Lengths of the arms for drawing, m. */
void model_arms(const model *m, const double *x, double length[2]);
/* out[quantities] = compared numbers of a state, or of its derivative by a variable. */
void model_observe(const model *m, const double *y, size_t stride, double *out);
/* out[COMPOUND_VARIABLES] = derivatives of compared number q, from those of a state, y_dot[COMPOUND_SLOPES].
 */
static inline void model_observe_slopes(const model *m, uint64_t q, const double *restrict y_dot,
                                        double *restrict out)
{
    const double *row = y_dot + q * COMPOUND_VARIABLES;
    const int joint = m->joints && q == 1;
    for (uint64_t v = 0; v < COMPOUND_VARIABLES; v++) {
        out[v] = joint ? row[v] - y_dot[v] : row[v];
    }
}
/* Adds the derivatives to y_bar[COMPOUND_STATES], from that by compared number q. */
void model_observe_bar(const model *m, uint64_t q, double bar, double *y_bar);
uint64_t model_quantities(const model *m);

#endif
