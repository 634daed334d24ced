/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - test functions for global optimization with known optimum and exact gradient. A seeded shift
 * and rotation places each in its box: f(x) = F(z), z = s Q (x - x_opt) + z_opt. */
#ifndef DS_ENGINES_FUNCTIONS_H
#define DS_ENGINES_FUNCTIONS_H

#include "engines/functions/function.h"

#include <diffsim/helper/memory.h>

/* ---- placing and evaluating ---- */

/* Where the optimum lies. */
enum {
    FN_OPTIMUM_RANDOM = 0,  /* uniform in the middle part of the box, drawn from `instance` */
    FN_OPTIMUM_ORIGIN = 1,  /* at x = 0 */
    FN_OPTIMUM_TEXTBOOK = 2 /* as in the literature, without a shift */
};

/* NULL-terminated names, in the order of fn_table. */
extern const char *const fn_names[];
extern const fn_def *const fn_table[];

/* Places function `def` with n variables in the box. `instance` selects rotation, shift and bumps. The caller
 * has checked n, and that no rotation is requested for functions with fixed_n (they cannot be moved) or of
 * the BBOB suite (they have their own). Allocates from `m`; returns NULL without memory. */
fn_problem *fn_create(ds_memory *m, const fn_def *def, uint64_t n, const double *lower, const double *upper,
                      int optimum, int rotate, uint64_t instance);

/* f(x), and its gradient in g[n] if g is not NULL. Uses the scratch of p. */
double fn_eval(fn_problem *p, const double *x, double *g);

/* ---- sums of squares ---- */

/* Number of residuals; 0: the function is not a sum of squares. */
uint64_t fn_squares(const fn_problem *p);

/* r(x), J(x) v and J(x)^T v. The sum of squares of r is fn_eval() up to rounding. Uses the scratch of p. */
void fn_residuals(fn_problem *p, const double *x, double *r);
void fn_residuals_jv(fn_problem *p, const double *x, const double *v, double *out);
void fn_residuals_jtv(fn_problem *p, const double *x, const double *v, double *out);

#endif
