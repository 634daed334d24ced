/* SPDX-License-Identifier: Apache-2.0 */
/* cma_constants.h - what a CMA-ES is asked for, and the strategy constants that follow from it: learning
 * rates, weights and schedules of each published code. N. Hansen, arXiv:1604.00772 (2016/2023), table 1. */
#ifndef CMA_CONSTANTS_H
#define CMA_CONSTANTS_H

#include <stdint.h>

/* Which published set of constants. */
enum {
    CMA_TUTORIAL = 0, /* the tutorial, version of 2016 and later */
    CMA_PAPER = 1,    /* the Python library `cmaes` (Nomura and Shibata, arXiv:2402.01373) */
    CMA_C_CMAES = 2,  /* Hansen's c-cmaes: positive weights, faster step size in short runs */
    CMA_2001 = 3      /* Hansen and Ostermeier, Evol. Comput. 9(2), 2001: rank-one update only */
};

typedef struct cma_options {
    uint64_t n;         /* variables */
    uint64_t lambda;    /* population, at least 2; 0 = 4 + floor(3 ln n) */
    uint64_t mu;        /* parents; 0 = floor(lambda/2) */
    int profile;        /* CMA_TUTORIAL ... */
    int active;         /* 1 = negative weights for the worse half (profiles TUTORIAL and PAPER) */
    int diagonal;       /* 1 = keep only the diagonal of C (Ros and Hansen, PPSN 2008) */
    int equal_weights;  /* 1 = w_i = 1/mu (profile 2001) */
    double generations; /* planned, for the damping of C_CMAES; 0 = many */
    double eigen_share; /* share of C that may change between decompositions; 0 = schedule of the tutorial */
} cma_options;

/* Strategy constants, named as in the tutorial. */
typedef struct cma_constants {
    uint64_t n, lambda, mu;
    double mueff, mueff_neg;    /* variance-effective selection mass of the better and the worse part */
    double c_s, d_s;            /* step-size control: learning rate, damping */
    double c_c, c_1, c_mu, c_m; /* learning rates of path, rank-one and rank-mu update, mean */
    double chi_n;               /* E |N(0, I)| */
    double log_step_cap;        /* most that ln sigma grows in one generation */
    double stall_offset;        /* the h test uses exponent 2 (g + stall_offset); 0 = no test */
    double max_axis_ratio;      /* max D / min D that C is kept under; INFINITY = no limit */
    uint64_t eigen_gap;         /* generations between decompositions */
    double *weight;             /* lambda, by rank; negative ones last */
    double weight_sum;
} cma_constants;

/* 4 + floor(3 ln n). */
uint64_t cma_default_lambda(uint64_t n);

/* Fills `k`; 0, or -1 where memory is short. Free with cma_constants_free(). */
int cma_constants_init(cma_constants *k, const cma_options *options);
void cma_constants_free(cma_constants *k);

#endif
