/* SPDX-License-Identifier: Apache-2.0 */
/* eval_intervals.h - how well residuals determine the variables at a point: intervals from their Jacobian J,
 * as for least squares near the optimum (G. Seber, C. Wild, "Nonlinear regression", 1989, section 2.1): the
 * covariance is sigma^2 (J'J)^-1, sigma^2 = r'r / (rows - rank), and Student's t with so many degrees
 * of freedom. */
#ifndef DS_EVAL_INTERVALS_H
#define DS_EVAL_INTERVALS_H

#include <jansson.h>

#include "evaluate/pool.h"

typedef struct ds_intervals {
    /* variables; residuals that are not 0 or depend on a variable; directions that are determined */
    uint64_t n, rows, rank;
    double sigma; /* standard deviation of a residual; NAN where there are no degrees of freedom */
    double *half; /* n: half width of the interval of 95 %; INFINITY where the variable is not determined */
    double *direction; /* (n - rank) x n: unit vectors along which nothing changes, in widths of the box */
} ds_intervals;

/* Evaluates x once for each variable. Refused (DS_EXIT_USAGE): no residuals, no products J v, more than
 * 200 variables. */
int ds_intervals_get(ds_pool *pool, const char *id, const double *x, ds_intervals *out, ds_error *e);
void ds_intervals_clear(ds_intervals *v);

void ds_intervals_print(const ds_intervals *v, const double *x, const ds_named_variable *variables);
json_t *ds_intervals_json(const ds_intervals *v, const double *x);

#endif
