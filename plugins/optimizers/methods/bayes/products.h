/* SPDX-License-Identifier: Apache-2.0 */
/* products.h - the matrix products of a Gaussian process, with the bits of OpenBLAS.
 *
 * In portable mode OpenBLAS computes with its kernels for Nehalem, in vectors of two doubles. Here the same
 * sums are added up in the same order in wider vectors, at up to twice the speed. With other kernels of
 * OpenBLAS, and for sizes at which it divides sums differently, these functions call it.
 *
 * Matrices are column-major; `upper` is an upper triangle, of which nothing else is read. */
#ifndef DS_METHODS_PRODUCTS_H
#define DS_METHODS_PRODUCTS_H

#include <stddef.h>

/* The upper triangle of C = alpha A^T A + beta C, A k x n, beta 0 or 1. */
void products_gram(int n, int k, double alpha, const double *a, int lda, double beta, double *c, int ldc);

/* B = T^T B and B = -T B, B h x m. */
void products_left_transposed(int h, int m, const double *upper, int ld, double *b, int ldb);
void products_left_negative(int h, int m, const double *upper, int ld, double *b, int ldb);

/* B = alpha B T, B h x m; alpha is a power of two. */
void products_right(int h, int m, double alpha, const double *upper, int ld, double *b, int ldb);

/* The upper triangle of A = A A^T of an upper triangle, as LAPACK's dlauum. */
void products_square(int n, double *a, int ld);

/* B = R^{-T} B and B = R^{-1} B, R = `upper`, B n x q. Fastest with few columns. */
void products_solve_transposed(int n, int q, const double *upper, int ld, double *b, int ldb);
void products_solve(int n, int q, const double *upper, int ld, double *b, int ldb);

/* C = alpha A^T B, A k x m, and C = A B, A m x k, C m x q. Fastest with few columns. */
void products_narrow_transposed(int m, int q, int k, double alpha, const double *a, int lda, const double *b,
                                int ldb, double *c, int ldc);
void products_narrow(int m, int q, int k, const double *a, int lda, const double *b, int ldb, double *c,
                     int ldc);

/* For tests: vectors of this instruction set of common/isa.h at most; ISA_BASELINE = call OpenBLAS. Returns
 * whether vectors are used: they have its bits, and this machine has them. */
int products_set(int isa);

#endif
