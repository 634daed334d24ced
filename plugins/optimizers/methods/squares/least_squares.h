/* SPDX-License-Identifier: Apache-2.0 */
/* least_squares.h - residuals and their Jacobian for a search in [-1, 1]^n, from what the environment offers.
 *
 *     vector       the residuals themselves (a channel of that role): 1 evaluation; their Jacobian: min(n, m)
 *                  products
 *     scalar       one residual, the loss above its floor, with its gradient as Jacobian: 1 evaluation for
 *                  both
 *     differences  the same where there is no gradient: forward differences, n evaluations
 *
 * A product or difference that fails leaves zeros: that variable stays. */
#ifndef DS_METHODS_LEAST_SQUARES_H
#define DS_METHODS_LEAST_SQUARES_H

#include <diffsim/ext/channel.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/opt_kit.h>

enum { LEAST_SQUARES_AUTO = 0, LEAST_SQUARES_VECTOR = 1, LEAST_SQUARES_SCALAR = 2 };

typedef struct least_squares {
    const ds_problem *problem;
    const ds_channel *vector; /* NULL = one residual */
    uint32_t channel;         /* its number */
    ds_evaluator *evaluator;  /* of the optimizer */
    ds_memory memory;
    size_t n, m, arms, chunk;      /* chunk: most rows of one request */
    double *v, *seed, *out, *loss; /* `chunk` rows of a request: points, seeds of products, products */
    uint32_t *outcome;
    double *last_loss, *last_gradient, *floor; /* of each arm: scalar */
    int *fresh;                                /* of each arm: its floor is not known yet */
    int *has_slopes; /* of each arm: last_gradient are the differences at the point of its last residual */
} least_squares;

/* Begins in run(): `wanted` is LEAST_SQUARES_*, `arms` the number of searches. After a failure the host has a
 * message. Call least_squares_free() in either case. */
ds_status least_squares_open(least_squares *q, ds_opt_kit *kit, int wanted, size_t arms);
void least_squares_free(least_squares *q);

/* A search of this arm begins. */
void least_squares_begin(least_squares *q, size_t arm);

/* r (count x m) and loss at points v (count x n) of the arms listed. Where a simulation fails the
 * loss is +INFINITY. */
ds_status least_squares_residuals(least_squares *q, ds_evaluator_label label, size_t count, const size_t *arm,
                                  const double *v, double *r, double *loss);

/* Evaluations that one Jacobian costs. */
size_t least_squares_cost(const least_squares *q);

/* J (m x n, column by column) with respect to v at the point where the residuals of the arm were last
 * computed. */
ds_status least_squares_jacobian(least_squares *q, ds_evaluator_label label, size_t arm, const double *v,
                                 double *j);

#endif
