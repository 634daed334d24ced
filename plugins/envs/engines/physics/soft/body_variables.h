/* SPDX-License-Identifier: Apache-2.0 */
/* body_variables.h - numbers of a deformable body as decision variables: velocity, masses, stiffness and so
 * on. An environment lists the ones it offers; its user picks some by name (decision.h has the same for
 * scenes whose numbers are a plain table). */
#ifndef DS_ENGINES_SOFT_BODY_VARIABLES_H
#define DS_ENGINES_SOFT_BODY_VARIABLES_H

#include "engines/kit/decision.h"
#include "engines/physics/soft/variable_types.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

extern const char *const body_variables_nears[]; /* names of body_variable_near for a parameter */

/* Picks the words of parameter `variables` after the model is built; `offered` ends with a NULL name. */
void body_variables_pick(body_variables *set, ds_param_reader *in, const body_variable *offered);

/* Adds one variable, which must not set numbers that another one sets. `q` must outlive the set. */
void body_variables_add(body_variables *set, const body_variable *q);
/* Is the true number above 0, so that its logarithm can be a variable? */
int body_variables_has_logarithm(const body_variables *set, const body_variable *q);

/* Stores the numbers of the model as the truth. Check room->failed afterwards. */
void body_variables_keep(body_variables *set, ds_memory *room);
/* If `object` is not 0, draws the variables of the target with decision_draw(). Check room->failed. */
void body_variables_draw(body_variables *set, ds_memory *room);

/* Do all variables keep a flat body in its plane? A position or velocity may not. */
int body_variables_stays_in_plane(const body_variables *set);
/* Do some of them change shapes at rest or their stiffness (FEM_WANT_REST)? */
int body_variables_change_rest(const body_variables *set);

/* Sets the model and the weights of the controller from x[n]; x NULL: the truth and no weights. */
void body_variables_apply(const body_variables *set, const double *x);
/* grad[n] from the derivatives `bar` by the numbers of the model, after body_variables_apply(x). */
void body_variables_gather(const body_variables *set, const double *x, const fem_variation *bar,
                           double *grad);
/* dot, zeros before = the change of the model along v[n]. set->weights_dot points into v. */
void body_variables_spread(body_variables *set, const double *x, const double *v, fem_variation *dot);

/* Names the picked variables in `out`. */
void body_variables_identify(const body_variables *set, identified *out);
/* Mean distance of the variables from the target for each picked name: relative with `log`, else in their
 * unit; NaN for weights, which have no truth. */
void body_variables_error(const body_variables *set, const double *x, identified *out);

/* Entries of a ds_env_table. */
void body_variables_range(const body_variables *set, uint64_t i, double *lower, double *upper, double *start);
void body_variables_name(const body_variables *set, uint64_t i, ds_env_variable *out);

#endif
