/* SPDX-License-Identifier: Apache-2.0 */
/* gp.c - the Gaussian process of gp.h by BLAS level 3.
 *
 * Inputs are used as z = (u - 1/2) / length. A matrix stored by rows with d columns is, read by columns, its
 * transpose: Z^T with leading dimension d. Symmetric matrices live in their upper triangle. */
#include "methods/bayes/gp.h"

#include "methods/base/blas.h"
#include "methods/bayes/products.h"
#include "methods/gradient/lbfgsb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREDICT_CHUNK 64   /* points per block of a prediction */
#define MIN_VARIANCE 1e-12 /* floor of the posterior variance */
#define LOG_2PI 1.8378770664093454836

/* ---- priors, start values, search coordinates ---- */

/* Minus the logarithm of a density of the parameter itself (not of its logarithm), up to a constant, and its
 * derivative with respect to the logarithm. */
static double lognormal_prior(double log_t, double mu, double sd, double *slope)
{
    double z = (log_t - mu) / sd;
    *slope = 1.0 + z / sd;
    return log_t + 0.5 * z * z;
}

static double gamma_prior(double log_t, double shape, double rate, double *slope)
{
    double t = exp(log_t);
    *slope = -(shape - 1.0) + rate * t;
    return -(shape - 1.0) * log_t + rate * t;
}

/* LogNormal(length_mu, sqrt 3) per length scale, see Hvarfner et al. */
static double length_mu(const gp *g)
{
    return sqrt(2.0) + 0.5 * log((double)g->d);
}

static double flat_prior(double *slope)
{
    *slope = 0.0;
    return 0.0;
}

static double length_prior(const gp *g, double log_length, double *slope)
{
    if (g->model.prior == GP_PRIOR_FLAT) {
        return flat_prior(slope);
    }
    return g->model.prior == GP_PRIOR_2024 ? lognormal_prior(log_length, length_mu(g), sqrt(3.0), slope)
                                           : gamma_prior(log_length, 3.0, 6.0, slope);
}

static double noise_prior(const gp *g, double log_noise, double *slope)
{
    if (g->model.prior == GP_PRIOR_FLAT) {
        return flat_prior(slope);
    }
    return g->model.prior == GP_PRIOR_2024 ? lognormal_prior(log_noise, -4.0, 1.0, slope)
                                           : gamma_prior(log_noise, 1.1, 0.05, slope);
}

static double variance_prior(const gp *g, double log_variance, double *slope)
{
    if (g->model.prior == GP_PRIOR_FLAT) {
        return flat_prior(slope);
    }
    return gamma_prior(log_variance, 2.0, 0.15, slope);
}

/* Marsaglia and Tsang (2000) for shape >= 1. */
static double draw_gamma(ds_random *rng, double shape, double rate)
{
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = ds_random_normal(rng), v = 1.0 + c * x;
        if (v <= 0.0) {
            continue;
        }
        v = v * v * v;
        if (log(ds_random_uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v)) {
            return d * v / rate;
        }
    }
}

/* Whether the noise and the variance of the kernel are among them. */
static int gp_has_noise(const gp *g)
{
    return g->model.fixed_noise <= 0.0;
}

static int gp_has_variance(const gp *g)
{
    return g->model.prior != GP_PRIOR_2024;
}

/* Adds minus the logarithms of the priors' densities at theta, up to a constant, and their derivatives. */
static void gp_add_priors(const gp *g, const double *theta, double *value, double *gradient)
{
    double slope;
    for (size_t k = 0; k < g->d; k++) {
        *value += length_prior(g, theta[k], &slope);
        gradient[k] += slope;
    }
    size_t next = g->d;
    if (gp_has_noise(g)) {
        *value += noise_prior(g, theta[next], &slope);
        gradient[next++] += slope;
    }
    if (gp_has_variance(g)) {
        *value += variance_prior(g, theta[next + 1], &slope);
        gradient[next + 1] += slope;
    }
}

/* Start values of TuRBO (uber-research/TuRBO, gp.py). */
static void turbo_hyper(gp *g)
{
    for (size_t k = 0; k < g->d; k++) {
        g->hyper.length[k] = 0.5;
    }
    g->hyper.noise = gp_has_noise(g) ? 0.005 : g->model.fixed_noise;
    g->hyper.mean = 0.0;
    g->hyper.variance = 1.0;
}

void gp_default_hyper(gp *g)
{
    int old = g->model.prior == GP_PRIOR_2022;
    if (g->model.prior == GP_PRIOR_FLAT) {
        turbo_hyper(g);
        return;
    }
    double length = old ? log(2.0) : exp(length_mu(g) - 3.0);
    for (size_t k = 0; k < g->d; k++) {
        g->hyper.length[k] = length;
    }
    g->hyper.noise = gp_has_noise(g) ? (old ? 2.0 : exp(-5.0)) : g->model.fixed_noise;
    g->hyper.mean = 0.0;
    g->hyper.variance = old ? log(2.0) : 1.0;
}

size_t gp_theta_size(const gp *g)
{
    return g->d + 1 + (size_t)gp_has_noise(g) + (size_t)gp_has_variance(g);
}

void gp_get_theta(const gp *g, double *theta)
{
    for (size_t k = 0; k < g->d; k++) {
        *theta++ = log(g->hyper.length[k]);
    }
    if (gp_has_noise(g)) {
        *theta++ = log(g->hyper.noise);
    }
    *theta++ = g->hyper.mean;
    if (gp_has_variance(g)) {
        *theta = log(g->hyper.variance);
    }
}

void gp_set_theta(gp *g, const double *theta)
{
    for (size_t k = 0; k < g->d; k++) {
        g->hyper.length[k] = exp(*theta++);
    }
    if (gp_has_noise(g)) {
        g->hyper.noise = exp(*theta++);
    }
    g->hyper.mean = *theta++;
    if (gp_has_variance(g)) {
        g->hyper.variance = exp(*theta);
    }
}

static void gp_theta_bounds(const gp *g, double *lower, double *upper)
{
    int flat = g->model.prior == GP_PRIOR_FLAT;
    double shortest = flat ? 0.005 : (g->model.prior == GP_PRIOR_2024 ? 0.025 : 1e-3);
    for (size_t k = 0; k < g->d; k++) {
        *lower++ = log(shortest);
        *upper++ = log(flat ? 2.0 : 1e3);
    }
    if (gp_has_noise(g)) {
        *lower++ = log(flat ? 5e-4 : 1e-4);
        *upper++ = log(flat ? 0.2 : 10.0);
    }
    *lower++ = -5.0;
    *upper++ = 5.0;
    if (gp_has_variance(g)) {
        *lower = log(flat ? 0.05 : 1e-2);
        *upper = log(flat ? 20.0 : 1e3);
    }
}

/* Uniform in the logarithms of the bounds. */
static void draw_flat_theta(const gp *g, ds_random *rng, double *theta)
{
    for (size_t k = 0; k < g->d; k++) {
        *theta++ = log(0.005) + log(400.0) * ds_random_uniform(rng);
    }
    if (gp_has_noise(g)) {
        *theta++ = log(5e-4) + log(400.0) * ds_random_uniform(rng);
    }
    *theta++ = 0.0;
    *theta = log(0.05) + log(400.0) * ds_random_uniform(rng);
}

/* Draws start values from the priors. */
static void gp_draw_theta(const gp *g, ds_random *rng, double *theta)
{
    int old = g->model.prior == GP_PRIOR_2022;
    if (g->model.prior == GP_PRIOR_FLAT) {
        draw_flat_theta(g, rng, theta);
        return;
    }
    for (size_t k = 0; k < g->d; k++) {
        *theta++ = old ? log(draw_gamma(rng, 3.0, 6.0)) : length_mu(g) + sqrt(3.0) * ds_random_normal(rng);
    }
    if (gp_has_noise(g)) {
        *theta++ = old ? log(draw_gamma(rng, 1.1, 0.05)) : -4.0 + ds_random_normal(rng);
    }
    *theta++ = 0.0;
    if (gp_has_variance(g)) {
        *theta = log(draw_gamma(rng, 2.0, 0.15));
    }
}

/* ---- kernel ---- */

/* Added to the diagonal, relative to the variance, one after the other until a Cholesky factor exists. */
#define GP_JITTERS 6

static const double gp_jitters[GP_JITTERS] = {0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4};

static void gp_kernel_values(const gp *g, size_t count, double *r2, double *h)
{
    kernel_values(g->model.kernel, g->hyper.variance, count, r2, h);
}

/* z of n inputs, and the sum of squares of each row. */
static void gp_scale_inputs(const gp *g, size_t n, const double *inputs, double *z)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g->d; k++) {
            z[i * g->d + k] = (inputs[i * g->d + k] - 0.5) / g->hyper.length[k];
        }
    }
}

static void gp_row_squares(size_t n, size_t d, const double *z, double *square)
{
    for (size_t i = 0; i < n; i++) {
        square[i] = cblas_ddot((int)d, z + i * d, 1, z + i * d, 1);
    }
}

/* Upper triangle of K + noise I, columns `ld` apart, and of h (columns n apart) where wanted. */
static void gp_kernel_matrix(const gp *g, size_t n, const double *z, const double *square, double jitter,
                             double *kernel, size_t ld, double *slope)
{
    products_gram((int)n, (int)g->d, -2.0, z, (int)g->d, 0.0, kernel, (int)ld);
    for (size_t j = 0; j < n; j++) {
        double *column = kernel + j * ld;
        for (size_t i = 0; i < j; i++) {
            column[i] += square[i] + square[j];
        }
        gp_kernel_values(g, j, column, slope ? slope + j * n : NULL);
        column[j] = g->hyper.variance * (1.0 + jitter) + g->hyper.noise;
    }
}

/* ---- fit ---- */

#define FIT_RESTARTS 5  /* draws from the priors after a failed fit */
#define INVERSE_BASE 32 /* order of the blocks that LAPACK inverts */

struct gp_fit_space {
    size_t n;                      /* data that the arrays hold */
    double *kernel, *slope;        /* n x n each: K, then T, then K^{-1}, then G; H */
    double *z, *gz;                /* n x d each */
    double *square, *weight, *rho; /* n each */
    ds_memory memory;
};

static void gp_free_fit_space(gp *g)
{
    if (g->fit_space) {
        ds_memory_free(&g->fit_space->memory);
        free(g->fit_space);
        g->fit_space = NULL;
    }
}

static int reserve_fit_space(gp *g, size_t n)
{
    if (!g->fit_space && !(g->fit_space = calloc(1, sizeof(*g->fit_space)))) {
        return 0;
    }
    struct gp_fit_space *w = g->fit_space;
    if (n <= w->n) {
        return 1;
    }
    ds_memory_free(&w->memory);
    size_t room = n + n / 4 + 8;
    ds_memory_each(&w->memory, room * room, (double **const[]){&w->kernel, &w->slope, NULL});
    ds_memory_each(&w->memory, room * g->d, (double **const[]){&w->z, &w->gz, NULL});
    ds_memory_each(&w->memory, room, (double **const[]){&w->square, &w->weight, &w->rho, NULL});
    w->n = w->memory.failed ? 0 : room;
    return w->n > 0;
}

/* Replaces the upper triangle of a positive definite matrix by T = R^{-1}, where R^T R is the matrix; 0 where
 * it is not positive definite. Recursive halves: with the inverse of the leading block at hand, the other
 * blocks need only products, which BLAS does at twice the speed of the triangular solves in LAPACK's
 * factorisation and inversion. */
static int inverse_factor(int n, double *a, int ld)
{
    if (n <= INVERSE_BASE) {
        int info;
        dpotrf_("U", &n, a, &ld, &info, 1);
        if (info == 0) {
            dtrtri_("U", "N", &n, a, &ld, &info, 1, 1);
        }
        return info == 0;
    }
    int h = n / 2, m = n - h;
    double *a12 = a + (size_t)h * (size_t)ld, *a22 = a12 + h;
    if (!inverse_factor(h, a, ld)) {
        return 0;
    }
    products_left_transposed(h, m, a, ld, a12, ld);
    products_gram(m, h, -1.0, a12, ld, 1.0, a22, ld);
    if (!inverse_factor(m, a22, ld)) {
        return 0;
    }
    products_left_negative(h, m, a, ld, a12, ld);
    products_right(h, m, 1.0, a22, ld, a12, ld);
    return 1;
}

/* The inverse factor of the kernel matrix of the scaled inputs, and H, with as much jitter as that takes. */
static int factor_and_invert(gp *g, size_t n)
{
    struct gp_fit_space *w = g->fit_space;
    for (size_t i = 0; i < GP_JITTERS; i++) {
        gp_kernel_matrix(g, n, w->z, w->square, gp_jitters[i], w->kernel, n, w->slope);
        if (inverse_factor((int)n, w->kernel, (int)n)) {
            return 1;
        }
    }
    return 0;
}

/* In four parts: one sum would wait for each of its terms. */
static double sum_of(size_t count, const double *a)
{
    double part[4] = {0.0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t k = 0; k < 4; k++) {
            part[k] += a[i + k];
        }
    }
    for (; i < count; i++) {
        part[0] += a[i];
    }
    return (part[0] + part[2]) + (part[1] + part[3]);
}

/* With W = a a^T - K^{-1} and G = W .* H: turns the upper triangle of K^{-1} into that of G, sums the rows of
 * G to rho, and returns the trace of W. */
static double weigh_slopes(size_t n, double *inverse, const double *slope, const double *a, double *rho)
{
    double trace = 0.0;
    memset(rho, 0, n * sizeof(double));
    for (size_t j = 0; j < n; j++) {
        double *column = inverse + j * n;
        const double *h = slope + j * n;
        double aj = a[j];
        for (size_t i = 0; i < j; i++) {
            column[i] = (a[i] * aj - column[i]) * h[i];
            rho[i] += column[i];
        }
        rho[j] += sum_of(j, column);
        trace += aj * aj - column[j];
        column[j] = 0.0; /* it would multiply a zero difference */
    }
    return trace;
}

double gp_objective(gp *g, size_t n, const double *inputs, const double *targets, const double *theta,
                    double *gradient)
{
    size_t d = g->d, size = gp_theta_size(g);
    memset(gradient, 0, size * sizeof(double));
    if (n == 0 || !reserve_fit_space(g, n)) {
        return INFINITY;
    }
    struct gp_fit_space *w = g->fit_space;
    gp_set_theta(g, theta);
    gp_scale_inputs(g, n, inputs, w->z);
    gp_row_squares(n, d, w->z, w->square);
    if (!factor_and_invert(g, n)) {
        return INFINITY;
    }
    int order = (int)n;
    double *a = w->weight, fit = 0.0, sum_a = 0.0, value = 0.5 * (double)n * LOG_2PI;
    for (size_t i = 0; i < n; i++) {
        a[i] = targets[i] - g->hyper.mean;
        value -= log(w->kernel[i * n + i]);
    }
    cblas_dtrmv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, order, w->kernel, order, a, 1);
    cblas_dtrmv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, order, w->kernel, order, a, 1);
    for (size_t i = 0; i < n; i++) {
        fit += (targets[i] - g->hyper.mean) * a[i];
        sum_a += a[i];
    }
    value += 0.5 * fit;

    products_square(order, w->kernel, order); /* K^{-1} = T T^T */
    double trace = weigh_slopes(n, w->kernel, w->slope, a, w->rho);
    /* z^T G z of a symmetric G without diagonal is twice z^T U z with its upper triangle U. */
    memcpy(w->gz, w->z, n * d * sizeof(double));
    products_right((int)d, order, 2.0, w->kernel, order, w->gz, (int)d);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < d; k++) {
            size_t ik = i * d + k;
            gradient[k] -= w->z[ik] * (w->rho[i] * w->z[ik] - w->gz[ik]);
        }
    }
    size_t next = d;
    if (gp_has_noise(g)) {
        gradient[next++] = -0.5 * g->hyper.noise * trace;
    }
    gradient[next++] = -sum_a;
    if (gp_has_variance(g)) { /* sum of W .* K without its noise: rr.a - n - noise tr W */
        gradient[next] = -0.5 * (fit - (double)n - g->hyper.noise * trace);
    }
    gp_add_priors(g, theta, &value, gradient);
    for (size_t k = 0; k < size; k++) {
        gradient[k] /= (double)n;
    }
    return value / (double)n;
}

/* One L-BFGS-B search from theta, which becomes its end point. */
static ds_status search_theta(gp *g, lbfgsb *search, size_t n, const double *inputs, const double *targets,
                              double *theta, double *gradient, gp_stop stop, const void *stop_ctx)
{
    int state = LBFGSB_EVALUATE;
    lbfgsb_start(search, theta);
    while (state == LBFGSB_EVALUATE) {
        if (stop && stop(stop_ctx)) {
            return DS_STOPPED;
        }
        double value = gp_objective(g, n, inputs, targets, lbfgsb_point(search), gradient);
        state = lbfgsb_tell(search, value, gradient);
    }
    double value;
    const double *best = lbfgsb_solution(search, &value);
    if (state == LBFGSB_NONFINITE || (state == LBFGSB_STUCK && lbfgsb_iterations(search) == 0)) {
        return DS_E_NUMERIC;
    }
    memcpy(theta, best, gp_theta_size(g) * sizeof(double));
    return DS_OK;
}

ds_status gp_fit(gp *g, size_t n, const double *inputs, const double *targets, int max_iterations,
                 ds_random *rng, gp_stop stop, const void *stop_ctx)
{
    size_t size = gp_theta_size(g);
    lbfgsb_options options = LBFGSB_DEFAULTS;
    options.max_iterations = max_iterations;
    double *block = malloc(5 * size * sizeof(double));
    if (!block) {
        return DS_E_NOMEM;
    }
    double *before = block, *theta = block + size, *gradient = block + 2 * size;
    double *lower = block + 3 * size, *upper = block + 4 * size;
    gp_theta_bounds(g, lower, upper);
    gp_get_theta(g, before);
    memcpy(theta, before, size * sizeof(double));
    lbfgsb *search = lbfgsb_create(size, lower, upper, &options);
    ds_status status = search && reserve_fit_space(g, n) ? DS_E_NUMERIC : DS_E_NOMEM;
    for (int i = 0; i <= FIT_RESTARTS && status == DS_E_NUMERIC; i++) {
        if (i > 0) {
            gp_draw_theta(g, rng, theta);
        }
        status = search_theta(g, search, n, inputs, targets, theta, gradient, stop, stop_ctx);
    }
    gp_set_theta(g, status == DS_OK ? theta : before);
    lbfgsb_destroy(search);
    free(block);
    return status;
}

/* ---- data ---- */

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
    products_narrow((int)d, (int)q, (int)n, g->z, (int)d, coefficient, (int)n, t, (int)d);
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
    products_narrow_transposed((int)n, (int)q, (int)d, -2.0, g->z, (int)d, zq, (int)d, k, (int)n);
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
    products_solve_transposed((int)n, (int)q, g->factor, (int)g->capacity, k, (int)n);
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
    products_solve((int)n, (int)q, g->factor, (int)g->capacity, k, (int)n);
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

/* ---- joint draws ---- */

/* With K + noise I = R^T R, V = R^{-T} k(data, points): covariance = k(points, points) + noise I - V^T V. */

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
    memset(w->z, 0, count * g->d * sizeof(double)); /* gcc 12 does not see that gp_scale_inputs() fills it */
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
    products_narrow_transposed(n, q, d, -2.0, g->z, d, w->z, d, w->v, n);
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < g->n; i++) {
            w->v[j * g->n + i] += w->data_square[i] + w->square[j];
        }
        w->mean[j] = g->hyper.mean;
    }
    gp_kernel_values(g, g->n * count, w->v, NULL);
    cblas_dgemv(CblasColMajor, CblasTrans, n, q, 1.0, w->v, n, g->weight, 1, 1.0, w->mean, 1);
    products_solve_transposed(n, q, g->factor, (int)g->capacity, w->v, n);
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
