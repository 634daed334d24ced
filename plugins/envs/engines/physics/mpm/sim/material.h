/* SPDX-License-Identifier: Apache-2.0 */
/* material.h - the constants of a material, the law of plasticine, and the singular value decomposition
 * of a 3x3 matrix with the sign conventions of graphics codes (both factors are rotations). */
#ifndef MPM_MATERIAL_H
#define MPM_MATERIAL_H

#include "engines/physics/mpm/sim/scene.h"

#include <stddef.h>
#include <stdint.h>

/* ---- singular value decomposition ---- */

/* A = U diag(s) V^T; det U = det V = 1; s0 >= s1 >= |s2|, and s2 has the sign of det A. */
typedef struct mpm_svd {
    double u[9];
    double s[3];
    double v[9];
} mpm_svd;

void mpm_svd3(const double a[9], mpm_svd *out);

/* ---- plasticine ---- */

/* A yield strain that depends on the trial state, for several particles at once: on the compression (det A; 1
 * = none) and on the norm of the deviatoric logarithmic strain. `part`: number of the caller; different
 * callers may run at the same time. */
typedef struct mpm_yield {
    void *self;
    void (*strain)(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                   double *strain);
    /* From the adjoint of these strains to the adjoints of volume and shear (written), and to what else they
     * depend on. */
    void (*adjoint)(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                    const double *strain_bar, double *volume_bar, double *shear_bar);
} mpm_yield;

enum { MPM_PARTS = 16 }; /* part is below this */

typedef struct mpm_material {
    uint32_t law;              /* MPM_PLASTICINE, MPM_SAND: the following fields apply */
    double mu, lambda;         /* Lame parameters */
    double yield_strain;       /* yield stress / (2 mu): radius of the elastic region in logarithmic strain */
    uint32_t clamped_svd;      /* nonzero: adjoint through PlasticineLab's clamped SVD derivative */
    double cone;               /* sand: radius of the elastic region per compression, tr(-log strain) */
    double modulus, viscosity; /* of elastic solid and syrup, see below */
    const mpm_yield *yield;    /* replaces yield_strain unless NULL */
    uint32_t part;             /* for `yield` and `bar` */
    /* [MPM_PARTS][MPM_CONSTANTS]: the adjoint of a substep adds those of the constants here; NULL: not wanted
     */
    double *bar;
} mpm_material;

/* Plasticine: mu, lambda, yield strain; sand: mu, lambda, cone; elastic solid and syrup: modulus; syrup:
 * viscosity. Then for all laws
 * the mass of a particle, and the velocity that gravity adds in a substep, the sum of the adjoints of the
 * velocities. Padded, because threads write different parts. */
enum {
    MPM_BAR_MODULUS = 0,
    MPM_BAR_LAMBDA = 1,
    MPM_BAR_VISCOSITY = 1,
    MPM_BAR_YIELD = 2,
    MPM_BAR_CONE = 2,
    MPM_BAR_MASS = 3,
    MPM_BAR_FALL = 4,
    MPM_CONSTANTS = 8
};

mpm_material mpm_material_make(double youngs_modulus, double poisson_ratio, double yield_stress);

/* a: trial deformation gradient, svd: its decomposition. Writes the deformation gradient after plastic flow
 * and the Kirchhoff stress. */
void mpm_material_update(const mpm_material *law, const double a[9], const mpm_svd *svd, double f_new[9],
                         double stress[9]);

/* Only the stress, from the results of mpm_material_update(). */
void mpm_material_stress(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                         double stress[9]);

/* f_new: as written by mpm_material_update. f_bar: adjoint of f_new from its later uses; stress_bar: adjoint
 * of the stress. Writes the adjoint of the trial deformation gradient. */
void mpm_material_adjoint(const mpm_material *law, const mpm_svd *svd, const double f_new[9],
                          const double f_bar[9], const double stress_bar[9], double a_bar[9]);

/* Adds F_new = U diag(f) V^T, f an isotropic function of the singular values s, to the off-diagonal part of
 * the middle matrix X of A_bar = U X V^T; m = U^T F_bar V. ratio: the derivative of log f by log s where two
 * singular values coincide. */
void mpm_add_spectral(const double s[3], const double f[3], double ratio, const double m[9], double x[9]);

/* Singular values below this are replaced by it in the logarithmic strain. */
static const double mpm_min_stretch = 0.05;

/* 1 / (si + sj), limited where a reflected matrix has si near -sj. */
double mpm_inverse_sum(double si, double sj);

#endif
