/* SPDX-License-Identifier: Apache-2.0 */
/* cma.c - one (mu/mu_w, lambda)-CMA-ES: sampling and update. Equation numbers: tutorial, arXiv:1604.00772v2.
 * Whole generations go through BLAS; only the lower triangle of C is kept, and no generation allocates. */
#include "methods/cma/cma.h"

#include "methods/base/blas.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- strategy constants of each profile ---- */

/* (sum w)^2 / sum w^2 over i in [from, to). */
static double effective_mass(const double *w, uint64_t from, uint64_t to)
{
    double sum = 0, square = 0;
    for (uint64_t i = from; i < to; i++) {
        sum += w[i];
        square += w[i] * w[i];
    }
    return square > 0 ? sum * sum / square : 0;
}

/* Raw weights, decreasing: eq. 49 of the tutorial, or those of the older codes, which are positive
 * up to mu. */
static void raw_weights(cma_constants *k, const cma_options *o, int positive_only)
{
    double top = positive_only ? (double)k->mu + 1 : 0.5 * ((double)k->lambda + 1);
    if (o->profile == CMA_2001) {
        top = 0.5 * ((double)k->lambda + 1);
    }
    for (uint64_t i = 0; i < k->lambda; i++) {
        k->weight[i] = o->equal_weights && i < k->mu ? 1 : log(top) - log((double)(i + 1));
    }
}

/* Positive part sums to 1 (eq. 53); negative part as far as C stays positive definite (eqs. 50-52), or 0. */
static void scale_weights(cma_constants *k, int active)
{
    double n = (double)k->n, positive = 0, negative = 0;
    for (uint64_t i = 0; i < k->lambda; i++) {
        *(i < k->mu ? &positive : &negative) += k->weight[i];
    }
    double s = 0;
    if (active && k->c_mu > 0 && negative < 0) {
        s = fmin(1 + k->c_1 / k->c_mu, 1 + 2 * k->mueff_neg / (k->mueff + 2));
        s = fmin(s, (1 - k->c_1 - k->c_mu) / (n * k->c_mu));
    }
    k->weight_sum = 0;
    for (uint64_t i = 0; i < k->lambda; i++) {
        k->weight[i] = i < k->mu ? k->weight[i] / positive : s > 0 ? s * k->weight[i] / fabs(negative) : 0;
        k->weight_sum += k->weight[i];
    }
}

/* Learning rates of the tutorial; `bonus` is 1/4 there and 0 in the library of profile PAPER. */
static void tutorial_rates(cma_constants *k, double bonus)
{
    double n = (double)k->n, mueff = k->mueff;
    k->c_s = (mueff + 2) / (n + mueff + 5);
    k->c_c = (4 + mueff / n) / (n + 4 + 2 * mueff / n);
    k->c_1 = 2 / (pow(n + 1.3, 2) + mueff);
    k->c_mu = fmin(1 - k->c_1, 2 * (bonus + mueff + 1 / mueff - 2) / (pow(n + 2, 2) + mueff));
}

/* Total learning rate c_cov of c-cmaes and of Ros and Hansen 2008. */
static double older_ccov(const cma_constants *k)
{
    double n = (double)k->n, mueff = k->mueff;
    return 2 / (mueff * pow(n + sqrt(2), 2)) +
           (1 - 1 / mueff) * fmin(1, (2 * mueff - 1) / (pow(n + 2, 2) + mueff));
}

static void older_rates(cma_constants *k)
{
    double n = (double)k->n, ccov = older_ccov(k);
    k->c_s = (k->mueff + 2) / (n + k->mueff + 3);
    k->c_c = 4 / (n + 4);
    k->c_1 = ccov / k->mueff;
    k->c_mu = ccov - k->c_1;
}

static void rates_2001(cma_constants *k)
{
    double n = (double)k->n;
    k->c_s = k->c_c = 4 / (n + 4);
    k->c_1 = 2 / pow(n + sqrt(2), 2);
    k->c_mu = 0;
}

/* A diagonal has n numbers to learn instead of n^2/2, and can learn them faster. */
static void diagonal_rates(cma_constants *k, int profile)
{
    double n = (double)k->n;
    if (profile == CMA_PAPER) { /* class SepCMA of the library */
        k->c_1 = 2 / (pow(n + 1.3, 2) + k->mueff);
        k->c_mu = (n + 2) / 3 * older_ccov(k);
    } else {
        double factor = profile == CMA_C_CMAES ? (n + 1.5) / 3 : (n + 2) / 3;
        k->c_1 = fmin(1, factor * k->c_1);
        k->c_mu *= factor;
    }
    k->c_mu = fmin(1 - k->c_1, k->c_mu);
}

/* Generations from one decomposition to the next. 1/((c_1 + c_mu) 10 n) of the tutorial (appendix
 * B.2) makes its cost O(n^2); a share > 0 waits until C has turned over by that much, which saves
 * more in high dimension. */
static uint64_t decomposition_gap(const cma_constants *k, const cma_options *o)
{
    if (o->profile == CMA_PAPER || o->profile == CMA_2001 || o->diagonal) {
        return 1;
    }
    double rate = k->c_1 + k->c_mu, tutorial = ceil(1 / (rate * (double)k->n * 10));
    return (uint64_t)fmin(fmax(fmax(1, tutorial), floor(o->eigen_share / rate)), 1e6);
}

uint64_t cma_default_lambda(uint64_t n)
{
    return 4 + (uint64_t)floor(3 * log((double)n));
}

int cma_constants_init(cma_constants *k, const cma_options *o)
{
    double n = (double)o->n;
    int older = o->profile == CMA_C_CMAES || (o->profile == CMA_PAPER && o->diagonal);
    *k = (cma_constants){.n = o->n, .c_m = 1, .log_step_cap = INFINITY, .max_axis_ratio = INFINITY};
    k->lambda = o->lambda ? o->lambda : cma_default_lambda(o->n);
    k->mu = o->mu ? o->mu : k->lambda / 2;
    k->weight = malloc(k->lambda * sizeof(double));
    if (!k->weight) {
        return -1;
    }
    raw_weights(k, o, older);
    k->mueff = effective_mass(k->weight, 0, k->mu);
    k->mueff_neg = effective_mass(k->weight, k->mu, k->lambda);
    k->chi_n = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
    if (o->profile == CMA_2001) {
        rates_2001(k);
    } else if (older) {
        older_rates(k);
    } else {
        tutorial_rates(k, o->profile == CMA_TUTORIAL ? 0.25 : 0);
    }
    if (o->diagonal) {
        diagonal_rates(k, o->profile);
    }
    scale_weights(k, o->active && !older && o->profile != CMA_2001);

    double damping = 1 + 2 * fmax(0, sqrt((k->mueff - 1) / (n + 1)) - 1); /* eq. 55 */
    if (o->profile == CMA_C_CMAES && o->generations > 0) {
        damping *= fmax(0.3, 1 - n / o->generations);
    }
    k->d_s = o->profile == CMA_2001 ? 1 / k->c_s + 1 : damping + k->c_s;
    k->stall_offset = o->profile == CMA_2001 ? 0 : o->profile == CMA_PAPER ? 2 : 1;
    if (o->profile == CMA_TUTORIAL) {
        k->log_step_cap = 1;
    }
    if (o->profile == CMA_2001) {
        k->max_axis_ratio = 1e7;
    }
    k->eigen_gap = decomposition_gap(k, o);
    return 0;
}

void cma_constants_free(cma_constants *k)
{
    free(k->weight);
    k->weight = NULL;
}

/* ---- eigen-decomposition (E. Anderson et al., LAPACK Users' Guide, 3rd ed., section 2.3.4) ---- */

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

struct cma_ranked {
    double f;
    uint64_t row;
};

/* ---- memory ---- */

static int place_arrays(cma *c)
{
    uint64_t n = c->k.n, lambda = c->k.lambda, matrix = c->diagonal ? n : n * n;
    uint64_t work = c->diagonal ? n : eigen_work_size(n);
    ds_memory *own = &c->memory;
    ds_memory_each(
        own, n, (double **const[]){&c->m, &c->p_c, &c->p_s, &c->d, &c->y_w, &c->z_w, &c->invsqrt_y_w, NULL});
    ds_memory_each(own, matrix, (double **const[]){&c->c, &c->b, NULL});
    ds_memory_each(own, lambda * n, (double **const[]){&c->y, &c->z, NULL});
    c->rows = ds_memory_doubles(own, (lambda + 1) * n); /* the samples and p_c */
    c->work = ds_memory_doubles(own, work);
    c->iwork = ds_memory_take(own, c->diagonal ? 1 : eigen_iwork_size(n), sizeof(int));
    c->repaired = ds_memory_take(own, lambda, 1);
    c->order = ds_memory_take(own, lambda, sizeof(uint64_t));
    c->ranked = ds_memory_take(own, lambda, sizeof *c->ranked);
    return own->failed ? -1 : 0;
}

cma *cma_new(const cma_options *options)
{
    cma *c = calloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    c->profile = options->profile;
    c->diagonal = options->diagonal;
    if (cma_constants_init(&c->k, options) != 0 || place_arrays(c) != 0) {
        cma_free(c);
        return NULL;
    }
    return c;
}

void cma_free(cma *c)
{
    if (c) {
        cma_constants_free(&c->k);
        ds_memory_free(&c->memory);
        free(c);
    }
}

void cma_start(cma *c, const double *m, double sigma)
{
    uint64_t n = c->k.n;
    memcpy(c->m, m, n * sizeof(double));
    c->sigma = sigma;
    c->g = c->eigen_g = 0;
    c->h = 1;
    memset(c->p_c, 0, n * sizeof(double));
    memset(c->p_s, 0, n * sizeof(double));
    memset(c->c, 0, (c->diagonal ? n : n * n) * sizeof(double));
    memset(c->b, 0, (c->diagonal ? n : n * n) * sizeof(double));
    for (uint64_t i = 0; i < n; i++) {
        c->c[c->diagonal ? i : i * n + i] = 1;
        c->d[i] = 1;
        if (!c->diagonal) {
            c->b[i * n + i] = 1;
        }
    }
}

/* ---- decomposition ---- */

static double *diagonal_of(const cma *c, uint64_t i)
{
    return &c->c[c->diagonal ? i : i * c->k.n + i];
}

double cma_deviation(const cma *c, uint64_t i)
{
    return sqrt(*diagonal_of(c, i));
}

/* C = sum_i d_i^2 b_i b_i^T after eigenvalues were corrected. */
static void rebuild(cma *c)
{
    int n = (int)c->k.n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c->work[i * n + j] = c->d[i] * c->b[i * n + j];
        }
    }
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, n, 1, c->work, n, 0, c->c, n);
}

int cma_decompose(cma *c)
{
    uint64_t n = c->k.n;
    int mended = 0;
    c->eigen_g = c->g;
    if (c->diagonal) {
        memcpy(c->d, c->c, n * sizeof(double));
    } else {
        memcpy(c->b, c->c, n * n * sizeof(double));
        if (eigen_symmetric(n, c->b, c->d, c->work, c->iwork) != 0) {
            return -1;
        }
    }
    double largest = 0, smallest = INFINITY;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(c->d[i])) {
            return -1;
        }
        if (c->d[i] <= 0) {
            c->d[i] = 1e-8;
            mended = 1;
        }
        largest = fmax(largest, c->d[i]);
        smallest = fmin(smallest, c->d[i]);
    }
    double lift = fmax(0, largest / (c->k.max_axis_ratio * c->k.max_axis_ratio) - smallest);
    mended = mended || lift > 0;
    for (uint64_t i = 0; i < n; i++) {
        c->d[i] = sqrt(c->d[i] + lift);
    }
    if (mended && c->diagonal) {
        for (uint64_t i = 0; i < n; i++) {
            c->c[i] = c->d[i] * c->d[i];
        }
    } else if (mended) {
        rebuild(c);
    }
    return 0;
}

void cma_scale_axis(cma *c, uint64_t i, double factor)
{
    uint64_t n = c->k.n;
    if (c->diagonal) {
        c->c[i] *= factor * factor;
        return;
    }
    for (uint64_t j = 0; j <= i; j++) {
        c->c[i * n + j] *= factor;
    }
    for (uint64_t j = i; j < n; j++) {
        c->c[j * n + i] *= factor;
    }
}

/* ---- sampling ---- */

/* y = B (D .* z) for `count` rows from row `first` on, and x = m + sigma y (eqs. 38-40). */
static void place_rows(cma *c, uint64_t first, uint64_t count, double *x)
{
    uint64_t n = c->k.n;
    double *y = c->y + first * n;
    const double *z = c->z + first * n;
    double *scaled = c->diagonal ? y : c->rows;
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < n; i++) {
            scaled[k * n + i] = c->d[i] * z[k * n + i];
        }
    }
    if (!c->diagonal) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, (int)n, (int)n, 1, scaled, (int)n,
                    c->b, (int)n, 0, y, (int)n);
    }
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < n; i++) {
            x[(first + k) * n + i] = c->m[i] + c->sigma * y[k * n + i];
        }
    }
    memset(c->repaired + first, 0, count);
}

int cma_sample(cma *c, ds_random *random, double *x)
{
    uint64_t n = c->k.n;
    if (c->g - c->eigen_g >= c->k.eigen_gap && cma_decompose(c) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < c->k.lambda * n; i++) {
        c->z[i] = ds_random_normal(random);
    }
    place_rows(c, 0, c->k.lambda, x);
    return 0;
}

void cma_redraw(cma *c, ds_random *random, uint64_t k, double *x)
{
    uint64_t n = c->k.n;
    for (uint64_t i = 0; i < n; i++) {
        c->z[k * n + i] = ds_random_normal(random);
    }
    place_rows(c, k, 1, x);
}

/* ---- outside points ---- */

/* z = D^{-1} B^T y for `count` rows. */
static void to_axes(const cma *c, uint64_t count, const double *y, double *z)
{
    uint64_t n = c->k.n;
    if (!c->diagonal) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)n, (int)n, 1, y, (int)n, c->b,
                    (int)n, 0, z, (int)n);
    }
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < n; i++) {
            z[k * n + i] = (c->diagonal ? y[k * n + i] : z[k * n + i]) / c->d[i];
        }
    }
}

/* y and z of the rows that the caller changed, in runs of neighbours. */
static void read_repaired(cma *c, const double *x)
{
    uint64_t n = c->k.n, lambda = c->k.lambda;
    for (uint64_t from = 0, to; from < lambda; from = to + 1) {
        for (to = from; to < lambda && c->repaired[to]; to++) {
            for (uint64_t i = 0; i < n; i++) {
                c->y[to * n + i] = (x[to * n + i] - c->m[i]) / c->sigma;
            }
        }
        if (to > from) {
            to_axes(c, to - from, c->y + from * n, c->z + from * n);
        }
    }
}

static double norm(const double *v, uint64_t n)
{
    return cblas_dnrm2((int)n, v, 1);
}

void cma_inject(cma *c, uint64_t k, const double *point, double *x)
{
    uint64_t n = c->k.n;
    double *y = c->y + k * n, *z = c->z + k * n;
    for (uint64_t i = 0; i < n; i++) {
        y[i] = (point[i] - c->m[i]) / c->sigma;
    }
    to_axes(c, 1, y, z);
    double length = norm(z, n), longest = sqrt((double)n) + 2 * (double)n / ((double)n + 2);
    double shrink = length > longest ? longest / length : 1;
    for (uint64_t i = 0; i < n; i++) {
        y[i] *= shrink;
        z[i] *= shrink;
        x[k * n + i] = c->m[i] + c->sigma * y[i];
    }
    c->repaired[k] = 0; /* y and z are known */
}

/* ---- update ---- */

static int by_loss(const void *a, const void *b)
{
    const struct cma_ranked *p = a, *q = b;
    if (p->f != q->f) {
        return p->f < q->f ? -1 : 1;
    }
    return p->row < q->row ? -1 : p->row > q->row;
}

static void rank_rows(cma *c, const double *f)
{
    for (uint64_t k = 0; k < c->k.lambda; k++) {
        c->ranked[k] = (struct cma_ranked){f[k], k};
    }
    qsort(c->ranked, c->k.lambda, sizeof *c->ranked, by_loss);
    for (uint64_t i = 0; i < c->k.lambda; i++) {
        c->order[i] = c->ranked[i].row;
    }
}

/* y_w = sum_{i <= mu} w_i y_{i:lambda} (eq. 41), z_w likewise. */
static void recombine(cma *c)
{
    uint64_t n = c->k.n;
    memset(c->y_w, 0, n * sizeof(double));
    memset(c->z_w, 0, n * sizeof(double));
    for (uint64_t i = 0; i < c->k.mu; i++) {
        cblas_daxpy((int)n, c->k.weight[i], c->y + c->order[i] * n, 1, c->y_w, 1);
        cblas_daxpy((int)n, c->k.weight[i], c->z + c->order[i] * n, 1, c->z_w, 1);
    }
}

/* The caller's mean takes the place of y_w, shortened where it lies further than selection would go. */
static void recombine_outside(cma *c, const double *mean)
{
    uint64_t n = c->k.n;
    for (uint64_t i = 0; i < n; i++) {
        c->y_w[i] = (mean[i] - c->m[i]) / c->sigma;
    }
    to_axes(c, 1, c->y_w, c->z_w);
    double length = sqrt(c->k.mueff) * norm(c->z_w, n);
    double longest = sqrt(2 * (double)n) + 2 * (double)n / ((double)n + 2);
    if (length > longest) {
        cblas_dscal((int)n, longest / length, c->y_w, 1);
        cblas_dscal((int)n, longest / length, c->z_w, 1);
    }
}

/* p_s and h (eqs. 43, 45), p_c (eq. 45). */
static void update_paths(cma *c)
{
    const cma_constants *k = &c->k;
    uint64_t n = k->n;
    const double *step = c->z_w; /* C^{-1/2} y_w = B z_w */
    if (!c->diagonal) {
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)n, (int)n, 1, c->b, (int)n, c->z_w, 1, 0, c->invsqrt_y_w,
                    1);
        step = c->invsqrt_y_w;
    }
    double keep = 1 - k->c_s, add = sqrt(k->c_s * (2 - k->c_s) * k->mueff);
    for (uint64_t i = 0; i < n; i++) {
        c->p_s[i] = keep * c->p_s[i] + add * step[i];
    }
    c->h = 1;
    if (k->stall_offset > 0) {
        double start = sqrt(1 - pow(keep, 2 * ((double)c->g + k->stall_offset)));
        c->h = norm(c->p_s, n) / start < (1.4 + 2 / ((double)n + 1)) * k->chi_n;
    }
    keep = 1 - k->c_c;
    add = c->h ? sqrt(k->c_c * (2 - k->c_c) * k->mueff) : 0;
    for (uint64_t i = 0; i < n; i++) {
        c->p_c[i] = keep * c->p_c[i] + add * c->y_w[i];
    }
}

/* Weight of the row of rank i in the rank-mu update: a negative one is scaled to a step of length sqrt(n), so
 * that C stays positive definite whatever the length of y (eq. 46). */
static double covariance_weight(const cma *c, uint64_t i)
{
    double w = c->k.weight[i], n = (double)c->k.n;
    if (w >= 0) {
        return w;
    }
    const double *z = c->z + c->order[i] * c->k.n;
    return w * n / (cblas_ddot((int)c->k.n, z, 1, z, 1) + 1e-8);
}

static double keep_factor(const cma_constants *k, int h)
{
    return 1 + k->c_1 * (h ? 0 : k->c_c * (2 - k->c_c)) - k->c_1 - k->c_mu * k->weight_sum;
}

/* C <- keep C + c_1 p_c p_c^T + c_mu sum_i w_i y_i y_i^T (eq. 47): the terms as rows of one matrix, those
 * that are added first, so that two symmetric products of rank mu + 1 and lambda - mu do it. */
static void update_full(cma *c)
{
    const cma_constants *k = &c->k;
    uint64_t n = k->n, plus = 0, minus = 0;
    for (uint64_t i = 0; i < n; i++) {
        c->rows[i] = sqrt(k->c_1) * c->p_c[i];
    }
    plus = 1;
    for (uint64_t r = 0; r < k->lambda && k->c_mu > 0; r++) {
        double w = k->c_mu * covariance_weight(c, r), root = sqrt(fabs(w));
        if (w == 0) {
            continue;
        }
        double *row = c->rows + (plus + minus) * n;
        *(w > 0 ? &plus : &minus) += 1; /* weights fall with rank: all positive ones come first */
        const double *y = c->y + c->order[r] * n;
        for (uint64_t i = 0; i < n; i++) {
            row[i] = root * y[i];
        }
    }
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)plus, 1, c->rows, (int)n,
                keep_factor(k, c->h), c->c, (int)n);
    if (minus > 0) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)minus, -1, c->rows + plus * n, (int)n,
                    1, c->c, (int)n);
    }
}

static void update_diagonal(cma *c)
{
    const cma_constants *k = &c->k;
    uint64_t n = k->n;
    double keep = keep_factor(k, c->h);
    for (uint64_t i = 0; i < n; i++) {
        c->c[i] = keep * c->c[i] + k->c_1 * c->p_c[i] * c->p_c[i];
    }
    for (uint64_t r = 0; r < k->lambda && k->c_mu > 0; r++) {
        double w = k->c_mu * covariance_weight(c, r);
        const double *y = c->y + c->order[r] * n;
        for (uint64_t i = 0; i < n && w != 0; i++) {
            c->c[i] += w * y[i] * y[i];
        }
    }
}

void cma_update(cma *c, const double *x, const double *f, const double *mean)
{
    const cma_constants *k = &c->k;
    uint64_t n = k->n;
    read_repaired(c, x);
    rank_rows(c, f);
    if (mean) {
        recombine_outside(c, mean);
        memcpy(c->m, mean, n * sizeof(double));
    } else {
        recombine(c);
        cblas_daxpy((int)n, k->c_m * c->sigma, c->y_w, 1, c->m, 1); /* eq. 42 */
    }
    update_paths(c);
    if (c->diagonal) {
        update_diagonal(c);
    } else {
        update_full(c);
    }
    /* eq. 44; of 2001 eq. 17, whose damping has c_s in it */
    double rate = c->profile == CMA_2001 ? 1 / k->d_s : k->c_s / k->d_s;
    c->sigma *= exp(fmin(k->log_step_cap, rate * (norm(c->p_s, n) / k->chi_n - 1)));
    if (c->profile == CMA_C_CMAES && isfinite(f[c->order[0]]) &&
        f[c->order[0]] == f[c->order[k->lambda / 2]]) {
        c->sigma *= exp(0.2 + k->c_s / k->d_s); /* flat: look further away */
    }
    c->g++;
}
