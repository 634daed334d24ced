/* SPDX-License-Identifier: Apache-2.0 */
/* gp.c - data and predictions of the Gaussian process in gp.h, in terms of BLAS level 3. */
#include "methods/bayes/gp.h"

#include "methods/base/blas.h"
#include "methods/bayes/gp_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREDICT_CHUNK 64   /* points per block of a prediction */
#define MIN_VARIANCE 1e-12 /* floor of the posterior variance */
#define LOG_2PI 1.8378770664093454836

gp *gp_create(size_t d, const gp_model *model)
{
    gp *g = calloc(1, sizeof(*g));
    if (!g) {
        return NULL;
    }
    g->d = d;
    g->model = *model;
    g->hyper.length = calloc(d, sizeof(double));
    if (!g->hyper.length) {
        gp_destroy(g);
        return NULL;
    }
    gp_default_hyper(g);
    return g;
}

void gp_destroy(gp *g)
{
    if (g) {
        gp_free_fit_space(g);
        free(g->hyper.length);
        ds_memory_free(&g->data);
        ds_memory_free(&g->prediction);
        free(g);
    }
}

/* ---- data ---- */

/* Room for n data; keeps what is there. */
static int reserve_data(gp *g, size_t n)
{
    if (n <= g->capacity) {
        return 1;
    }
    size_t room = n + n / 4 + 16;
    ds_memory data = {0};
    double *z = ds_memory_doubles(&data, room * g->d), *y = ds_memory_doubles(&data, room);
    double *factor = ds_memory_doubles(&data, room * room), *weight = ds_memory_doubles(&data, room);
    if (data.failed) {
        ds_memory_free(&data);
        return 0;
    }
    if (g->n > 0) {
        memcpy(z, g->z, g->n * g->d * sizeof(double));
        memcpy(y, g->y, g->n * sizeof(double));
        memcpy(weight, g->weight, g->n * sizeof(double));
        for (size_t j = 0; j < g->n; j++) {
            memcpy(factor + j * room, g->factor + j * g->capacity, (j + 1) * sizeof(double));
        }
    }
    ds_memory_free(&g->data);
    g->data = data;
    g->z = z;
    g->y = y;
    g->factor = factor;
    g->weight = weight;
    g->capacity = room;
    return 1;
}

ds_status gp_condition(gp *g, size_t n, const double *inputs)
{
    g->n = 0;
    if (!reserve_data(g, n)) {
        return DS_E_NOMEM;
    }
    gp_scale_inputs(g, n, inputs, g->z);
    gp_row_squares(n, g->d, g->z, g->weight);
    for (size_t i = 0; i < GP_JITTERS; i++) {
        int order = (int)n, ld = (int)g->capacity, info;
        gp_kernel_matrix(g, n, g->z, g->weight, gp_jitters[i], g->factor, g->capacity, NULL);
        dpotrf_("U", &order, g->factor, &ld, &info, 1);
        if (info == 0) {
            g->n = n;
            return DS_OK;
        }
    }
    return DS_E_NUMERIC;
}

ds_status gp_append(gp *g, const double *input)
{
    if (!reserve_data(g, g->n + 1)) {
        return DS_E_NOMEM;
    }
    size_t n = g->n, d = g->d;
    double *z = g->z + n * d, *column = g->factor + n * g->capacity;
    gp_scale_inputs(g, 1, input, z);
    for (size_t i = 0; i < n; i++) {
        double r2 = 0.0;
        for (size_t k = 0; k < d; k++) {
            double diff = g->z[i * d + k] - z[k];
            r2 += diff * diff;
        }
        column[i] = r2;
    }
    gp_kernel_values(g, n, column, NULL);
    cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, (int)n, g->factor, (int)g->capacity,
                column, 1);
    double rest = g->hyper.variance + g->hyper.noise - cblas_ddot((int)n, column, 1, column, 1);
    if (!(rest > 1e-20)) {
        return DS_E_NUMERIC;
    }
    column[n] = sqrt(rest);
    g->n++;
    return DS_OK;
}

void gp_set_targets(gp *g, const double *targets)
{
    int order = (int)g->n, lda = (int)g->capacity, one = 1, info;
    for (size_t i = 0; i < g->n; i++) {
        g->y[i] = targets[i];
        g->weight[i] = targets[i] - g->hyper.mean;
    }
    if (order > 0) {
        dpotrs_("U", &order, &one, g->factor, &lda, g->weight, &order, &info, 1);
    }
}

double gp_log_likelihood(const gp *g)
{
    double sum = -0.5 * (double)g->n * LOG_2PI;
    for (size_t i = 0; i < g->n; i++) {
        sum -= 0.5 * (g->y[i] - g->hyper.mean) * g->weight[i] + log(g->factor[i * g->capacity + i]);
    }
    return sum;
}

/* ---- prediction ---- */

static int reserve_prediction(gp *g)
{
    size_t chunk = PREDICT_CHUNK;
    if (g->capacity <= g->predict_capacity) {
        return 1;
    }
    ds_memory_free(&g->prediction);
    g->k = ds_memory_doubles(&g->prediction, g->capacity * chunk);
    g->h = ds_memory_doubles(&g->prediction, 2 * g->capacity * chunk);
    g->t = ds_memory_doubles(&g->prediction, g->capacity + chunk + 3 * chunk * g->d);
    g->predict_capacity = g->prediction.failed ? 0 : g->capacity;
    return g->predict_capacity > 0;
}

/* Gradient of sum_i c_i k(u, u_i) for each of q points with coefficients c = h .* weights (n x q): with t =
 * Z^T c, component k is (t_k - z_k sum c) / length_k. */
static void kernel_gradient(const gp *g, size_t q, const double *zq, const double *coefficient, double *t,
                            const double *divisor, double *out)
{
    size_t n = g->n, d = g->d;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)d, (int)q, (int)n, 1.0, g->z, (int)d,
                coefficient, (int)n, 0.0, t, (int)d);
    for (size_t j = 0; j < q; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            sum += coefficient[j * n + i];
        }
        for (size_t k = 0; k < d; k++) {
            size_t jk = j * d + k;
            out[jk] = (t[jk] - zq[jk] * sum) / (g->hyper.length[k] * (divisor ? divisor[j] : 1.0));
        }
    }
}

/* At most PREDICT_CHUNK points. */
static void predict_chunk(gp *g, size_t q, const double *points, double *mean, double *sd, double *dmean,
                          double *dsd)
{
    size_t n = g->n, d = g->d;
    double *k = g->k, *h = g->h, *slope = g->h + n * q;
    double *square = g->t, *zq = square + n, *square_q = zq + q * d, *t = square_q + q;
    gp_row_squares(n, d, g->z, square);
    gp_scale_inputs(g, q, points, zq);
    gp_row_squares(q, d, zq, square_q);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)n, (int)q, (int)d, -2.0, g->z, (int)d, zq,
                (int)d, 0.0, k, (int)n);
    for (size_t j = 0; j < q; j++) {
        for (size_t i = 0; i < n; i++) {
            k[j * n + i] += square[i] + square_q[j];
        }
    }
    gp_kernel_values(g, n * q, k, dmean ? slope : NULL);
    for (size_t j = 0; j < q; j++) {
        mean[j] = g->hyper.mean;
    }
    cblas_dgemv(CblasColMajor, CblasTrans, (int)n, (int)q, 1.0, k, (int)n, g->weight, 1, 1.0, mean, 1);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, (int)n, (int)q, 1.0,
                g->factor, (int)g->capacity, k, (int)n);
    for (size_t j = 0; j < q; j++) {
        double explained = cblas_ddot((int)n, k + j * n, 1, k + j * n, 1);
        sd[j] = sqrt(fmax(g->hyper.variance - explained, MIN_VARIANCE));
    }
    if (!dmean) {
        return;
    }
    for (size_t j = 0; j < q; j++) {
        for (size_t i = 0; i < n; i++) {
            h[j * n + i] = slope[j * n + i] * g->weight[i];
        }
    }
    kernel_gradient(g, q, zq, h, t, NULL, dmean);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n, (int)q, 1.0,
                g->factor, (int)g->capacity, k, (int)n);
    for (size_t i = 0; i < n * q; i++) {
        h[i] = -slope[i] * k[i];
    }
    kernel_gradient(g, q, zq, h, t, sd, dsd);
}

ds_status gp_predict(gp *g, size_t count, const double *points, double *mean, double *sd, double *dmean,
                     double *dsd)
{
    if (g->n == 0) {
        for (size_t j = 0; j < count; j++) {
            mean[j] = g->hyper.mean;
            sd[j] = sqrt(g->hyper.variance);
        }
        if (dmean) {
            memset(dmean, 0, count * g->d * sizeof(double));
            memset(dsd, 0, count * g->d * sizeof(double));
        }
        return DS_OK;
    }
    if (!reserve_prediction(g)) {
        return DS_E_NOMEM;
    }
    for (size_t at = 0; at < count; at += PREDICT_CHUNK) {
        size_t q = count - at < PREDICT_CHUNK ? count - at : PREDICT_CHUNK;
        size_t shift = at * g->d;
        predict_chunk(g, q, points + shift, mean + at, sd + at, dmean ? dmean + shift : NULL,
                      dmean ? dsd + shift : NULL);
    }
    return DS_OK;
}
