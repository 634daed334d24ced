/* SPDX-License-Identifier: Apache-2.0 */
/* Singular value decomposition of a 3x3 matrix with the sign conventions of graphics codes (both factors are
 * rotations) and the adjoint that PlasticineLab uses for it. */
#ifndef MPM_SVD3_H
#define MPM_SVD3_H

/* A = U diag(s) V^T; det U = det V = 1; s0 >= s1 >= |s2|, and s2 has the sign of det A. */
typedef struct mpm_svd {
    double u[9];
    double s[3];
    double v[9];
} mpm_svd;

void mpm_svd3(const double a[9], mpm_svd *out);

/* Adds to a_bar the adjoint of A for adjoints of U, s and V. The factors 1/(sj^2 - si^2) are limited to 1e6,
 * which loses the derivative where singular values coincide: kept to compare with the original, see
 * material.c for exact forms. */
void mpm_svd3_adjoint_clamped(const mpm_svd *svd, const double u_bar[9], const double s_bar[3],
                              const double v_bar[9], double a_bar[9]);

#endif
