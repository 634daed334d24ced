/* SPDX-License-Identifier: Apache-2.0 */
/* local_solver.h - local searches of several workers in step, chosen by name: Levenberg-Marquardt,
 * L-BFGS-B, or gradient descent with Adam. All work in [-1, 1]^n. */
#ifndef DS_METHODS_LOCAL_SOLVER_H
#define DS_METHODS_LOCAL_SOLVER_H

#include "methods/gradient/descent.h"
#include "methods/gradient/lbfgsb.h"
#include "methods/squares/least_squares.h"
#include "methods/squares/levenberg.h"

#include <diffsim/helper/opt_kit.h>

enum { LOCAL_LM, LOCAL_LBFGSB, LOCAL_ADAM };

typedef struct local_options {
    int kind;      /* LOCAL_* */
    int residuals; /* LEAST_SQUARES_*, for LOCAL_LM */
    size_t limit;  /* most evaluations of one search, products with the Jacobian included; 0 = no limit */
    lm_options lm;
    double lr; /* LOCAL_ADAM */
} local_options;

typedef struct local_solver local_solver;

/* Makes solvers for `workers` searches, in run(). Returns NULL after a failure: *status says which, and the
 * host has a message. */
local_solver *local_solver_create(ds_opt_kit *kit, size_t workers, const local_options *options,
                                  ds_status *status);
void local_solver_destroy(local_solver *s);

/* Runs one search of every worker from start (workers x n) to its end, in step. *loss and `best` (workers x
 * n) get the best that each has seen, +INFINITY where there was none. The batches carry the group. */
ds_status local_solver_run(local_solver *s, uint64_t group, const double *start, double *loss, double *best);

#endif
