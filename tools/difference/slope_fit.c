/* SPDX-License-Identifier: Apache-2.0 */
/* slope_fit.c - see slope_fit.h. Chebyshev polynomials, orthogonalised on the values by Gram and Schmidt,
 * twice each, since the points may lie on one side. */
#include "config.h"

#include "difference/slope_fit.h"

#include <math.h>

enum { LOW = 5, HIGH = 7, TERMS = HIGH + 1 };

typedef struct basis {
    double q[TERMS][DS_FIT_MOST]; /* orthonormal on the points */
    double slope[TERMS];          /* derivatives of these polynomials at 0, per unit of t / width */
} basis;

static double dot(size_t count, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        sum += a[j] * b[j];
    }
    return sum;
}

/* 0 where the points do not tell the polynomials apart. */
static int make_basis(size_t count, const double *t, double width, basis *b)
{
    static const double chebyshev_slope[TERMS] = {0, 1, 0, -3, 0, 5, 0, -7};
    for (int k = 0; k < TERMS; k++) {
        double *q = b->q[k];
        b->slope[k] = chebyshev_slope[k];
        for (size_t j = 0; j < count; j++) {
            q[j] = cos(k * acos(fmin(fmax(t[j] / width, -1), 1)));
        }
        double before = sqrt(dot(count, q, q));
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < k; i++) {
                double part = dot(count, b->q[i], q);
                for (size_t j = 0; j < count; j++) {
                    q[j] -= part * b->q[i][j];
                }
                b->slope[k] -= part * b->slope[i];
            }
        }
        double length = sqrt(dot(count, q, q));
        if (!(length > 1e-9 * before)) {
            return 0;
        }
        for (size_t j = 0; j < count; j++) {
            q[j] /= length;
        }
        b->slope[k] /= length;
    }
    return 1;
}

int ds_slope_fit_make(size_t count, const double *t, const double *f, double width, ds_slope_fit *fit)
{
    basis b;
    double left[DS_FIT_MOST], slope = 0, low = 0, weight = 0;
    if (count < DS_FIT_LEAST || count > DS_FIT_MOST || !make_basis(count, t, width, &b)) {
        return 0;
    }
    for (size_t j = 0; j < count; j++) {
        left[j] = f[j];
    }
    for (int k = 0; k <= HIGH; k++) {
        double part = dot(count, b.q[k], left);
        for (size_t j = 0; j < count; j++) {
            left[j] -= part * b.q[k][j];
        }
        slope += part * b.slope[k];
        if (k == LOW) {
            low = slope;
            fit->noise = sqrt(dot(count, left, left) / (double)(count - LOW - 1));
        }
        weight += k <= LOW ? b.slope[k] * b.slope[k] : 0;
    }
    fit->slope = low / width;
    fit->error = (fit->noise * sqrt(weight) + fabs(slope - low)) / width;
    return isfinite(fit->slope) && isfinite(fit->error);
}
