/* SPDX-License-Identifier: Apache-2.0 */
/* squares.h - those test functions that are sums of squares: residuals, and products with their Jacobian. */
#ifndef SQUARES_H
#define SQUARES_H

#include "functions.h"

/* Number of residuals of a function in its place; 0 = it is no sum of squares. */
uint64_t fn_squares(const fn_problem *p);

/* r(x), J(x) v and J(x)^T v. The sum of squares of r is fn_eval() up to rounding. They use the scratch of p.
 */
void fn_residuals(fn_problem *p, const double *x, double *r);
void fn_residuals_jv(fn_problem *p, const double *x, const double *v, double *out);
void fn_residuals_jtv(fn_problem *p, const double *x, const double *v, double *out);

#endif
