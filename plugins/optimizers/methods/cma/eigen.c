/* SPDX-License-Identifier: Apache-2.0 */
/* eigen.c - eigen-decomposition of a symmetric matrix by the divide-and-conquer driver of LAPACK.
 * See E. Anderson et al., LAPACK Users' Guide, 3rd ed., section 2.3.4. */
#include "methods/cma/eigen.h"

#include "methods/base/blas.h"

#include <math.h>

uint64_t eigen_work_size(uint64_t n)
{
    return 1 + 6 * n + 2 * n * n;
}

uint64_t eigen_iwork_size(uint64_t n)
{
    return 3 + 5 * n;
}

int eigen_symmetric(uint64_t n, double *a, double *value, double *work, int *iwork)
{
    int order = (int)n, lwork = (int)eigen_work_size(n), liwork = (int)eigen_iwork_size(n), info = 0;
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j <= i; j++) {
            if (!isfinite(a[i * n + j])) { /* LAPACK may loop for ever on NaN */
                return 1;
            }
        }
    }
    /* a row-major lower triangle is a column-major upper one; columns of the answer are rows here */
    dsyevd_("V", "U", &order, a, &order, value, work, &lwork, iwork, &liwork, &info, 1, 1);
    return info;
}
