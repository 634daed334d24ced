/* SPDX-License-Identifier: Apache-2.0 */
/* free_variables.h - the problem that an optimizer gets where some variables are fixed (lower == upper): only
 * the free ones. Evaluation and record have all variables. Where none is fixed, problem and requests pass
 * through unchanged. */
#ifndef DS_RUN_FREE_VARIABLES_H
#define DS_RUN_FREE_VARIABLES_H

#include <diffsim/optimizer.h>

#include "run/queries.h"

typedef struct ds_free_variables {
    uint64_t n;         /* variables of the environment */
    uint64_t *index;    /* numbers of the free variables, ascending, problem.n of them; NULL = all are free */
    ds_problem problem; /* for the optimizer; its arrays belong to this struct or to the full problem */
    double *point;      /* n values; only those of the fixed variables count */
} ds_free_variables;

/* Takes the free variables of a problem, whose arrays outlive *out. Returns `status` with one line that
 * begins with `who` where no variable is free. */
int ds_free_variables_open(const char *who, const ds_problem *full, int status, ds_free_variables *out,
                           ds_error *e);
void ds_free_variables_close(ds_free_variables *f);

/* Writes a point of the free variables into a point of all variables. */
void ds_free_variables_expand(const ds_free_variables *f, const double *x, double *full);

/* A request about all variables, made from one about the free ones; its rows of points and gradients are
 * dense. */
typedef struct ds_full_request {
    ds_request request; /* single numbers of a row point into the optimizer's results */
    double *room;       /* x, gradients, and the vectors of the queries */
} ds_full_request;

/* Is it needed: are variables fixed, or are there gaps between rows of points or gradients? */
int ds_full_request_needed(const ds_free_variables *f, const ds_request *r);

/* Makes it from a valid request. Returns 0 or DS_EXIT_MEMORY. */
int ds_full_request_open(const ds_free_variables *f, const ds_request *r, const ds_channels *channels,
                         ds_full_request *out);

/* Copies gradients and products of the first `done` rows to the optimizer's request `r`. */
void ds_full_request_answer(const ds_free_variables *f, const ds_full_request *full, const ds_request *r,
                            uint64_t done);
void ds_full_request_close(ds_full_request *full);

#endif
