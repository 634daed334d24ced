/* SPDX-License-Identifier: Apache-2.0 */
/* leap.h - one leap of BO-Leap: a semi-local search of a limited number of simulations from one point.
 *
 * Generations of K samples x_k ~ N(mu, sigma^2 C); after each, a gradient descent from the mean of the best
 * ones, which moves mu; sigma and C adapt as in cma2001.h. Lines 7 to 18 of Algorithm 1 of R. Antonova et
 * al., arXiv:2207.00167. The caller simulates, so that several leaps can advance in step:
 *
 *     leap_begin(l, x_n, number, rng);
 *     while (l->state != LEAP_OVER) {
 *         count = leap_points(l, &points);        K samples, or a step of a descent
 *         simulate them, with gradients where leap_wants_gradient(l)
 *         leap_tell(l, loss, gradient, outcome);
 *     }
 */
#ifndef DS_METHODS_LEAP_H
#define DS_METHODS_LEAP_H

#include "methods/cma/cma2001.h"
#include "methods/gradient/descent.h"

enum { LEAP_PATH_SAMPLES, LEAP_PATH_MOVED }; /* what the evolution paths follow */
enum { LEAP_MEAN_BEST, LEAP_MEAN_LAST };     /* point of the descent that becomes the next mean */
enum { LEAP_CLIP, LEAP_RESAMPLE };           /* samples outside the box */
enum {
    LEAP_FIXED, /* every descent may take J evaluations */
    LEAP_RIVAL, /* twice as many, to 40, after a descent that beat the samples; else half, at a lower rate */
    LEAP_TRUST  /* half, at least 2, after a descent that never improved its start; else twice, at most J */
};

typedef struct leap_options {
    size_t K, mu;                            /* K = 0: the leap is one descent */
    int weights, update, path, mean, bounds; /* CMA2001_..., LEAP_... */
    int lengths;                             /* LEAP_FIXED ... */
    int first;                               /* begin with a descent from the start itself */
    /* of the samples are asked for, and move the start of the descent: s = s_1 - lr sqrt(n) min(1, sigma /
     * sigma_1) mean of g_k / |g_k| */
    int gradients;
    int64_t J;     /* evaluations of a descent; 0 = none */
    int64_t steps; /* evaluations of the leap */
    double sigma;  /* of the first generation */
    double floor;  /* known lower bound of the loss, or -INFINITY */
    descent_options descent;
} leap_options;

/* Schema entry of options.gradients. */
#define LEAP_GRADIENTS                                                                                       \
    DS_BOOL(                                                                                                 \
        "sample_gradients", "false",                                                                         \
        "Request the gradients of the samples of a leap, too, and begin its descent one step of lr further " \
        "along the mean of their directions.")

enum { LEAP_OVER, LEAP_SAMPLES, LEAP_DESCENT };

typedef struct leap {
    size_t n;
    leap_options options;
    int state; /* what leap_points() are */
    uint64_t number;
    int64_t left;       /* evaluations */
    double best;        /* least loss so far */
    const double *mean; /* n values: the present mean */
    int at_start;       /* the next point is the one that the leap was given */

    cma2001 cma;
    descent descent;
    ds_random rng;
    int64_t J;
    double best_before; /* `best` when the last `steps` evaluations began */
    double first_best;  /* the first finite one */
    double start_loss;  /* of the present descent */
    int failures;       /* generations in a row without a single success */
    int is_first;
    size_t finite; /* samples of this generation with a loss */
    double *x, *ranked, *loss, *s_1, *s, *shift;
    size_t *order;
    ds_memory memory;
} leap;

/* 0 without memory; leap_free() releases also what a failed call left. */
int leap_init(leap *l, size_t n, const leap_options *options);
void leap_free(leap *l);

/* Begins at `start` (n values in [-1, 1]); samples are drawn from `rng`. */
void leap_begin(leap *l, const double *start, uint64_t number, ds_random rng);

/* The points to simulate next (rows of n values). */
size_t leap_points(const leap *l, const double **points);

/* With gradients? Else leap_tell() reads none. */
int leap_wants_gradient(const leap *l);

void leap_tell(leap *l, const double *loss, const double *gradient, const uint32_t *outcome);

/* Continues a finished leap for another `steps` evaluations if it holds the best loss of the run and improved
 * it by more than 1 % in the last `steps`. Returns whether it does. */
int leap_resume(leap *l, double run_best);

#endif
