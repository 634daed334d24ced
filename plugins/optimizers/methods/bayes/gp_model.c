/* SPDX-License-Identifier: Apache-2.0 */
/* gp_model.c - priors, start values and search coordinates of the hyperparameters, see gp_model.h. */
#include "methods/bayes/gp_model.h"

#include <math.h>

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

int gp_has_noise(const gp *g)
{
    return g->model.fixed_noise <= 0.0;
}

int gp_has_variance(const gp *g)
{
    return g->model.prior != GP_PRIOR_2024;
}

void gp_add_priors(const gp *g, const double *theta, double *value, double *gradient)
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

void gp_theta_bounds(const gp *g, double *lower, double *upper)
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

void gp_draw_theta(const gp *g, ds_random *rng, double *theta)
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
