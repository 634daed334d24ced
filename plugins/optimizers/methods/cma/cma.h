/* SPDX-License-Identifier: Apache-2.0 */
/* cma.h - covariance matrix adaptation: sampling and update of one (mu/mu_w, lambda)-CMA-ES. N. Hansen, The
 * CMA evolution strategy: a tutorial, arXiv:1604.00772 (2016/2023).
 *
 * A strategy draws lambda points x_k = m + sigma y_k, y_k ~ N(0, C), receives their losses, and moves m,
 * sigma and C. Bounds, budgets and restarts are up to the caller, who also chooses the coordinates. */
#ifndef CMA_H
#define CMA_H

#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>

#include <stdint.h>

/* ---- options and strategy constants: N. Hansen, arXiv:1604.00772 (2016/2023), table 1 ---- */

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

/* ---- eigen-decomposition of a symmetric matrix by dsyevd of LAPACK, in workspace of the caller ---- */

/* Largest n (the index type of the library). */
enum { EIGEN_MAX_N = 20000 };

/* Doubles and ints of workspace for matrices of order n. */
uint64_t eigen_work_size(uint64_t n);
uint64_t eigen_iwork_size(uint64_t n);

/* A = sum_i value[i] v_i v_i^T. In: the lower triangle of `a` (n x n, row-major). Out: row i of `a` is the
 * unit eigenvector v_i; values ascend. Returns 0, or nonzero where the iteration
 * failed (non-finite input). */
int eigen_symmetric(uint64_t n, double *a, double *value, double *work, int *iwork);

typedef struct cma cma;
struct cma {
    cma_constants k;
    int profile, diagonal;
    /* State. Write to it only between cma_start() and cma_sample(), and call cma_decompose() after a change
     * of c. */
    uint64_t g;   /* generations done */
    double sigma; /* step size */
    double *m;    /* n: mean */
    double *c;    /* n x n, lower triangle; diagonal mode: n */
    double *p_c;  /* n: evolution path */
    double *p_s;  /* n: conjugate evolution path */
    int h;        /* of the last update: 0 = the path of C was stalled because p_s was long */
    /* C = B diag(d^2) B^T; row i of b is the i-th eigenvector. Diagonal mode: b unused, d_i = sqrt(C_ii). */
    double *b, *d;
    uint64_t eigen_g; /* generation of the last decomposition */
    /* The current generation: lambda x n. */
    double *y;         /* (x - m)/sigma */
    double *z;         /* C^{-1/2} y turned into the eigen-axes, N(0, I) for samples */
    uint8_t *repaired; /* lambda: set to 1 where row k of x is not what cma_sample() wrote there */
    uint64_t *order;   /* lambda: rows by rank, set by cma_update() */
    /* Private. */
    double *rows, *y_w, *z_w, *invsqrt_y_w, *work;
    int *iwork;
    struct cma_ranked *ranked;
    ds_memory memory;
};

/* NULL where memory is short. */
cma *cma_new(const cma_options *options);
void cma_free(cma *c);

/* Forgets everything and starts at mean m[n] with step size sigma, C = I. */
void cma_start(cma *c, const double *m, double sigma);

/* Decomposes C now. 0, or -1 where C is not finite. Corrects eigenvalues that round-off made <= 0. */
int cma_decompose(cma *c);

/* Draws a generation into x (lambda x n), decomposing C first where that is due; 0, or
 * -1 as cma_decompose(). */
int cma_sample(cma *c, ds_random *random, double *x);
/* Draws row k of the generation anew. */
void cma_redraw(cma *c, ds_random *random, uint64_t k, double *x);

/* Replaces row k by an outside point, pulled towards the mean where it is too far for the distribution
 * (Hansen, Injecting external solutions into CMA-ES, arXiv:1110.4181). */
void cma_inject(cma *c, uint64_t k, const double *point, double *x);

/* Updates mean, paths, C and sigma from points x (rows marked `repaired` are read again, the others are
 * known) and losses f[lambda], +INFINITY for failures; equal losses rank by row. `mean`, where not
 * NULL, replaces the weighted mean of the best: the paths then follow this move, shortened as above,
 * and m becomes `mean`. */
void cma_update(cma *c, const double *x, const double *f, const double *mean);

/* sqrt(C_ii). */
double cma_deviation(const cma *c, uint64_t i);

/* Scales row and column i of C by factor > 0 (C stays positive definite); takes effect at the
 * next decomposition. */
void cma_scale_axis(cma *c, uint64_t i, double factor);

#endif
