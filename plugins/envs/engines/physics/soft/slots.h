/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h - the numbers of the model that each kind of variable sets, and the same numbers of a variation. */
#ifndef DS_ENGINES_SOFT_SLOTS_H
#define DS_ENGINES_SOFT_SLOTS_H

#include "engines/physics/soft/variable_types.h"

/* Numbers of the model or their derivatives: first, first + stride, ... */
typedef struct body_slot {
    double *first;
    size_t count, stride;
} body_slot;

/* Those of a quantity; no numbers for a kind that sets them in its own way. */
body_slot body_slot_of(fem_model *m, const body_variable *q);
/* The first of them in a variation, NULL for no numbers; count and stride are those of the model. */
double *body_slot_of_variation(const fem_variation *v, const body_variable *q);

#endif
