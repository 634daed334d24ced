/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/residuals.h - extension "ds.env.residuals/1": the loss is a sum of squares, loss(x) =
 * sum of r_i(x)^2.
 *
 * An environment that offers it answers with the m residuals r(x), or with the product of their Jacobian
 * J_ij = d r_i / d x_j, or of its transpose, and a vector. An optimizer for least squares gets the same from
 * objective->get_extension(objective, DS_EXT_RESIDUALS): a ds_residual_objective, or NULL where the
 * environment has none.
 *
 * Residuals cost one evaluation of the budget; every product at a point costs one more. The gradient of
 * the loss is 2 J^T r. A term that is no square, such as a penalty c |x|^2, is written as more
 * residuals, sqrt(c) x_i.
 */
#ifndef DIFFSIM_EXT_RESIDUALS_H
#define DIFFSIM_EXT_RESIDUALS_H

#include <diffsim/base.h>
#include <diffsim/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_RESIDUALS "ds.env.residuals/1"

/* What is asked at a point x. The lengths of `v` and `out` are given in brackets. */
enum {
    DS_RESIDUALS_VALUE = 1, /* [0, m] r(x) */
    DS_RESIDUALS_JV = 2,    /* [n, m] J(x) v */
    DS_RESIDUALS_JTV = 3    /* [m, n] J(x)^T v */
};

/* One evaluation, in and out. All buffers belong to the caller and are dead when the call returns. */
typedef struct ds_residual_eval {
    uint32_t struct_size; /* set by the caller */
    uint32_t kind;        /* in: DS_RESIDUALS_* */
    uint64_t n;           /* in: ds_env_info.n */
    uint64_t m;           /* in: number of residuals */
    const double *x;      /* in: n finite values inside the bounds */
    const double *v;      /* in: finite values; NULL for DS_RESIDUALS_VALUE */
    uint64_t noise_key;   /* in: as in ds_eval */
    double *out;          /* out: all values, where there is an answer */
    double loss;          /* out: what evaluate() returns at x, bit for bit, whatever is asked */
    uint32_t outcome;     /* out: as in ds_eval; DS_EVAL_BAD_GRAD = the loss is valid, the product is not */
    uint32_t grad_kind;   /* out: how a product was made, DS_GRAD_*; DS_GRAD_NONE for DS_RESIDUALS_VALUE */
    int64_t bad_step;     /* out: as in ds_eval */
    uint64_t cost_steps;  /* out: as in ds_eval */
} ds_residual_eval;

/* The environment's side: the table that its get_extension() returns. */
typedef struct ds_residuals {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] The number of residuals, at least 1. The same at every call. */
    ds_status (*size)(void *self, uint64_t *m);

    /* [instance] Simulates one episode, with all promises of ds_env_vtable.evaluate. */
    ds_status (*evaluate)(void *self, ds_residual_eval *io);
} ds_residuals;

/* One request of an optimizer, in and out. Buffers belong to the optimizer. */
typedef struct ds_residual_batch {
    uint32_t struct_size;
    uint32_t kind;     /* in: DS_RESIDUALS_*, for every row */
    uint64_t count;    /* in: rows, at least 1; each costs one evaluation */
    const double *x;   /* in: count x n, row-major; every value finite and inside the bounds */
    const double *v;   /* in: count x (n or m), finite; NULL for DS_RESIDUALS_VALUE */
    double *out;       /* out: count x (m or n); zero rows where there is no answer */
    double *loss;      /* out: count values; +INFINITY where the outcome is not OK or BAD_GRAD; never NaN */
    uint32_t *outcome; /* out: count values DS_EVAL_*; may be NULL */
    const char *tag;   /* in: as in ds_batch */
    uint64_t group;    /* in: as in ds_batch */
    uint64_t done;     /* out: rows answered, from the first on; less than count only with DS_STOPPED */
} ds_residual_batch;

/* The optimizer's side. Made by the host, valid during run(). */
typedef struct ds_residual_objective {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t m; /* number of residuals */

    /* As ds_objective.evaluate, whose `objective` it takes, too. */
    ds_status (*evaluate)(const ds_objective *objective, ds_residual_batch *batch);
} ds_residual_objective;

#ifdef __cplusplus
}
#endif
#endif
