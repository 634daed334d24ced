/* SPDX-License-Identifier: Apache-2.0 */
/* gp.h - exact Gaussian process regression on the unit cube with one length scale per dimension.
 *
 * C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2 and 5. The caller
 * scales targets to zero mean and unit variance. The priors are BoTorch's defaults: those of 2024 scale with
 * the dimension (C. Hvarfner et al., "Vanilla Bayesian optimization performs great in high dimensions",
 * arXiv:2402.02746), those of 2022 are Gamma densities. */
#ifndef DS_METHODS_GP_H
#define DS_METHODS_GP_H

#include "methods/bayes/gp_kernel.h"

#include <diffsim/base.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>

#include <stddef.h>

/* ---- model and hyperparameters ---- */

enum { GP_PRIOR_2024, GP_PRIOR_2022, GP_PRIOR_FLAT }; /* flat: likelihood alone, in the bounds of TuRBO */

typedef struct gp_model {
    int kernel, prior;
    double fixed_noise; /* noise variance; 0 = inferred */
} gp_model;

/* Hyperparameters in their own units (lengths of the unit cube, standardised targets). */
typedef struct gp_hyper {
    double *length;  /* d length scales */
    double noise;    /* noise variance */
    double mean;     /* constant prior mean */
    double variance; /* s^2 of the kernel; 1 under the priors of 2024 */
} gp_hyper;

typedef struct gp {
    size_t d;
    gp_model model;
    gp_hyper hyper;

    /* The data that predictions are conditioned on. */
    size_t n, capacity;
    double *z;      /* n x d: (u - 1/2) / length */
    double *y;      /* n targets */
    double *factor; /* upper Cholesky factor R of K + noise I = R^T R, columns `capacity` apart */
    double *weight; /* n: (K + noise I)^{-1} (y - mean) */

    struct gp_fit_space *fit_space; /* work space of gp_objective() */
    double *k, *h, *t;              /* work space of gp_predict() */
    size_t predict_capacity;
    ds_memory data, prediction; /* memory that is released together */
} gp;

/* The start values of the first fit: the modes of the priors of 2024, softplus(0) and 2 under
 * those of 2022. */
void gp_default_hyper(gp *g);

/* Search coordinates of the fit: ln length (d), ln noise unless it is fixed, mean, ln variance under the
 * priors of 2022. */
size_t gp_theta_size(const gp *g);
void gp_get_theta(const gp *g, double *theta);
void gp_set_theta(gp *g, const double *theta);

/* ---- data and predictions ---- */

/* NULL without memory. Starts with the default hyperparameters and no data. */
gp *gp_create(size_t d, const gp_model *model);
void gp_destroy(gp *g);

/* Conditions predictions on n inputs (n x d) with the present hyperparameters; gp_set_targets() must follow.
 * DS_E_NUMERIC where even a jitter of 1e-4 leaves the kernel matrix without a factor. */
ds_status gp_condition(gp *g, size_t n, const double *inputs);

/* Adds one input in O(n^2). DS_E_NUMERIC: the input coincides with another one and is left out.
 * gp_set_targets() must follow. */
ds_status gp_append(gp *g, const double *input);

/* Sets the n targets. */
void gp_set_targets(gp *g, const double *targets);

/* Posterior mean and standard deviation of the noise-free function at `count` points (count x d), and their
 * gradients (count x d each) where `dmean` is not NULL. DS_E_NOMEM. */
ds_status gp_predict(gp *g, size_t count, const double *points, double *mean, double *sd, double *dmean,
                     double *dsd);

/* Logarithm of the density of the targets (without priors). */
double gp_log_likelihood(const gp *g);

/* ---- fit: the hyperparameters of greatest posterior density ---- */

/* Returns whether the caller should give up; polled once per evaluation of the likelihood. */
typedef uint32_t (*gp_stop)(const void *ctx);

/* The negative logarithm of the posterior density of `theta` given n data, divided by n (normalising
 * constants of the priors left out), and its gradient. inputs: n x d. INFINITY where the kernel matrix has no
 * Cholesky factor or memory is short. */
double gp_objective(gp *g, size_t n, const double *inputs, const double *targets, const double *theta,
                    double *gradient);

/* Maximises the posterior density from the present hyperparameters by L-BFGS-B. If that fails, draws start
 * values from the priors, up to five times. DS_E_NUMERIC leaves the hyperparameters alone. */
ds_status gp_fit(gp *g, size_t n, const double *inputs, const double *targets, int max_iterations,
                 ds_random *rng, gp_stop stop, const void *stop_ctx);

/* ---- joint draws, for Thompson sampling ---- */

/* `draws` joint draws of what would be observed (function plus noise) at `count` points (count x d), one
 * after the other in `out` (draws x count). The gp holds data. DS_E_NUMERIC, DS_E_NOMEM. */
ds_status gp_sample(gp *g, size_t count, const double *points, size_t draws, ds_random *rng, double *out);

#endif
