/* SPDX-License-Identifier: Apache-2.0 */
/* cma_restart.c - IPOP and BIPOP restart schedules of CMA-ES (see cma_restart.h). The interlacing rule of
 * BIPOP follows pycma: a small run whenever small runs have cost less than large ones. */
#include "methods/cma/cma_restart.h"

#include <math.h>

void cma_restart_start(cma_restart *r, int scheme, uint64_t lambda0, double sigma0, uint64_t seed)
{
    *r = (cma_restart){
        .scheme = scheme, .lambda0 = lambda0, .sigma0 = sigma0, .lambda = lambda0, .sigma = sigma0};
    r->random = ds_random_open(seed, "restart", 0);
}

static void plan_large(cma_restart *r)
{
    r->large_runs++;
    r->large = 1;
    r->lambda = r->lambda0 << r->large_runs;
    r->sigma = r->sigma0;
    r->max_generations = 0;
}

/* Population between lambda0 and the last large one (as pycma; up to half of that in Hansen 2009), mostly
 * near lambda0; a step size up to 100 times smaller. */
static void plan_small(cma_restart *r)
{
    double u = ds_random_uniform(&r->random), v = ds_random_uniform(&r->random);
    r->large = 0;
    r->lambda = (uint64_t)floor((double)r->lambda0 * pow(pow(2, (double)r->large_runs), u * u));
    r->sigma = r->sigma0 * pow(10, -2 * v);
    r->max_generations = fmax(1, floor(0.5 * r->large_evaluations / (double)r->lambda));
}

int cma_restart_next(cma_restart *r, uint64_t evaluations)
{
    *(r->large ? &r->large_evaluations : &r->small_evaluations) += (double)evaluations;
    if (r->scheme == CMA_RESTART_NONE) {
        return 0;
    }
    r->run++;
    if (r->scheme == CMA_RESTART_BIPOP && r->small_evaluations < fmax(1, r->large_evaluations)) {
        plan_small(r);
        return 1;
    }
    if (r->large_runs == CMA_MAX_LARGE_RUNS) {
        return 0;
    }
    plan_large(r);
    return 1;
}
