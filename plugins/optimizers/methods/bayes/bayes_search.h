/* SPDX-License-Identifier: Apache-2.0 */
/* bayes_search.h - shared state of the optimizers that learn a surrogate: every simulated point enters the
 * model, the best one is kept, and the last part of the budget refines it. */
#ifndef DS_METHODS_BAYES_SEARCH_H
#define DS_METHODS_BAYES_SEARCH_H

#include "methods/base/own.h"
#include "methods/bayes/surrogate.h"
#include "methods/gradient/refine.h"

/* First member of the instance of such an optimizer. */
typedef struct bayes_search {
    ds_opt_kit kit;
    surrogate_options options;
    surrogate *model;
    int is_deaf;    /* the model is unused: points are too long for it */
    uint64_t group; /* of the batches: the search in progress */
    int64_t told;   /* evaluations so far */
    double *best, best_loss;
    refine *refine;      /* NULL = never */
    int64_t refine_from; /* evaluations after which it begins */
    double refined;      /* best loss after the last refinement */
} bayes_search;

/* Message of a run that lacks memory. */
#define BAYES_NO_MEMORY "out of memory: lower n_max or fit_max"

/* Schema entry of a share of the budget for bayes_refine(). */
#define BAYES_POLISH                                                                                         \
    DS_REAL("polish", "0", 0, 1, "",                                                                         \
            "Share of the budget at the end for ever more careful descents from the best point; without "    \
            "gradient, for CMA-ES around it.")

/* Refuses more variables than a model can have, see opt_check_size(). */
ds_status bayes_check_size(const ds_host *host, size_t n);

/* Reads the options of the model, and `share` of the budget for the refinement. */
void bayes_read(bayes_search *b, ds_param_reader *in, const char *share);
/* Allocates batches of `rows` points; `arms`: the arms of the refinement with and without gradient. 0 without
 * memory. */
int bayes_allocate(bayes_search *b, size_t rows, unsigned arms);
void bayes_release(bayes_search *b);

/* Simulates `count` points and adds them to the model; `start` marks those that it proposed, NULL = none. */
ds_status bayes_simulate(bayes_search *b, const char *tag, size_t count, const unsigned char *start,
                         const double *v, double *loss, double *gradient, uint32_t *outcome);

/* Adds the start of the run to the model, where the kit has evaluated it; 0 without memory. */
int bayes_take_start(bayes_search *b);

/* Start of search `number` = 1, 2, ...: the first at the start of the run, if there is one; others where the
 * model proposes, given `count` points with losses that other searches have reached. */
ds_status bayes_propose(bayes_search *b, uint64_t number, size_t count, const double *points,
                        const double *loss, double *v);

/* Evaluates a Sobol design of `count` points, if that is more than one, in one batch. */
ds_status bayes_design(bayes_search *b, size_t count);

/* Reports the length scale of the model, and how many evaluations it has. */
ds_status bayes_report(bayes_search *b);

/* Whether a refinement is due: the best point is new since the last one. */
int bayes_refine_due(const bayes_search *b);
ds_status bayes_refine(bayes_search *b);

#endif
