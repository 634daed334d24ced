/* SPDX-License-Identifier: Apache-2.0 */
/* free_variables.h - what an optimizer gets of a problem in which some variables are fixed (lower == upper):
 * the free ones alone. Whoever evaluates and records gets all of them. Where no variable is fixed, problem
 * and batches pass through unchanged.
 */
#ifndef DS_RUN_FREE_VARIABLES_H
#define DS_RUN_FREE_VARIABLES_H

#include <diffsim/optimizer.h>

#include "plugin/channels.h"

typedef struct ds_free_variables {
    uint64_t n;      /* variables of the environment */
    uint64_t *index; /* numbers of the free ones, ascending, problem.n of them; NULL = all are free */
    ds_problem
        problem;   /* for the optimizer; its arrays belong to this struct, or are those of the full problem */
    double *point; /* n values, of which those of the fixed variables count */
} ds_free_variables;

/* Takes the free variables of a problem, whose arrays outlive *out. Where none is left to search for, returns
 * `status` after one line that begins with `who`. */
int ds_free_variables_open(const char *who, const ds_problem *full, int status, ds_free_variables *out,
                           ds_error *e);
void ds_free_variables_close(ds_free_variables *f);

/* A batch of all variables, made from one of the free ones. */
typedef struct ds_full_batch {
    ds_batch batch; /* loss, outcome and cost_steps point into the optimizer's batch */
    ds_ask ask[DS_MAX_ASKS], *list[DS_MAX_ASKS];
    double *room; /* x, gradients, and the vectors of the questions */
} ds_full_batch;

/* Makes it from a batch that keeps all rules. 0, or DS_EXIT_MEMORY. */
int ds_full_batch_open(const ds_free_variables *f, const ds_batch *b, const ds_channels *channels,
                       ds_full_batch *out);

/* Copies gradients and products of the first `done` rows to the optimizer's batch `b`, and releases the full
 * one. */
void ds_full_batch_answer(const ds_free_variables *f, const ds_full_batch *full, const ds_batch *b,
                          uint64_t done);
void ds_full_batch_close(ds_full_batch *full);

#endif
