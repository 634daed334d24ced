/* SPDX-License-Identifier: Apache-2.0 */
/* gp_sample.c - joint draws from the Gaussian process in gp.h at many points, for Thompson sampling. With
 * K + noise I = R^T R, V = R^{-T} k(data, points): covariance = k(points, points) + noise I - V^T V. */
#include "methods/bayes/gp_sample.h"

#include "methods/base/blas.h"
#include "methods/bayes/gp_kernel.h"

#include <stdlib.h>

typedef struct sample_space {
    double *z, *square; /* scaled points, count x d, and the sums of their squares */
    double *data_square;
    double *v; /* n x count, columns per point: kernel, then V */
    double *mean;
    double *covariance; /* count x count, upper triangle, then its factor */
} sample_space;

static int reserve(sample_space *w, const gp *g, size_t count)
{
    size_t n = g->n;
    double *block = malloc((count * (g->d + 2 + n + count) + n) * sizeof(double));
    w->z = block;
    if (!block) {
        return 0;
    }
    w->square = block + count * g->d;
    w->mean = w->square + count;
    w->data_square = w->mean + count;
    w->v = w->data_square + n;
    w->covariance = w->v + n * count;
    return 1;
}

/* Posterior mean at the points, and V. */
static void condition(const gp *g, size_t count, sample_space *w)
{
    int n = (int)g->n, q = (int)count, d = (int)g->d;
    gp_row_squares(g->n, g->d, g->z, w->data_square);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, q, d, -2.0, g->z, d, w->z, d, 0.0, w->v, n);
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < g->n; i++) {
            w->v[j * g->n + i] += w->data_square[i] + w->square[j];
        }
        w->mean[j] = g->hyper.mean;
    }
    gp_kernel_values(g, g->n * count, w->v, NULL);
    cblas_dgemv(CblasColMajor, CblasTrans, n, q, 1.0, w->v, n, g->weight, 1, 1.0, w->mean, 1);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, n, q, 1.0, g->factor,
                (int)g->capacity, w->v, n);
}

/* Cholesky factor of the posterior covariance; 0 where no jitter makes it positive definite. */
static int factorise(const gp *g, size_t count, sample_space *w)
{
    int n = (int)g->n, q = (int)count, info = 1;
    for (size_t i = 0; i < GP_JITTERS && info != 0; i++) {
        gp_kernel_matrix(g, count, w->z, w->square, gp_jitters[i], w->covariance, count, NULL);
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, q, n, -1.0, w->v, n, 1.0, w->covariance, q);
        dpotrf_("U", &q, w->covariance, &q, &info, 1);
    }
    return info == 0;
}

ds_status gp_sample(gp *g, size_t count, const double *points, size_t draws, ds_random *rng, double *out)
{
    sample_space w;
    if (!reserve(&w, g, count)) {
        return DS_E_NOMEM;
    }
    gp_scale_inputs(g, count, points, w.z);
    gp_row_squares(count, g->d, w.z, w.square);
    condition(g, count, &w);
    int ok = factorise(g, count, &w);
    for (size_t s = 0; ok && s < draws; s++) {
        double *f = out + s * count;
        for (size_t j = 0; j < count; j++) {
            f[j] = ds_random_normal(rng);
        }
        cblas_dtrmv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, (int)count, w.covariance, (int)count,
                    f, 1);
        for (size_t j = 0; j < count; j++) {
            f[j] += w.mean[j];
        }
    }
    free(w.z);
    return ok ? DS_OK : DS_E_NUMERIC;
}
