/* SPDX-License-Identifier: Apache-2.0 */
/* quad_model.c - a quadratic by least squares, and its least value in a ball by the eigenvectors of its
 * Hessian (J. More, D. Sorensen, Computing a trust region step, SIAM J. Sci. Stat. Comput. 4, 1983), see
 * quad_model.h. */
#include "methods/cma/quad_model.h"

#include "methods/base/blas.h"
#include "methods/cma/cma.h"

#include <math.h>
#include <string.h>

#define HALVINGS 100   /* of the interval that holds the multiplier */
#define ROUNDING 1e-13 /* of an eigenvalue, in terms of the greatest */
#define EDGE 1e-6      /* a step shorter by this than the radius ends inside */
#define LEAST_GAIN                                                                                           \
    1e-12        /* a fall by a smaller share of the losses of the points is rounding, as is a shorter step */
#define EVERY 13 /* evaluations between two fits at least */
#define SHARE 0.9 /* of the coefficients, which is as many where that is more */

int quad_model_init(quad_model *q, size_t n)
{
    ds_memory *own = &q->memory;
    size_t k = (n + 1) * (n + 2) / 2;
    int order = (int)k, one = 1, ask = -1, info;
    double size = 0.0;
    memset(q, 0, sizeof *q);
    q->n = n;
    q->points = k;
    dgels_("N", &order, &order, &one, NULL, &order, NULL, &order, &size, &ask, &info, 1);
    q->lwork = (int)size;
    q->x = ds_memory_doubles(own, k * n);
    q->rows = ds_memory_doubles(own, k * k);
    q->work = ds_memory_doubles(own, (size_t)q->lwork);
    q->hessian = ds_memory_doubles(own, n * n);
    q->eigen = ds_memory_doubles(own, eigen_work_size(n));
    q->iwork = ds_memory_take(own, eigen_iwork_size(n), sizeof *q->iwork);
    ds_memory_each(own, k, (double **const[]){&q->loss, &q->rhs, NULL});
    ds_memory_each(own, n, (double **const[]){&q->z, &q->value, &q->slope, &q->step, &q->mean, NULL});
    return !own->failed;
}

void quad_model_free(quad_model *q)
{
    ds_memory_free(&q->memory);
}

void quad_model_clear(quad_model *q)
{
    q->count = 0;
    q->due = 0;
}

void quad_model_add(quad_model *q, const double *x, double loss)
{
    size_t at = q->count;
    if (!isfinite(loss) || (at == q->points && !(loss < q->loss[q->worst]))) {
        return;
    }
    if (at == q->points) {
        at = q->worst;
    } else {
        q->count++;
    }
    memcpy(q->x + at * q->n, x, q->n * sizeof(double));
    q->loss[at] = loss;
    q->worst = 0;
    for (size_t i = 1; i < q->count; i++) {
        q->worst = q->loss[i] > q->loss[q->worst] ? i : q->worst;
    }
}

static size_t best_of(const quad_model *q)
{
    size_t best = 0;
    for (size_t i = 1; i < q->count; i++) {
        best = q->loss[i] < q->loss[best] ? i : best;
    }
    return best;
}

/* Sets the mean of the points; returns the distance of the worst one from the best. */
static double centre(quad_model *q, size_t best)
{
    double square = 0.0;
    for (size_t k = 0; k < q->n; k++) {
        double sum = 0.0, d = q->x[q->worst * q->n + k] - q->x[best * q->n + k];
        for (size_t i = 0; i < q->count; i++) {
            sum += q->x[i * q->n + k];
        }
        q->mean[k] = sum / (double)q->count;
        square += d * d;
    }
    return sqrt(square);
}

/* The coefficients of 1, z_i and z_i z_j (i <= j) go to rhs, for points around their mean in units of
 * `scale` and losses in those of `range`. 0 where they are not determined. */
static int fit(quad_model *q, double scale, double least, double range)
{
    size_t n = q->n, k = q->points;
    for (size_t i = 0; i < k; i++) {
        double *column = q->rows + i; /* of a matrix by columns */
        for (size_t a = 0; a < n; a++) {
            q->z[a] = (q->x[i * n + a] - q->mean[a]) / scale;
        }
        *column = 1.0;
        for (size_t a = 0; a < n; a++) {
            *(column += k) = q->z[a];
        }
        for (size_t a = 0; a < n; a++) {
            for (size_t b = a; b < n; b++) {
                *(column += k) = q->z[a] * q->z[b];
            }
        }
        q->rhs[i] = (q->loss[i] - least) / range;
    }
    int order = (int)k, one = 1, info;
    dgels_("N", &order, &order, &one, q->rows, &order, q->rhs, &order, q->work, &q->lwork, &info, 1);
    for (size_t i = 0; i < k; i++) {
        info |= !isfinite(q->rhs[i]);
    }
    return info == 0;
}

/* Hessian, and slope at z, of the quadratic in rhs. */
static void derive(quad_model *q)
{
    size_t n = q->n;
    const double *c = q->rhs + n + 1;
    memcpy(q->slope, q->rhs + 1, n * sizeof(double));
    for (size_t a = 0; a < n; a++) {
        for (size_t b = a; b < n; b++, c++) {
            q->hessian[b * n + a] = q->hessian[a * n + b] = a == b ? 2.0 * *c : *c;
            q->slope[a] += *c * q->z[b];
            q->slope[b] += *c * q->z[a];
        }
    }
}

/* Sets step to -(value + multiplier)^{-1} slope, in eigenvectors; returns its length, INFINITY where there
 * is none. */
static double step_length(quad_model *q, double multiplier)
{
    double square = 0.0;
    for (size_t a = 0; a < q->n; a++) {
        double curvature = q->value[a] + multiplier;
        if (!(curvature > 0.0) && q->slope[a] != 0.0) {
            return (double)INFINITY;
        }
        q->step[a] = curvature > 0.0 ? -q->slope[a] / curvature : 0.0;
        square += q->step[a] * q->step[a];
    }
    return sqrt(square);
}

/* The least value within distance 1, where value are the eigenvalues and slope is given in eigenvectors. */
static void step_in_ball(quad_model *q)
{
    double norm = 0.0, low = fmax(0.0, -q->value[0]);
    for (size_t a = 0; a < q->n; a++) {
        norm += q->slope[a] * q->slope[a];
    }
    double high = low + sqrt(norm) + ROUNDING * fmax(fabs(q->value[0]), fabs(q->value[q->n - 1]));
    for (int i = 0; i < HALVINGS && step_length(q, low) > 1.0; i++) {
        double middle = 0.5 * (low + high);
        if (step_length(q, middle) > 1.0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double length = step_length(q, low);
    if (length > 1.0) {
        length = step_length(q, high);
    }
    if (q->value[0] < 0.0 &&
        length < 1.0 - EDGE) { /* no slope along the axis that falls: both ways are as good */
        double others = length * length - q->step[0] * q->step[0];
        q->step[0] = copysign(sqrt(fmax(1.0 - others, 0.0)), q->step[0]);
    }
}

int quad_model_minimum(quad_model *q, double *x)
{
    size_t n = q->n;
    if (q->count < q->points) {
        return 0;
    }
    size_t best = best_of(q);
    double least = q->loss[best], range = q->loss[q->worst] - least, scale = centre(q, best), gain = 0.0,
           length = 0.0;
    q->fits++;
    if (!(range > 0.0 && isfinite(range) && scale > 0.0) || !fit(q, scale, least, range)) {
        return 0;
    }
    for (size_t a = 0; a < n; a++) {
        q->z[a] = (q->x[best * n + a] - q->mean[a]) / scale;
    }
    derive(q);
    if (eigen_symmetric(n, q->hessian, q->value, q->eigen, q->iwork) != 0) {
        return 0;
    }
    memcpy(q->step, q->slope, n * sizeof(double));
    for (size_t a = 0; a < n; a++) {
        q->slope[a] = cblas_ddot((int)n, q->hessian + a * n, 1, q->step, 1);
    }
    step_in_ball(q);
    memset(x, 0, n * sizeof(double));
    for (size_t a = 0; a < n; a++) {
        gain -= q->step[a] * (q->slope[a] + 0.5 * q->value[a] * q->step[a]);
        length += q->step[a] * q->step[a];
        cblas_daxpy((int)n, q->step[a] * scale, q->hessian + a * n, 1, x, 1);
    }
    for (size_t a = 0; a < n; a++) {
        x[a] += q->x[best * n + a];
    }
    return gain > LEAST_GAIN && length > LEAST_GAIN * LEAST_GAIN;
}

int quad_model_propose(quad_model *q, uint64_t evaluations, double *x)
{
    if (evaluations < q->due || q->count < q->points) {
        return 0;
    }
    const uint64_t share = (uint64_t)(SHARE * (double)q->points);
    q->due = evaluations + (share > EVERY ? share : EVERY);
    return quad_model_minimum(q, x);
}
