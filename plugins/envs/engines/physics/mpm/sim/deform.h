/* SPDX-License-Identifier: Apache-2.0 */
/* deform.h - how a particle of any material deforms in a substep, and its adjoint. */
#ifndef MPM_DEFORM_H
#define MPM_DEFORM_H

#include "engines/physics/mpm/sim/material.h"

/* The laws that begin with singular values, plasticine and sand: as mpm_material_update() and
 * mpm_material_adjoint(). */
void mpm_law_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                    double stress[9]);
void mpm_law_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                     const double f_bar[9], const double stress_bar[9], double a_bar[9]);

/* With A = (1 + dt C) F:
 *     plasticine  see material.c
 *     sand        see sand.c
 *     elastic     F_new = A, stress = mu F F^T + (mu ln max(det F, 0.05) - mu) 1: neo-Hookean without a bulk
 *                 modulus of its own, because a fluid around it takes that part (the solid of DiffTaichi's
 *                 liquid example, Hu et al. 2020)
 *     syrup       has only its relative volume J = f[0]: J_new = J (1 + dt tr C) within 0.6 .. 1.05,
 *                 stress = K (J_new - 1) 1 + eta (C + C^T). The upper limit lets it come apart instead of
 *                 pulling.
 * c: C; f: before; svd: receives the decomposition of A that the functions below need. Writes f_new and the
 * Kirchhoff stress. */
void mpm_deform(const mpm_material *law, double dt, const double c[9], const double f[9], mpm_svd *svd,
                double f_new[9], double stress[9]);

/* The stress again, from the results of mpm_deform(). */
void mpm_deform_stress(const mpm_material *law, const double c[9], const mpm_svd *svd, const double f_new[9],
                       double stress[9]);

/* f_bar: adjoint of f_new on entry, of f on return. Writes the adjoint of C. */
void mpm_deform_adjoint(const mpm_material *law, double dt, const double c[9], const double f[9],
                        const mpm_svd *svd, const double f_new[9], const double stress_bar[9],
                        double f_bar[9], double c_bar[9]);

#endif
