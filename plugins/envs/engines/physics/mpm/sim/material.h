/* SPDX-License-Identifier: Apache-2.0 */
/* Elastoplastic law of the plasticine: fixed corotated stress (Stomakhin et al. 2012) with von Mises return
 * mapping on logarithmic strains (Gao et al. 2017), forward and adjoint, for one particle. */
#ifndef MPM_MATERIAL_H
#define MPM_MATERIAL_H

#include "engines/physics/mpm/scene/scene.h"
#include "svd3.h"

#include <stddef.h>
#include <stdint.h>

/* A yield strain that depends on the trial state, for particles at once: by how much it is compressed (det A;
 * 1 = not at all) and by the norm of its deviatoric logarithmic strain. `part`: who asks; different ones may
 * ask at the same time. */
typedef struct mpm_yield {
    void *self;
    void (*strain)(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                   double *strain);
    /* From the adjoint of these strains to those of volume and shear (written), and to what else they
     * depend on. */
    void (*adjoint)(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                    const double *strain_bar, double *volume_bar, double *shear_bar);
} mpm_yield;

enum { MPM_PARTS = 16 }; /* part is below this */

typedef struct mpm_material {
    uint32_t law;              /* MPM_PLASTICINE; what follows is for it */
    double mu, lambda;         /* Lame parameters */
    double yield_strain;       /* yield stress / (2 mu): radius of the elastic region in logarithmic strain */
    uint32_t clamped_svd;      /* nonzero: adjoint through the clamped SVD derivative of the original */
    double modulus, viscosity; /* elastic solid and syrup, see deform.h */
    const mpm_yield *yield;    /* in place of yield_strain; NULL: that */
    uint32_t part;             /* for `yield` */
} mpm_material;

mpm_material mpm_material_make(double youngs_modulus, double poisson_ratio, double yield_stress);

/* a: trial deformation gradient, svd: its decomposition. Writes the deformation gradient after plastic flow
 * and the Kirchhoff stress. */
void mpm_material_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                         double stress[9]);

/* Kirchhoff stress 2 mu (F - R) F^T + lambda J (J - 1) I with the rotation R of the trial state. */
void mpm_material_stress(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                         double stress[9]);

/* f_new: as written by mpm_material_update. f_bar: adjoint of f_new from its later uses; stress_bar: adjoint
 * of the stress. Writes the adjoint of the trial deformation gradient. */
void mpm_material_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                          const double f_bar[9], const double stress_bar[9], double a_bar[9]);

#endif
