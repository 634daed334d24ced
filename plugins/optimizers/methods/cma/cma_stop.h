/* SPDX-License-Identifier: Apache-2.0 */
/* cma_stop.h - when a CMA-ES run has converged, is stuck or has lost its numerical footing.
 * Rules of Auger and Hansen (CEC 2005), the tutorial (appendix B.3), pycma, c-cmaes and
 * the library `cmaes`. */
#ifndef CMA_STOP_H
#define CMA_STOP_H

#include "methods/cma/cma.h"

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
    uint64_t window, seen; /* generations of history looked at; generations told */
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

/* Looks at the state after cma_update() with losses f[lambda]; returns CMA_GO_ON or the first
 * rule that fires. */
int cma_stop_check(cma_stop *s, const cma *c, const double *f);

#endif
