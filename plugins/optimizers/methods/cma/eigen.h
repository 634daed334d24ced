/* SPDX-License-Identifier: Apache-2.0 */
/* eigen.h - eigen-decomposition of a symmetric matrix (LAPACK dsyevd of OpenBLAS).
 * The caller owns the workspace, so that a decomposition allocates nothing. */
#ifndef EIGEN_H
#define EIGEN_H

#include <stdint.h>

/* Largest n (the index type of the library). */
enum { EIGEN_MAX_N = 20000 };

/* Doubles and ints of workspace for matrices of order n. */
uint64_t eigen_work_size(uint64_t n);
uint64_t eigen_iwork_size(uint64_t n);

/* A = sum_i value[i] v_i v_i^T. In: the lower triangle of `a` (n x n, row-major). Out: row i of `a` is the
 * unit eigenvector v_i; values ascend. Returns 0, or nonzero where the iteration
 * failed (non-finite input). */
int eigen_symmetric(uint64_t n, double *a, double *value, double *work, int *iwork);

#endif
