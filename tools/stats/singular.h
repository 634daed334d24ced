/* SPDX-License-Identifier: Apache-2.0 */
/* singular.h - singular values of a Jacobian. */
#ifndef DS_STATS_SINGULAR_H
#define DS_STATS_SINGULAR_H

#include <stdint.h>

/* J V = U S by one-sided Jacobi rotations (M. Hestenes, "Inversion of matrices by biorthogonalization",
 * 1958): the n columns of J (m each) become those of U S, in no order, and v (n x n) those of V. */
void ds_singular_rotate(double *column, double *v, uint64_t m, uint64_t n);

#endif
