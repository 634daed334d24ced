/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h - size, sides and rotation of bodies as variables: they set the positions at the start, the shape
 * at rest and with it the masses. */
#ifndef DS_ENGINES_SOFT_SHAPE_H
#define DS_ENGINES_SOFT_SHAPE_H

#include "engines/physics/soft/variable_types.h"

/* Completes shapes whose particles, numbers as built and modes are set. `variables`: each shape that an item
 * sets. Check room->failed. */
void body_shapes_open(body_variables *set, ds_memory *room);
/* Do some of them change the shape at rest? */
int body_shapes_change_rest(const body_variables *set);
/* Sets positions, shapes at rest and masses from the variables x (NULL: as built), after those that move
 * whole bodies; densities are as built. */
void body_shapes_apply(const body_variables *set, const double *x);
/* Adds derivatives by the variables of item i to grad; the change of the model along v. */
void body_shape_gather(const body_variables *set, uint64_t i, const double *x, const fem_variation *bar,
                       double *grad);
void body_shape_spread(const body_variables *set, uint64_t i, const double *x, const double *v,
                       fem_variation *dot);

#endif
