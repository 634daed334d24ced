/* SPDX-License-Identifier: Apache-2.0 */
/* cma_restart.h - population size and step size of successive CMA-ES runs.
 * IPOP: Auger and Hansen, CEC 2005. BIPOP: Hansen, GECCO workshop on BBOB 2009. */
#ifndef CMA_RESTART_H
#define CMA_RESTART_H

#include <diffsim/helper/random.h>
#include <stdint.h>

enum { CMA_RESTART_BIPOP = 0, CMA_RESTART_IPOP = 1, CMA_RESTART_NONE = 2 };

/* Most runs with a doubled population: lambda grows 512-fold. */
enum { CMA_MAX_LARGE_RUNS = 9 };

typedef struct cma_restart {
    int scheme;
    uint64_t lambda0;
    double sigma0;
    ds_random random;
    uint64_t large_runs;
    double small_evaluations, large_evaluations;
    /* The run to do. */
    uint64_t run; /* 0, 1, 2, ... */
    int large;    /* 1 = with doubled population */
    uint64_t lambda;
    double sigma;
    double max_generations; /* 0 = as the stop rules say */
} cma_restart;

/* The first run: lambda0 and sigma0 as given. */
void cma_restart_start(cma_restart *r, int scheme, uint64_t lambda0, double sigma0, uint64_t seed);

/* Plans the next run after one that took `evaluations`; 0 where there is none. */
int cma_restart_next(cma_restart *r, uint64_t evaluations);

#endif
