/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - test functions for global optimization with known optimum and exact gradient,
 * each placed in its box by a seeded shift and rotation: f(x) = F(z), z = s Q (x - x_opt) + z_opt. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include "function.h"

#include <diffsim/helper/memory.h>

/* Where the optimum lies. */
enum {
    FN_OPTIMUM_RANDOM = 0,  /* uniform in the middle part of the box, drawn from the instance number */
    FN_OPTIMUM_ORIGIN = 1,  /* at x = 0 */
    FN_OPTIMUM_TEXTBOOK = 2 /* where the literature has it: no shift at all */
};

/* NULL-terminated names, in the order of fn_table. */
extern const char *const fn_names[];
extern const fn_def *const fn_table[];

/* Places function `def` with n variables in the box. `instance` selects rotation, shift and bumps. The caller
 * has checked n and, for functions with fixed_n (they cannot be moved) or of the BBOB suite (they have
 * rotations of their own), that no rotation is asked for. Takes its arrays of `m`; NULL where memory is
 * short. */
fn_problem *fn_create(ds_memory *m, const fn_def *def, uint64_t n, const double *lower, const double *upper,
                      int optimum, int rotate, uint64_t instance);

/* f(x), and its gradient into g[n] where g is not NULL. Uses the scratch of p. */
double fn_eval(fn_problem *p, const double *x, double *g);

/* The point z of x (in the scratch of p, or x itself), a direction in x as one in z, and the gradient with
 * respect to z that lies in p->gz as one with respect to x. Not for functions of the BBOB suite. */
const double *fn_to_z(fn_problem *p, const double *x);
void fn_direction_to_z(const fn_problem *p, const double *v, double *out);
void fn_gradient_to_x(fn_problem *p, double *g);

#endif
