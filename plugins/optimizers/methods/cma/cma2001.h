/* SPDX-License-Identifier: Apache-2.0 */
/* cma2001.h - the covariance matrix adaptation inside a leap of BO-Leap: equations 13 to 17 of N.
 * Hansen and A. Ostermeier, "Completely derandomized self-adaptation in evolution strategies", Evol. Comput.
 * 9 (2001), which adapt C by one rank-one update per generation; alternatively the rank-mu update of N.
 * Hansen's tutorial (arXiv:1604.00772) with negative weights.
 *
 * Unlike in CMA-ES proper, the next mean is given from outside (it is the end of a gradient descent).
 */
#ifndef DS_METHODS_CMA2001_H
#define DS_METHODS_CMA2001_H

#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>

enum { CMA2001_RANK_ONE, CMA2001_TUTORIAL };
enum { CMA2001_EQUAL_WEIGHTS, CMA2001_LOG_WEIGHTS };

/* The most variables: C, its axes and the room to find them are 32 n^2 bytes, and a generation costs n^3. */
enum { CMA2001_MOST = 5000 };

typedef struct cma2001 {
    size_t n, lambda, mu;
    int update;
    double *weights;                 /* lambda; those of the mu best sum to 1 */
    double c_w;                      /* sum w / |w| of the mu best = sqrt(mueff) */
    double c_c, c_s, c_1, c_mu, d_s; /* c_cov of 2001 is c_1 */
    double chi_n;                    /* about E|N(0, I)| */

    double *mean, sigma;
    double *C, *B, *D; /* C = B diag(D^2) B^T; columns of B are the axes */
    double *p_c, *p_s;
    int generation, is_identity, is_decomposed;
    double *z, *y, *work;
    int *iwork, lwork, liwork;
    ds_memory memory;
} cma2001;

/* 0 without memory, or where n > CMA2001_MOST; cma2001_free() releases also what a failed call left. */
int cma2001_init(cma2001 *c, size_t n, size_t lambda, size_t mu, int weights, int update);
void cma2001_free(cma2001 *c);

/* Begins at a mean with C = I. */
void cma2001_start(cma2001 *c, const double *mean, double sigma);

/* Eq. 13: x = mean + sigma B D z. */
void cma2001_sample(cma2001 *c, ds_random *rng, double *x);

/* Weighted mean of the first min(mu, count) rows of `ranked` (best first), with the weights scaled to sum 1.
 */
void cma2001_recombine(const cma2001 *c, const double *ranked, size_t count, double *mean);

/* Scales a shift of the mean that did not come from selection so that it cannot drive the paths away
 * (N. Hansen, "Injecting external solutions into CMA-ES", 2011). */
void cma2001_clip_shift(cma2001 *c, double *shift);

/* Eq. 14 to 17 with <x>_new - mean = shift, then mean <- new_mean. ranked: the `count` samples of this
 * generation that succeeded, best first (used by the tutorial update only). */
void cma2001_update(cma2001 *c, const double *shift, const double *ranked, size_t count,
                    const double *new_mean);

#endif
