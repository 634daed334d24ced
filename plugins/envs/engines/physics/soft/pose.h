/* SPDX-License-Identifier: Apache-2.0 */
/* pose.h - position and rotation of all particles together as variables, about their mean position. */
#ifndef DS_ENGINES_SOFT_POSE_H
#define DS_ENGINES_SOFT_POSE_H

#include "engines/physics/soft/variable_types.h"

/* Is it a variable of this kind? */
int body_is_pose(body_variable_kind kind);
/* Sets the positions from the variables x. */
void body_pose_apply(const body_variables *set, const double *x);
/* Adds the derivatives by the variables of item i to grad, from those by the positions; adds the change of
 * the positions along v. */
void body_pose_gather(const body_variables *set, uint64_t i, const double *x, const double *bar,
                      double *grad);
void body_pose_spread(const body_variables *set, uint64_t i, const double *x, const double *v, double *dot);

#endif
