/* SPDX-License-Identifier: Apache-2.0 */
/* surrogate.h - the model of the loss that Bayesian optimization learns: which simulations enter the
 * Gaussian process, how their losses are scaled, when it is fitted, and where it proposes to search next.
 *
 * Points are in [-1, 1]^n on the outside. Every simulation is recorded; the process itself leaves out points
 * that nearly coincide with others, caps extreme losses and limits its size (see surrogate.c).
 */
#ifndef DS_METHODS_SURROGATE_H
#define DS_METHODS_SURROGATE_H

#include "methods/bayes/gp.h"

#include <diffsim/helper/params.h>
#include <diffsim/optimizer.h>

enum { SURROGATE_SKIP_FAILED, SURROGATE_WORST_FOR_FAILED };
enum { SURROGATE_WARP_NONE, SURROGATE_WARP_LOG };

typedef struct surrogate_options {
    gp_model model;
    int acquisition; /* ACQUISITION_LCB ... */
    double alpha;
    int64_t raw, starts;
    int around_best; /* also look for starts of the acquisition search near the best points */
    int64_t fit_max; /* most points that hyperparameters are fitted to */
    int64_t n_max;   /* most points that predictions are conditioned on */
    int on_failure, warp;
} surrogate_options;

extern const char *const surrogate_priors[], *const surrogate_kernels[], *const surrogate_noises[];
extern const char *const surrogate_acquisitions[], *const surrogate_failures[], *const surrogate_warps[];

/* Schema entries of the options, and their values. */
#define SURROGATE_PARAMS                                                                                     \
    DS_ENUM("gp", "2024", surrogate_priors,                                                                  \
            "Priors of the Gaussian process: 2024 scales them with the dimension, 2022 is what BoTorch did " \
            "then."),                                                                                        \
        DS_ENUM("kernel", "auto", surrogate_kernels,                                                         \
                "Kernel: squared exponential, Matern 5/2, or what the priors go with (2024: se, 2022: "      \
                "matern52)."),                                                                               \
        DS_ENUM("noise", "inferred", surrogate_noises,                                                       \
                "Whether the noise variance is fitted (at least 1e-4) or fixed."),                           \
        DS_REAL("noise_variance", "1e-6", 1e-12, 1, "",                                                      \
                "Fixed noise variance, for losses scaled to variance 1."),                                   \
        DS_ENUM("acquisition", "lcb", surrogate_acquisitions,                                                \
                "Acquisition function that chooses the next start."),                                        \
        DS_REAL("alpha", "1", 0, 1e6, "", "Weight of the standard deviation in lcb."),                       \
        DS_INT("raw", "512", 1, 1e6, "",                                                                     \
               "Sobol points among which the acquisition search chooses its starts."),                       \
        DS_INT("starts", "10", 1, 1000, "", "Local searches of the acquisition function."),                  \
        DS_BOOL("around_best", "true", "Also choose among as many points near the best ones."),              \
        DS_INT("fit_max", "500", 2, 1e6, "", "Most points that hyperparameters are fitted to."),             \
        DS_INT("n_max", "2000", 4, 1e5, "", "Most points that predictions are conditioned on."),             \
        DS_ENUM("on_failure", "skip", surrogate_failures,                                                    \
                "Failed simulations: left out of the model, or given the worst finite loss."),               \
        DS_ENUM("warp", "none", surrogate_warps,                                                             \
                "log: model the logarithm of the loss above its known floor.")
surrogate_options surrogate_read_options(ds_param_reader *in);

typedef struct surrogate surrogate;

/* NULL without memory. `host` gives the seed and the stop flag. */
surrogate *surrogate_create(const ds_host *host, const ds_problem *problem, const surrogate_options *options);
void surrogate_destroy(surrogate *s);

/* Records `count` simulated points v (count x n); is_start marks the first point of a search, which the model
 * keeps when it has to drop points. 0 without memory. */
int surrogate_add(surrogate *s, size_t count, const double *v, const double *loss, int is_start);

/* How many simulations were recorded, and how many of them the process holds. */
size_t surrogate_recorded(const surrogate *s);
size_t surrogate_size(const surrogate *s);

/* The start of search number `trial` (1, 2, ...): fits the process and minimises the acquisition function;
 * uniform as long as no finite loss is known. DS_STOPPED, DS_E_NOMEM. */
ds_status surrogate_propose(surrogate *s, uint64_t trial, double *v);

/* The same while `count` other searches (count x n points v with their losses, INFINITY where none is known
 * yet) are in progress: they count as if they had been simulated, so that the new search begins elsewhere. */
ds_status surrogate_propose_beside(surrogate *s, uint64_t trial, size_t count, const double *points,
                                   const double *loss, double *v);

/* The geometric mean of the length scales, where the box is [0, 1]. */
double surrogate_length(const surrogate *s);

/* `count` points of a scrambled Sobol design to begin with (count x n). */
void surrogate_design(const surrogate *s, size_t count, double *v);

#endif
