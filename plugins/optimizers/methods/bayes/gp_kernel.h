/* SPDX-License-Identifier: Apache-2.0 */
/* gp_kernel.h - the kernel of a Gaussian process: values, and the matrix of many inputs.
 *
 * Inputs are used as z = (u - 1/2) / length. A matrix stored by rows with d columns is, read by columns, its
 * transpose: Z^T with leading dimension d. Symmetric matrices live in their upper triangle.
 */
#ifndef DS_METHODS_GP_KERNEL_H
#define DS_METHODS_GP_KERNEL_H

#include "methods/bayes/gp_model.h"

/* Added to the kernel's diagonal, relative to its variance, one after the other until a
 * Cholesky factor exists. */
#define GP_JITTERS 6
extern const double gp_jitters[GP_JITTERS];

/* Squared distances r2 (overwritten) to kernel values k; h, where wanted, is the factor of d k / d ln
 * length_j = h (z_j - z'_j)^2, which is regular at r = 0. */
void gp_kernel_values(const gp *g, size_t count, double *r2, double *h);

/* z of n inputs, and the sum of squares of each row. */
void gp_scale_inputs(const gp *g, size_t n, const double *inputs, double *z);
void gp_row_squares(size_t n, size_t d, const double *z, double *square);

/* Upper triangle of K + noise I, columns `ld` apart, and of h (columns n apart) where wanted. */
void gp_kernel_matrix(const gp *g, size_t n, const double *z, const double *square, double jitter,
                      double *kernel, size_t ld, double *slope);

#endif
