/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h - constants of a cloth of springs that a scene makes decision variables. */
#ifndef DS_ENGINES_CLOTH_CONSTANTS_H
#define DS_ENGINES_CLOTH_CONSTANTS_H

#include "engines/physics/cloth/cloth.h"

#include <diffsim/helper/env_kit.h>

enum { CLOTH_MOST_CONSTANTS = 64 };

typedef enum cloth_constants_case {
    CLOTH_AT_START,
    CLOTH_AT_TRUTH,
    CLOTH_AT_WORST /* where the longest stable step is shortest */
} cloth_constants_case;

typedef struct cloth_constant {
    char name[64];
    const char *unit;
    int log; /* the variable is log10 of the number */
    double lower, upper, start, truth;
    double worst; /* of the number, for CLOTH_AT_WORST */
    double scale; /* *at is this times the number */
    double *at;
    const double *bar; /* derivative of the loss by *at */
} cloth_constant;

typedef struct cloth_constants {
    size_t count;
    cloth_constant item[CLOTH_MOST_CONSTANTS];
    double mass, damping; /* of the whole cloth; of each spring */
    double mass_bar, damping_bar;
} cloth_constants;

/* Sets the numbers of an episode: from the variables x[count], or those of a case. */
void cloth_constants_set(const cloth_constants *k, cloth *c, const double *x);
void cloth_constants_build(const cloth_constants *k, cloth *c, cloth_constants_case at);

/* Writes the derivatives by the variables; call after cloth_adjoint() with its results. */
void cloth_constants_bar(cloth_constants *k, const cloth *c, const double *x, double *grad);

/* Of variable i; bounds and start as in ds_env_table. */
void cloth_constants_range(const cloth_constants *k, size_t i, double *lower, double *upper, double *start);
void cloth_constants_variable(const cloth_constants *k, size_t i, ds_env_variable *out);

#endif
