/* SPDX-License-Identifier: Apache-2.0 */
/* quantity_internal.h - which numbers of the model a quantity stands for: shared by the files of
 * the quantities. */
#ifndef DS_ENGINES_SOFT_QUANTITY_INTERNAL_H
#define DS_ENGINES_SOFT_QUANTITY_INTERNAL_H

#include "engines/physics/soft/quantity.h"

/* Numbers of the model, or their derivatives: first, first + stride, ... */
typedef struct quantity_slot {
    double *first;
    size_t count, stride;
} quantity_slot;

quantity_slot quantity_of_model(fem_model *m, quantity_kind kind);
/* The same numbers of a variation; strides and counts are those of the model. */
double *quantity_of_variation(const fem_variation *v, quantity_kind kind);

/* Does number j of the model move with a variable? Fixed particles do not. */
int quantity_moves(const fem_model *m, quantity_kind kind, size_t j);

/* One variable for each axis; or one for each number. */
static inline int quantity_is_vector(quantity_kind kind)
{
    return kind == QUANTITY_POSITION || kind == QUANTITY_TURN || kind == QUANTITY_VELOCITY;
}

static inline int quantity_is_each(quantity_kind kind)
{
    return kind == QUANTITY_VELOCITIES || kind == QUANTITY_MASSES || kind == QUANTITY_SPRING_KE ||
           kind == QUANTITY_SPRING_KD || kind == QUANTITY_SPRING_REST;
}

/* Where the particles start: all of them follow the variables together. */
static inline int quantity_is_pose(quantity_kind kind)
{
    return kind == QUANTITY_POSITION || kind == QUANTITY_TURN;
}

/* The variable is the number times this, without `log`. */
static inline double quantity_sign(quantity_kind kind)
{
    return kind == QUANTITY_GRAVITY ? -1 : 1;
}

/* What the variable of a logarithm is the logarithm of, for the truth. */
static inline double quantity_base(const quantity_set *set, const quantity *q, const double *truth)
{
    return q->kind == QUANTITY_MASSES ? 1 : q->kind == QUANTITY_DENSITY ? set->density : truth[0];
}

/* The variables x, v, grad begin with those of item i. */
void quantity_place(const quantity_set *set, const double *x);
void quantity_place_gather(const quantity_set *set, uint64_t i, const double *x, const double *bar,
                           double *grad);
void quantity_place_spread(const quantity_set *set, uint64_t i, const double *x, const double *v,
                           double *dot);

#endif
