/* SPDX-License-Identifier: Apache-2.0 */
/* knob.h - named numbers that a scene depends on, some of which are decision variables: those that parameter
 * `variables` picks by name. */
#ifndef DS_ENGINES_SWEPT_KNOB_H
#define DS_ENGINES_SWEPT_KNOB_H

#include "engines/kit/identified.h"

#include <diffsim/helper/env_kit.h>

/* One number. "velocity.x" is picked by its own name or by "velocity", with all that have this name before
 * the dot. */
typedef struct knob {
    const char *name, *unit;
    int log; /* the variable is log10 of the number */
    /* of the variable, which starts at start + random U, U uniform in (0, 1) */
    double lower, upper, start, random;
} knob;

#define KNOB(name_, unit_, lower_, upper_, start_)                                                           \
    {                                                                                                        \
        .name = name_, .unit = unit_, .lower = lower_, .upper = upper_, .start = start_                      \
    }
#define KNOB_LOG(name_, unit_, lower_, upper_, start_)                                                       \
    {                                                                                                        \
        .name = name_, .unit = unit_, .log = 1, .lower = lower_, .upper = upper_, .start = start_            \
    }

enum { KNOBS = 601 }; /* the masses of a mesh, and one for all */

typedef struct knob_set {
    const knob *knob; /* set by the environment, as are these four: */
    uint32_t knobs;   /* at most KNOBS */
    uint64_t seed;
    uint64_t object;     /* 0, or the number by which the truth of the variables is drawn */
    double truth[KNOBS]; /* the numbers of the target, and of those that are no variables */
    uint64_t n;          /* variables */
    uint32_t at[KNOBS];  /* the knob of variable i */
} knob_set;

/* Picks by the words of parameter `variables`; where `object` is not 0, draws the truth of what was picked:
 * uniformly between the bounds of the variables, a tenth of the width away from each. */
void knob_pick(knob_set *set, ds_param_reader *in);

/* value[knobs] for the variables x[n]; NULL: the truth. */
void knob_values(const knob_set *set, const double *x, double *value);
/* grad[n] from the derivatives by the numbers; the change of the numbers along v[n]. */
void knob_gather(const knob_set *set, const double *value, const double *value_bar, double *grad);
void knob_spread(const knob_set *set, const double *value, const double *v, double *value_dot);

/* Names of the variables, for what knob_error() says of them. */
void knob_identify(const knob_set *set, identified *out);
/* |number / truth - 1| of variables that are logarithms or above 0 at their lower bound, |number - truth|
 * of others. */
void knob_error(const knob_set *set, const double *value, identified *out);

/* For an ds_env_table. */
void knob_range(const knob_set *set, uint64_t i, double *lower, double *upper, double *start);
void knob_name(const knob_set *set, uint64_t i, ds_env_variable *out);

#endif
