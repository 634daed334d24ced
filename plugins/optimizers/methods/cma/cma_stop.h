/* SPDX-License-Identifier: Apache-2.0 */
/* cma_stop.h - when a CMA-ES run has converged, is stuck or has lost its numerical footing.
 * Rules of Auger and Hansen (CEC 2005), the tutorial (appendix B.3), pycma, c-cmaes and
 * the library `cmaes`. */
#ifndef CMA_STOP_H
#define CMA_STOP_H

#include "methods/cma/cma.h"

#include <diffsim/helper/random.h>

#include <stdint.h>

/* Why a run ended. */
enum {
    CMA_GO_ON = 0,
    CMA_TOLFUN,     /* losses of the last generations are equal */
    CMA_TOLX,       /* steps are too short to matter */
    CMA_TOLFACUPX,  /* steps grew without limit */
    CMA_CONDITION,  /* C is ill-conditioned */
    CMA_NO_EFFECT,  /* a step along an axis or coordinate is lost in round-off */
    CMA_STAGNATION, /* no progress of best and median */
    CMA_FLAT,       /* three quarters of a generation have the same loss */
    CMA_MAX_ITER,   /* too many generations */
    CMA_STALLED,    /* narrow distribution without improvement (restarts only) */
    CMA_NUMERIC,    /* sigma or C is not finite */
    CMA_ALL_FAILED  /* for the caller: no evaluation of several generations succeeded */
};
const char *cma_stop_name(int reason);

typedef struct cma_stop {
    int profile;
    double sigma0;
    double tolfun;
    double max_generations;
    int stall;             /* 1 = also stop where the distribution is narrow and nothing improves */
    double best;           /* of this run */
    uint64_t best_g;       /* generation of the last improvement */
    uint64_t window, seen; /* generations in the window; generations seen */
    double *history;       /* ring of window pairs: least and greatest loss of a generation */
    uint64_t flat;         /* generations in a row with equal losses */
    double *best_record, *median_record; /* every fifth generation */
    double *scratch;
    uint64_t records, capacity;
} cma_stop;

/* Prepares the rules for a run of `c` that starts with its present sigma. 0, or -1 where memory is short.
 * `max_generations` 0 = the rule of the profile. */
int cma_stop_start(cma_stop *s, const cma *c, double tolfun, double max_generations, int stall);
void cma_stop_free(cma_stop *s);

/* Checks the state after cma_update() with losses f[lambda]; returns CMA_GO_ON or the first rule that fires.
 */
int cma_stop_check(cma_stop *s, const cma *c, const double *f);

/* ---- restarts ---- */

/* Population size and step size of successive CMA-ES runs. IPOP: Auger and Hansen, CEC 2005. BIPOP:
 * Hansen, GECCO workshop on BBOB 2009. */

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
