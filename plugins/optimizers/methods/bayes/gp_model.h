/* SPDX-License-Identifier: Apache-2.0 */
/* gp_model.h - what a Gaussian process on the unit cube is: its kernel, its hyperparameters and their priors.
 *
 * The priors are those that BoTorch uses by default: those of 2024 scale with the dimension (C. Hvarfner et
 * al., "Vanilla Bayesian optimization performs great in high dimensions", arXiv:2402.02746), those of 2022
 * are Gamma densities.
 */
#ifndef DS_METHODS_GP_MODEL_H
#define DS_METHODS_GP_MODEL_H

#include <diffsim/base.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>
#include <stddef.h>

enum { GP_SE, GP_MATERN52 };                          /* kernel */
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
    ds_memory data, prediction; /* what is released together */
} gp;

/* The start values of the first fit: the modes of the priors of 2024, softplus(0) and 2 under
 * those of 2022. */
void gp_default_hyper(gp *g);

/* Search coordinates of the fit: ln length (d), ln noise unless it is fixed, mean, ln variance under the
 * priors of 2022. */
size_t gp_theta_size(const gp *g);
void gp_get_theta(const gp *g, double *theta);
void gp_set_theta(gp *g, const double *theta);
void gp_theta_bounds(const gp *g, double *lower, double *upper);

/* Whether the noise and the variance of the kernel are among them. */
int gp_has_noise(const gp *g);
int gp_has_variance(const gp *g);

/* Draws start values from the priors. */
void gp_draw_theta(const gp *g, ds_random *rng, double *theta);

/* Adds minus the logarithms of the priors' densities at theta, up to a constant, and their derivatives. */
void gp_add_priors(const gp *g, const double *theta, double *value, double *gradient);

#endif
