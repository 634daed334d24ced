/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - the BLAS and LAPACK routines of OpenBLAS that the optimizers use.
 *
 * Debian ships no LAPACKE for the serial OpenBLAS, so we call LAPACK through its Fortran symbols: every
 * argument is a pointer, matrices are column-major, and gfortran passes the length of each character argument
 * by value after the others. A matrix stored by rows is the transpose of the same memory read by columns;
 * symmetric matrices and their factors therefore only swap the names "upper" and "lower". */
#ifndef DS_METHODS_BLAS_H
#define DS_METHODS_BLAS_H

#include <cblas.h>
#include <stddef.h>

/* Cholesky factorisation of a symmetric positive definite matrix, and systems with it. info > 0: the leading
 * minor of that order is not positive definite. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t uplo_len);
void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda, double *b,
             const int *ldb, int *info, size_t uplo_len);

/* Inverse of a triangular matrix; product U U^T or L^T L of a triangular matrix with its transpose. */
void dtrtri_(const char *uplo, const char *diag, const int *n, double *a, const int *lda, int *info,
             size_t uplo_len, size_t diag_len);
void dlauum_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t uplo_len);

/* LU factorisation with partial pivoting and systems with it. */
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivot, int *info);
void dgetrs_(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
             const int *pivot, double *b, const int *ldb, int *info, size_t trans_len);

/* Least squares with a matrix of full rank, by QR: the first n rows of b become the solution. lwork = -1
 * returns the size of the workspace in work[0]. */
void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *a, const int *lda,
            double *b, const int *ldb, double *work, const int *lwork, int *info, size_t trans_len);

/* Eigenvalues (ascending, to w) and eigenvectors (columns, replacing a) of a symmetric matrix, by divide and
 * conquer. lwork = liwork = -1 returns the sizes of the workspaces in work[0] and iwork[0]. */
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t jobz_len,
             size_t uplo_len);

/* Threads of OpenBLAS would change the order of summation with their number. Call this in create(). */
static inline void blas_use_one_thread(void)
{
    openblas_set_num_threads(1);
}

#endif
