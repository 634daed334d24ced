/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - small square systems: elimination with row pivoting, and where that breaks down the
 * pseudo-inverse from a singular value decomposition by one-sided Jacobi rotations (Hestenes 1958). */
#include "dense.h"

#include <math.h>

static const double singular = 1e-10; /* relative to the largest pivot or singular value */

static void swap_rows(double M[][DENSE_MAX], double *x, int n, int i, int k)
{
    double t = x[k];
    x[k] = x[i];
    x[i] = t;
    for (int j = 0; j < n; j++) {
        t = M[k][j];
        M[k][j] = M[i][j];
        M[i][j] = t;
    }
}

/* 0 where a pivot is too small. */
static int eliminate(int n, double M[][DENSE_MAX], double *x)
{
    double largest = 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = fabs(M[i][k]) > fabs(M[best][k]) ? i : best;
        }
        largest = fmax(largest, fabs(M[best][k]));
        if (!(fabs(M[best][k]) > singular * largest)) {
            return 0;
        }
        swap_rows(M, x, n, k, best);
        for (int i = k + 1; i < n; i++) {
            double w = M[i][k] / M[k][k];
            for (int j = k + 1; j < n; j++) {
                M[i][j] -= w * M[k][j];
            }
            x[i] -= w * x[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) {
            x[k] -= M[k][j] * x[j];
        }
        x[k] /= M[k][k];
    }
    return 1;
}

/* Makes columns a and b of M orthogonal by a rotation, which V follows; returns how far they were from it. */
static double rotate(int n, double M[][DENSE_MAX], double V[][DENSE_MAX], int a, int b)
{
    double aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n; i++) {
        aa += M[i][a] * M[i][a];
        bb += M[i][b] * M[i][b];
        ab += M[i][a] * M[i][b];
    }
    if (!(fabs(ab) > 1e-300) || !(fabs(ab) > 1e-16 * sqrt(aa * bb))) {
        return 0;
    }
    double zeta = (bb - aa) / (2 * ab);
    double t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < n; i++) {
        double p = M[i][a], q = M[i][b], v = V[i][a], w = V[i][b];
        M[i][a] = c * p - s * q;
        M[i][b] = s * p + c * q;
        V[i][a] = c * v - s * w;
        V[i][b] = s * v + c * w;
    }
    return fabs(ab) / sqrt(aa * bb);
}

/* x = V diag(1/s^2) (M V)^T r over the singular values s that are not negligible. */
static void pseudo_inverse(int n, double M[][DENSE_MAX], double *r, double *x)
{
    double V[DENSE_MAX][DENSE_MAX] = {{0}}, square[DENSE_MAX], largest = 0;
    for (int i = 0; i < n; i++) {
        V[i][i] = 1;
    }
    double off = 1;
    for (int sweep = 0; sweep < 30 && off > 1e-15; sweep++) {
        off = 0;
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                off = fmax(off, rotate(n, M, V, a, b));
            }
        }
    }
    for (int j = 0; j < n; j++) {
        square[j] = 0;
        for (int i = 0; i < n; i++) {
            square[j] += M[i][j] * M[i][j];
        }
        largest = fmax(largest, square[j]);
        x[j] = 0;
    }
    for (int j = 0; j < n; j++) {
        if (square[j] > singular * singular * largest) {
            double along = 0;
            for (int i = 0; i < n; i++) {
                along += M[i][j] * r[i];
            }
            for (int i = 0; i < n; i++) {
                x[i] += V[i][j] * along / square[j];
            }
        }
    }
}

void dense_solve(int n, double Q[][DENSE_MAX], int transposed, double *x)
{
    double M[DENSE_MAX][DENSE_MAX], kept[DENSE_MAX][DENSE_MAX], r[DENSE_MAX];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            M[i][j] = transposed ? Q[j][i] : Q[i][j];
            kept[i][j] = M[i][j];
        }
        r[i] = x[i];
    }
    if (!eliminate(n, M, x)) {
        pseudo_inverse(n, kept, r, x);
    }
}
