/* SPDX-License-Identifier: Apache-2.0 */
/* gp_fit.h - the hyperparameters of a Gaussian process that maximise their posterior density, likelihood
 * times priors. C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning" (2006), chapter 5. */
#ifndef DS_METHODS_GP_FIT_H
#define DS_METHODS_GP_FIT_H

#include "methods/bayes/gp_model.h"

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

/* Frees the work space that the functions above keep in `g`. */
void gp_free_fit_space(gp *g);

#endif
