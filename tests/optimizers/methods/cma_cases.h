/* SPDX-License-Identifier: Apache-2.0 */
/* cma_cases.h - unbounded functions with minimum 0, and the number of evaluations that CMA-ES without bounds
 * and restarts needs on them. */
#ifndef CMA_CASES_H
#define CMA_CASES_H

#include <stdint.h>

#include "host.h"
#include "methods/cma/cma.h"

typedef double cma_function(uint64_t n, const double *x);
cma_function cma_sphere, cma_ellipsoid, cma_rosenbrock, cma_cigar, cma_tablet, cma_rastrigin, cma_rastrigin5;

typedef struct cma_outcome {
    int hit;              /* reached the target */
    uint64_t evaluations; /* until the hit, exact within its generation, or until the end */
    double best;
} cma_outcome;

/* One run from mean m until f <= target, a stop rule, or `most` evaluations. */
cma_outcome cma_minimise(const cma_options *options, cma_function *f, const double *m, double sigma,
                         double target, uint64_t most, uint64_t seed);

double cma_median(double *values, uint64_t count);

#endif
