/* SPDX-License-Identifier: Apache-2.0 */
/* cma_bounds.h - how CMA-ES, which knows no bounds, searches the box [-1, 1]^n.
 * resample, smooth transformation (c-cmaes), adaptive penalty (pycma), or none. */
#ifndef CMA_BOUNDS_H
#define CMA_BOUNDS_H

#include "methods/cma/cma.h"

#include <diffsim/helper/memory.h>

enum {
    CMA_BOUNDS_TRANSFORM = 0, /* evaluate T(x), T smooth and onto the box */
    CMA_BOUNDS_RESAMPLE = 1,  /* draw again until inside, at last clip */
    CMA_BOUNDS_PENALTY = 2,   /* evaluate the nearest inside point, add weighted squared distance */
    CMA_BOUNDS_NONE = 3       /* evaluate the nearest inside point and say nothing of it to the strategy */
};

typedef struct cma_bounds {
    int method;
    uint64_t n;
    /* penalty */
    int weights_set;
    double *gamma;   /* n: weights of the squared violations */
    double *history; /* ring of loss ranges over variance */
    double *scratch;
    ds_memory memory;
    uint64_t window, filled, next;
} cma_bounds;

/* 0, or -1 where memory is short. */
int cma_bounds_start(cma_bounds *b, int method, const cma *c);
void cma_bounds_free(cma_bounds *b);

/* The smooth map of one coordinate onto [-1, 1], the identity on [-0.9, 0.9], and its inverse there. */
double cma_bounds_fold(double x);
double cma_bounds_unfold(double v);

/* Makes the freshly drawn generation x (lambda x n) fit to be evaluated: writes points of the box to v.
 * Changes x (and marks rows as repaired) where the method is resample. Returns the number of coordinates that
 * were clipped. */
uint64_t cma_bounds_apply(cma_bounds *b, cma *c, ds_random *random, double *x, double *v);

/* Losses for the strategy: f plus the penalty, into g[lambda]. Before cma_update(). */
void cma_bounds_penalise(cma_bounds *b, const double *x, const double *v, const double *f, uint64_t lambda,
                         double *g);

/* After cma_update(): adapts the penalty to losses f (without it), and keeps every sigma sqrt(C_ii) below a
 * third of the box (methods transform and penalty). */
void cma_bounds_adapt(cma_bounds *b, cma *c, const double *f);

#endif
