/* SPDX-License-Identifier: Apache-2.0 */
/* gp_kernel.c - see gp_kernel.h. */
#include "methods/bayes/gp_kernel.h"

#include "methods/base/blas.h"

#include <math.h>
#include <string.h>

const double gp_jitters[GP_JITTERS] = {0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4};

void gp_kernel_values(const gp *g, size_t count, double *r2, double *h)
{
    double s2 = g->hyper.variance;
    if (g->model.kernel == GP_SE) {
        for (size_t i = 0; i < count; i++) {
            r2[i] = s2 * exp(-0.5 * fmax(r2[i], 0.0));
        }
        if (h) {
            memcpy(h, r2, count * sizeof(double));
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        double q = sqrt(5.0 * fmax(r2[i], 0.0));
        double e = s2 * exp(-q);
        if (h) {
            h[i] = (5.0 / 3.0) * (1.0 + q) * e;
        }
        r2[i] = (1.0 + q + q * q / 3.0) * e;
    }
}

void gp_scale_inputs(const gp *g, size_t n, const double *inputs, double *z)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g->d; k++) {
            z[i * g->d + k] = (inputs[i * g->d + k] - 0.5) / g->hyper.length[k];
        }
    }
}

void gp_row_squares(size_t n, size_t d, const double *z, double *square)
{
    for (size_t i = 0; i < n; i++) {
        square[i] = cblas_ddot((int)d, z + i * d, 1, z + i * d, 1);
    }
}

void gp_kernel_matrix(const gp *g, size_t n, const double *z, const double *square, double jitter,
                      double *kernel, size_t ld, double *slope)
{
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, (int)n, (int)g->d, -2.0, z, (int)g->d, 0.0, kernel,
                (int)ld);
    for (size_t j = 0; j < n; j++) {
        double *column = kernel + j * ld;
        for (size_t i = 0; i < j; i++) {
            column[i] += square[i] + square[j];
        }
        gp_kernel_values(g, j, column, slope ? slope + j * n : NULL);
        column[j] = g->hyper.variance * (1.0 + jitter) + g->hyper.noise;
    }
}
