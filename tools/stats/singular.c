/* SPDX-License-Identifier: Apache-2.0 */
/* singular.c - one-sided Jacobi rotations. */
#include "config.h"

#include "stats/singular.h"

#include <math.h>
#include <string.h>

enum { TURNS = 60 };

/* Rotates columns p and q of J and V until they are orthogonal; 0 if they were. */
static int turn(double *column, double *basis, uint64_t m, uint64_t n, uint64_t p, uint64_t q)
{
    double *a = column + p * m, *b = column + q * m, aa = 0, bb = 0, ab = 0;
    for (uint64_t k = 0; k < m; k++) {
        aa += a[k] * a[k];
        bb += b[k] * b[k];
        ab += a[k] * b[k];
    }
    if (!(fabs(ab) > 1e-15 * sqrt(aa * bb))) {
        return 0;
    }
    const double zeta = (bb - aa) / (2 * ab), t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    double *va = basis + p * n, *vb = basis + q * n;
    for (uint64_t k = 0; k < m; k++) {
        const double old = a[k];
        a[k] = c * old - s * b[k];
        b[k] = s * old + c * b[k];
    }
    for (uint64_t k = 0; k < n; k++) {
        const double old = va[k];
        va[k] = c * old - s * vb[k];
        vb[k] = s * old + c * vb[k];
    }
    return 1;
}

void ds_singular_rotate(double *column, double *v, uint64_t m, uint64_t n)
{
    int turned = 1;
    memset(v, 0, n * n * sizeof *v);
    for (uint64_t i = 0; i < n; i++) {
        v[i * n + i] = 1;
    }
    for (int k = 0; turned && k < TURNS; k++) {
        turned = 0;
        for (uint64_t p = 0; p < n; p++) {
            for (uint64_t q = p + 1; q < n; q++) {
                turned |= turn(column, v, m, n, p, q);
            }
        }
    }
}
