/* SPDX-License-Identifier: Apache-2.0 */
/* acquisition.h - acquisition functions of Bayesian optimization and their optimisation over the unit cube.
 *
 * All are written to be minimised, for a loss that is to be minimised, in standardised units:
 *   LCB    mean - alpha sd                       (N. Srinivas et al. 2010)
 *   EI     -E max(best - f, 0)                   (J. Mockus 1978)
 *   logEI  -ln E max(best - f, 0), accurate where EI underflows (S. Ament et al. 2023, appendix A)
 */
#ifndef DS_METHODS_ACQUISITION_H
#define DS_METHODS_ACQUISITION_H

#include "methods/bayes/gp.h"

enum { ACQUISITION_LCB, ACQUISITION_EI, ACQUISITION_LOGEI };

typedef struct acquisition {
    int kind;
    double alpha; /* LCB: weight of the standard deviation */
    double best;  /* EI, logEI: least standardised target so far */
} acquisition;

/* ln(phi(z) + z Phi(z)) and its derivative, for every z. */
double acquisition_log_h(double z, double *derivative);

/* Value at a point with the given posterior mean and standard deviation, and derivatives with
 * respect to both. */
double acquisition_value(const acquisition *a, double mean, double sd, double *d_mean, double *d_sd);

typedef struct acquisition_search {
    size_t raw;         /* Sobol points to choose starts from */
    size_t starts;      /* L-BFGS-B searches */
    int max_iterations; /* of each */
    const double
        *good; /* good_count x d inputs around which raw / 2 points each are drawn in two ways, see the */
    size_t good_count;  /* source; 0 = none */
    const double *told; /* told_count x d inputs that must not be proposed again */
    size_t told_count;
    double near; /* nor anything nearer to them than this, as a distance in length scales of the process */
} acquisition_search;

/* Writes the point (d values in [0, 1]) with the least value found. DS_STOPPED, DS_E_NOMEM. */
ds_status acquisition_minimise(gp *g, const acquisition *a, const acquisition_search *search, ds_random *rng,
                               gp_stop stop, const void *stop_ctx, double *best_point);

#endif
