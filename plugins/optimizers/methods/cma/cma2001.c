/* SPDX-License-Identifier: Apache-2.0 */
/* cma2001.c - sampling and updates of the covariance matrix adaptation of 2001, see cma2001.h. */
#include "methods/cma/cma2001.h"

#include "methods/base/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AXIS_RATIO 1e7 /* of D; beyond it the diagonal of C is raised */

static void set_weights(cma2001 *c, int kind)
{
    double sum = 0.0, square = 0.0, top = 0.5 * ((double)c->lambda + 1.0);
    top = top > (double)c->mu ? top : (double)c->mu + 1.0; /* weights of the mu best are positive */
    for (size_t i = 0; i < c->lambda; i++) {
        double log_weight = log(top) - log((double)i + 1.0);
        c->weights[i] =
            i >= c->mu ? fmin(log_weight, 0.0) : (kind == CMA2001_EQUAL_WEIGHTS ? 1.0 : log_weight);
        sum += i < c->mu ? c->weights[i] : 0.0;
    }
    for (size_t i = 0; i < c->mu; i++) {
        c->weights[i] /= sum;
        square += c->weights[i] * c->weights[i];
    }
    c->c_w = 1.0 / sqrt(square);
}

/* Constants of the listing in Hansen and Ostermeier 2001. */
static void set_constants_2001(cma2001 *c)
{
    double n = (double)c->n;
    c->c_c = 4.0 / (n + 4.0);
    c->c_s = c->c_c;
    c->c_1 = 2.0 / ((n + sqrt(2.0)) * (n + sqrt(2.0)));
    c->c_mu = 0.0;
    c->d_s = 1.0 / c->c_s + 1.0;
}

/* Constants of the tutorial, table 1, and the scale of its negative weights. */
static void set_constants_tutorial(cma2001 *c)
{
    double n = (double)c->n, mueff = c->c_w * c->c_w;
    c->c_s = (mueff + 2.0) / (n + mueff + 5.0);
    c->d_s = 1.0 + 2.0 * fmax(0.0, sqrt((mueff - 1.0) / (n + 1.0)) - 1.0) + c->c_s;
    c->c_c = (4.0 + mueff / n) / (n + 4.0 + 2.0 * mueff / n);
    c->c_1 = 2.0 / ((n + 1.3) * (n + 1.3) + mueff);
    c->c_mu = fmin(1.0 - c->c_1, 2.0 * (0.25 + mueff + 1.0 / mueff - 2.0) / ((n + 2.0) * (n + 2.0) + mueff));
    double sum = 0.0, square = 0.0;
    for (size_t i = c->mu; i < c->lambda; i++) {
        sum += c->weights[i];
        square += c->weights[i] * c->weights[i];
    }
    if (sum < 0.0 && c->c_mu > 0.0) {
        double mueff_negative = sum * sum / square;
        double scale = fmin(1.0 + c->c_1 / c->c_mu, 1.0 + 2.0 * mueff_negative / (mueff + 2.0));
        scale = fmin(scale, (1.0 - c->c_1 - c->c_mu) / (n * c->c_mu));
        for (size_t i = c->mu; i < c->lambda; i++) {
            c->weights[i] *= scale / -sum;
        }
    }
}

int cma2001_init(cma2001 *c, size_t n, size_t lambda, size_t mu, int weights, int update)
{
    memset(c, 0, sizeof(*c));
    if (n > CMA2001_MOST) { /* LAPACK's sizes would overflow from 32767 on */
        return 0;
    }
    c->n = n;
    c->lambda = lambda;
    c->mu = mu;
    c->update = update;
    double dim = (double)n;
    c->chi_n = sqrt(dim) * (1.0 - 1.0 / (4.0 * dim) + 1.0 / (21.0 * dim * dim));
    int order = (int)n, query = -1, info;
    double size, unused = 0.0;
    dsyevd_("V", "U", &order, &unused, &order, &unused, &size, &query, &c->liwork, &query, &info, 1, 1);
    c->lwork = (int)size;
    c->weights = ds_memory_doubles(&c->memory, lambda);
    ds_memory_each(&c->memory, n, (double **const[]){&c->mean, &c->D, &c->p_c, &c->p_s, &c->z, &c->y, NULL});
    ds_memory_each(&c->memory, n * n, (double **const[]){&c->C, &c->B, NULL});
    c->work = ds_memory_doubles(&c->memory, (size_t)c->lwork);
    c->iwork = ds_memory_take(&c->memory, (size_t)c->liwork, sizeof(int));
    if (c->memory.failed) {
        return 0;
    }
    set_weights(c, weights);
    if (update == CMA2001_TUTORIAL) {
        set_constants_tutorial(c);
    } else {
        set_constants_2001(c);
    }
    return 1;
}

void cma2001_free(cma2001 *c)
{
    ds_memory_free(&c->memory);
    memset(c, 0, sizeof(*c));
}

/* C = I, and nothing remembered of where it came from. */
static void forget(cma2001 *c)
{
    size_t n = c->n;
    memset(c->C, 0, n * n * sizeof(double));
    memset(c->B, 0, n * n * sizeof(double));
    memset(c->p_c, 0, n * sizeof(double));
    memset(c->p_s, 0, n * sizeof(double));
    for (size_t k = 0; k < n; k++) {
        c->C[k * n + k] = c->B[k * n + k] = c->D[k] = 1.0;
    }
    c->is_identity = c->is_decomposed = 1;
}

void cma2001_start(cma2001 *c, const double *mean, double sigma)
{
    memcpy(c->mean, mean, c->n * sizeof(double));
    c->sigma = sigma;
    c->generation = 0;
    forget(c);
}

static int is_finite(const cma2001 *c)
{
    size_t k = 0;
    while (k < c->n * c->n && isfinite(c->C[k])) {
        k++;
    }
    return k == c->n * c->n;
}

/* C = B D^2 B^T, with the diagonal of C raised where the axes differ too much for the arithmetic; I where C
 * has overflowed. */
static void decompose(cma2001 *c)
{
    size_t n = c->n;
    int order = (int)n, info;
    if (!is_finite(c)) { /* LAPACK may loop for ever on NaN */
        forget(c);
        return;
    }
    for (int attempt = 0; attempt < 2 && !c->is_decomposed; attempt++) {
        memcpy(c->B, c->C, n * n * sizeof(double));
        dsyevd_("V", "U", &order, c->B, &order, c->D, c->work, &c->lwork, c->iwork, &c->liwork, &info, 1, 1);
        double largest = c->D[n - 1], least = largest / (MAX_AXIS_RATIO * MAX_AXIS_RATIO);
        if (info == 0 && c->D[0] >= least) {
            c->is_decomposed = 1;
        } else {
            for (size_t k = 0; k < n; k++) {
                c->C[k * n + k] += info == 0 ? 2.0 * least - fmin(c->D[0], 0.0) : 1e-8;
            }
        }
    }
    for (size_t k = 0; k < n; k++) {
        c->D[k] = sqrt(fmax(c->D[k], 1e-300));
    }
    c->is_decomposed = 1;
}

void cma2001_sample(cma2001 *c, ds_random *rng, double *x)
{
    size_t n = c->n;
    if (!c->is_decomposed) {
        decompose(c);
    }
    for (size_t k = 0; k < n; k++) {
        c->z[k] = c->D[k] * ds_random_normal(rng);
    }
    memcpy(x, c->mean, n * sizeof(double));
    if (c->is_identity) {
        cblas_daxpy((int)n, c->sigma, c->z, 1, x, 1);
    } else {
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)n, (int)n, c->sigma, c->B, (int)n, c->z, 1, 1.0, x, 1);
    }
}

void cma2001_recombine(const cma2001 *c, const double *ranked, size_t count, double *mean)
{
    size_t used = count < c->mu ? count : c->mu;
    double sum = 0.0;
    for (size_t i = 0; i < used; i++) {
        sum += c->weights[i];
    }
    memset(mean, 0, c->n * sizeof(double));
    for (size_t i = 0; i < used; i++) {
        cblas_daxpy((int)c->n, c->weights[i] / sum, ranked + i * c->n, 1, mean, 1);
    }
}

/* out = C^{-1/2} y = B D^{-1} B^T y; y and out may be the same. */
static void whiten(cma2001 *c, const double *y, double *out)
{
    size_t n = c->n;
    if (c->is_identity) {
        memmove(out, y, n * sizeof(double));
        return;
    }
    cblas_dgemv(CblasColMajor, CblasTrans, (int)n, (int)n, 1.0, c->B, (int)n, y, 1, 0.0, c->z, 1);
    for (size_t k = 0; k < n; k++) {
        c->z[k] /= c->D[k];
    }
    cblas_dgemv(CblasColMajor, CblasNoTrans, (int)n, (int)n, 1.0, c->B, (int)n, c->z, 1, 0.0, out, 1);
}

void cma2001_clip_shift(cma2001 *c, double *shift)
{
    double n = (double)c->n;
    whiten(c, shift, c->y);
    double length = c->c_w * cblas_dnrm2((int)c->n, c->y, 1) / c->sigma;
    double limit = sqrt(2.0 * n) + 2.0 * n / (n + 2.0);
    if (length > limit) {
        cblas_dscal((int)c->n, limit / length, shift, 1);
    }
}

/* Adds the rank-mu part of the tutorial's update; samples with a negative weight are scaled to
 * unit length first. */
static void add_rank_mu(cma2001 *c, const double *ranked, size_t count)
{
    int n = (int)c->n;
    for (size_t i = 0; i < count; i++) {
        double *y = c->y, weight = c->weights[i];
        for (size_t k = 0; k < c->n; k++) {
            y[k] = (ranked[i * c->n + k] - c->mean[k]) / c->sigma;
        }
        if (weight < 0.0) {
            whiten(c, y, c->work);
            weight *= (double)n / (cblas_ddot(n, c->work, 1, c->work, 1) + 1e-8);
        }
        cblas_dsyr(CblasColMajor, CblasUpper, n, c->c_mu * weight, y, 1, c->C, n);
    }
}

void cma2001_update(cma2001 *c, const double *shift, const double *ranked, size_t count,
                    const double *new_mean)
{
    int n = (int)c->n;
    double *y = c->y;
    for (size_t k = 0; k < c->n; k++) {
        y[k] = shift[k] / c->sigma;
    }
    double *white = c->work; /* its size is at least n */
    whiten(c, y, white);
    cblas_dscal(n, 1.0 - c->c_s, c->p_s, 1);
    cblas_daxpy(n, sqrt(c->c_s * (2.0 - c->c_s)) * c->c_w, white, 1, c->p_s, 1); /* eq. 16 */
    double length = cblas_dnrm2(n, c->p_s, 1), h = 1.0, weights = 1.0;
    if (c->update == CMA2001_TUTORIAL) {
        double known = sqrt(1.0 - pow(1.0 - c->c_s, 2.0 * (c->generation + 1.0)));
        h = length / known < (1.4 + 2.0 / (n + 1.0)) * c->chi_n ? 1.0 : 0.0;
        weights = 0.0;
        for (size_t i = 0; i < count; i++) {
            weights += c->weights[i];
        }
    }
    cblas_dscal(n, 1.0 - c->c_c, c->p_c, 1);
    cblas_daxpy(n, h * sqrt(c->c_c * (2.0 - c->c_c)) * c->c_w, y, 1, c->p_c, 1); /* eq. 14 */
    double keep = 1.0 - c->c_1 - c->c_mu * weights + c->c_1 * (1.0 - h) * c->c_c * (2.0 - c->c_c);
    cblas_dscal(n * n, keep, c->C, 1);
    cblas_dsyr(CblasColMajor, CblasUpper, n, c->c_1, c->p_c, 1, c->C, n); /* eq. 15 */
    if (c->update == CMA2001_TUTORIAL) {
        add_rank_mu(c, ranked, count);
    }
    double change = (length / c->chi_n - 1.0) / c->d_s;
    if (c->update == CMA2001_TUTORIAL) {
        change = fmin(1.0, c->c_s * (length / c->chi_n - 1.0) / c->d_s);
    }
    c->sigma *= exp(change); /* eq. 17 */
    memcpy(c->mean, new_mean, c->n * sizeof(double));
    c->generation++;
    c->is_identity = c->is_decomposed = 0;
}
