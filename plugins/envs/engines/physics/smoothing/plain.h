/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - environments that are functions of a few variables in a cube, without motion. The instance begins
 * with a plain. */
#ifndef DS_ENGINES_PLAIN_H
#define DS_ENGINES_PLAIN_H

#include <diffsim/helper/env_kit.h>

typedef struct plain {
    ds_env_kit kit; /* first */
    double lower, upper, guess;
    const char *name, *unit; /* of the variables; "" = a pure number */
} plain;

/* Bounds and start of every variable. */
#define PLAIN_PARAMS(lower_, upper_, guess_, unit_)                                                          \
    DS_REAL("lower", lower_, -1e6, 1e6, unit_, "Lower bound of each variable."),                             \
        DS_REAL("upper", upper_, -1e6, 1e6, unit_, "Upper bound of each variable."),                         \
        DS_REAL("guess", guess_, -1e6, 1e6, unit_,                                                           \
                "Where a search starts; the next bound where it lies outside.")
#define PLAIN_DIM_PARAM(dim_)                                                                                \
    DS_INT("dim", dim_, 1, 1000000, "", "Number of variables.", .flags = DS_PARAM_SHAPE)

/* Reads these parameters for n variables; refuses bounds that are empty. */
void plain_read(plain *p, ds_param_reader *in, uint64_t n, const char *name, const char *unit);

void plain_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void plain_variable(const void *self, uint64_t i, ds_env_variable *out); /* "name.i", one alone "name" */

#define PLAIN_TABLE .range = plain_range, .variable = plain_variable
#define PLAIN_DIM_TABLE .advice = "reduce parameter dim", PLAIN_TABLE

#endif
