/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator.h - Sim(x) of the papers: simulates points of the canonical box [-1, 1]^n through
 * the host's objective.
 *
 * Losses come back as the host tells them (+INFINITY for a failed simulation), gradients with respect to v.
 */
#ifndef DS_METHODS_EVALUATOR_H
#define DS_METHODS_EVALUATOR_H

#include <diffsim/optimizer.h>
#include <stddef.h>

/* The start point of a run, where there is one: parameter x0, or with use_x0 the one that the environment
 * suggests. The run evaluates it first, exactly as given, and then begins its search there. */
typedef struct opt_start {
    double *x, *v;    /* n each: in the units of the environment, and in [-1, 1]^n; NULL = no start */
    double *gradient; /* n: set it in allocate() for d loss / d v; NULL = not wanted */
    double loss;      /* of the evaluation by the kit, see opt_kit.h */
    int evaluated;    /* by the kit */
} opt_start;

typedef struct evaluator {
    const ds_problem *problem;
    const ds_objective *objective; /* set when the run begins */
    size_t n;
    double *x; /* `rows` x n points in the units of the environment */
    size_t rows;
    const opt_start *start; /* its v is evaluated at its x; NULL = there is none */
} evaluator;

/* What a batch of simulations is for; see ds_batch. */
typedef struct batch_label {
    const char *tag;
    uint64_t group;
} batch_label;

/* 0 without memory; at most `rows` points per call. */
int evaluator_init(evaluator *e, const ds_problem *problem, size_t rows);
void evaluator_free(evaluator *e);

/* A point v in the units of the environment: the start of the run exactly as given. */
void evaluator_x(const evaluator *e, const double *v, double *x);

/* Simulates `count` <= rows points v (count x n). gradient (count x n) and outcome may be NULL. Sets *done,
 * the number of rows answered from the first on, also with DS_STOPPED. */
ds_status evaluator_run(evaluator *e, batch_label label, size_t count, const double *v, double *loss,
                        double *gradient, uint32_t *outcome, size_t *done);

#endif
