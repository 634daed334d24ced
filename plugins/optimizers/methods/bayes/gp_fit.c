/* SPDX-License-Identifier: Apache-2.0 */
/* gp_fit.c - the posterior density of the hyperparameters with its gradient, and its maximisation,
 * see gp_fit.h. */
#include "methods/bayes/gp_fit.h"

#include "methods/base/blas.h"
#include "methods/bayes/gp_kernel.h"
#include "methods/gradient/lbfgsb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_RESTARTS 5  /* draws from the priors after a failed fit */
#define INVERSE_BASE 32 /* order of the blocks that LAPACK inverts */
#define LOG_2PI 1.8378770664093454836

struct gp_fit_space {
    size_t n;                      /* data that the arrays hold */
    double *kernel, *slope;        /* n x n each: K, then T, then K^{-1}, then G; H */
    double *z, *gz;                /* n x d each */
    double *square, *weight, *rho; /* n each */
    ds_memory memory;
};

void gp_free_fit_space(gp *g)
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
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, h, m, 1.0, a, ld, a12, ld);
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, m, h, -1.0, a12, ld, 1.0, a22, ld);
    if (!inverse_factor(m, a22, ld)) {
        return 0;
    }
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, h, m, -1.0, a, ld, a12, ld);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, h, m, 1.0, a22, ld, a12,
                ld);
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

/* With W = a a^T - K^{-1} and G = W .* H: turns the upper triangle of K^{-1} into that of G, sums the rows of
 * G to rho, and returns the trace of W. */
static double weigh_slopes(size_t n, double *inverse, const double *slope, const double *a, double *rho)
{
    double trace = 0.0;
    memset(rho, 0, n * sizeof(double));
    for (size_t j = 0; j < n; j++) {
        double *column = inverse + j * n;
        const double *h = slope + j * n;
        double sum = 0.0, aj = a[j];
        for (size_t i = 0; i < j; i++) {
            double v = (a[i] * aj - column[i]) * h[i];
            column[i] = v;
            rho[i] += v;
            sum += v;
        }
        rho[j] += sum;
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
    int order = (int)n, info;
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

    dlauum_("U", &order, w->kernel, &order, &info, 1); /* K^{-1} = T T^T */
    double trace = weigh_slopes(n, w->kernel, w->slope, a, w->rho);
    cblas_dsymm(CblasColMajor, CblasRight, CblasUpper, (int)d, (int)n, 1.0, w->kernel, (int)n, w->z, (int)d,
                0.0, w->gz, (int)d);
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
