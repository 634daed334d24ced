/* SPDX-License-Identifier: Apache-2.0 */
/* Quadratic B-spline interpolation between a particle and the 27 grid nodes around it. All transfers of the
 * affine particle-in-cell method (APIC, Jiang et al. 2015) and their adjoints are built from the few
 * operations below. */
#ifndef MPM_TRANSFER_H
#define MPM_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

/* The nodes base + (0..2, 0..2, 0..2) and what they weigh. */
typedef struct mpm_stencil {
    size_t first; /* index of the lowest node */
    int base[3];
    double fx[3];    /* offset of the particle from the lowest node, in nodes */
    double w[3][3];  /* w[axis][0..2] */
    double dw[3][3]; /* their derivatives by fx */
} mpm_stencil;

/* In the unit cube, dx = 1 / n: positions are valid from 0 to (n - 3) dx. False (and nothing written) for
 * others and for non-finite ones. */
bool mpm_stencil_at(int n, const double x[3], mpm_stencil *out);
/* The same for a position in node spacings, 0 to n - 3. */
bool mpm_stencil_scaled(int n, const double scaled[3], mpm_stencil *out);

/* A field has 4 components per node, node (i, j, k) at 4 ((i n + j) n + k). An affine function of the node
 * offset o = (0..2)^3 is value[c] + sum_k slope[k][c] o_k. */
typedef struct mpm_affine {
    double value[4];
    double slope[3][4];
} mpm_affine;

/* field_i += w_i g(o_i) */
void mpm_scatter(double *field, int n, const mpm_stencil *s, const mpm_affine *g);

/* out.value = sum w_i field_i, out.slope[k] = sum w_i field_i o_ik */
void mpm_gather(const double *field, int n, const mpm_stencil *s, mpm_affine *out);

/* fx_bar += sum_i (field_i . g(o_i)) dw_i/dfx: what both of the above contribute to the adjoint of the
 * position through the weights (field or its adjoint, and g or its adjoint, in any pairing). */
void mpm_weight_adjoint(const double *field, int n, const mpm_stencil *s, const mpm_affine *g,
                        double fx_bar[3]);

/* The scalar versions, for densities: one component per node. */
void mpm_splat(double *field, int n, const mpm_stencil *s, double amount);
void mpm_splat_adjoint(const double *field_bar, int n, const mpm_stencil *s, double amount, double fx_bar[3]);

#endif
