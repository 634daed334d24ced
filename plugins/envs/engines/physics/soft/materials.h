/* SPDX-License-Identifier: Apache-2.0 */
/* materials.h - engineering constants of solid materials as variables: each sets several numbers. */
#ifndef DS_ENGINES_SOFT_MATERIALS_H
#define DS_ENGINES_SOFT_MATERIALS_H

#include "engines/physics/soft/variable_types.h"

/* Sets mu and lambda of the law; kd stays. */
void body_material_law(double youngs_modulus, double poisson_ratio, fem_solid *law);
/* Computes m->share from the sizes of the elements of the material. */
void body_material_share(const body_material *m, const fem_model *model);
/* The density of tetrahedron t or (`tet` 0) of triangle t. */
double body_material_density(const body_variables *set, const double *x, int tet, size_t t);
/* Sets mu, lambda, factors and masses from the variables x; NULL: as built. Shapes must be set before. */
void body_materials_apply(const body_variables *set, const double *x);
/* Adds the derivative by the variable of item i, at x, to *grad. */
void body_material_gather(const body_variables *set, uint64_t i, const double *x, const fem_variation *bar,
                          double *grad);
/* Adds the change of the model along *v. */
void body_material_spread(const body_variables *set, uint64_t i, const double *x, const double *v,
                          fem_variation *dot);
/* Distance of a value from the constant as built: relative with `log`. */
double body_material_error(const body_variable *q, double value);

#endif
