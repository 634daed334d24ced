/* SPDX-License-Identifier: Apache-2.0 */
/* gp.h - exact Gaussian process regression on the unit cube with one length scale per dimension.
 *
 * C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning" (2006), chapter 2. Targets are
 * expected with zero mean and unit variance; hyperparameters come from gp_fit().
 */
#ifndef DS_METHODS_GP_H
#define DS_METHODS_GP_H

#include "methods/bayes/gp_fit.h"

/* NULL without memory. Starts with the default hyperparameters and no data. */
gp *gp_create(size_t d, const gp_model *model);
void gp_destroy(gp *g);

/* Conditions predictions on n inputs (n x d) with the present hyperparameters; gp_set_targets() must follow.
 * DS_E_NUMERIC where even a jitter of 1e-4 leaves the kernel matrix without a factor. */
ds_status gp_condition(gp *g, size_t n, const double *inputs);

/* Adds one input in O(n^2). DS_E_NUMERIC where it cannot be told apart from the others: then it is left out.
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

#endif
