/* SPDX-License-Identifier: Apache-2.0 */
/* sand.h - the law of sand. */
#ifndef MPM_SAND_H
#define MPM_SAND_H

#include "engines/physics/mpm/sim/material.h"

mpm_material mpm_sand_make(double youngs_modulus, double poisson_ratio, double friction_angle);

/* alpha of the friction angle in degrees; *slope: its derivative. */
double mpm_sand_alpha(double friction_angle, double *slope);

/* As mpm_material_update() and mpm_material_adjoint(). */
void mpm_sand_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                     double stress[9]);
void mpm_sand_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_bar[9],
                      const double stress_bar[9], double a_bar[9]);

#endif
