/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gradient.h - the finite differences of `dshost eval --fd`, and what they say about the gradient. */
#ifndef DS_EVAL_EVAL_GRADIENT_H
#define DS_EVAL_EVAL_GRADIENT_H

#include <jansson.h>

#include "base/error.h"
#include "difference/finite_difference.h"
#include "evaluate/pool.h"

typedef struct ds_gradient_table {
    ds_quotient *row; /* n of them, or NULL */
    uint64_t n;
    const ds_pool_env *env; /* whose fixed variables have no difference */
    uint64_t fixed;
    int judged; /* there is a gradient to compare with */
    uint64_t count[DS_SLOPE_WRONG + 1];
} ds_gradient_table;

/* Differences at x, where the answer of the evaluation is `at_x`; `grad` is NULL where it has no gradient. x
 * is restored. */
int ds_gradient_table_make(ds_pool *pool, double *x, const ds_answer *at_x, const double *grad,
                           ds_gradient_table *t, ds_error *e);
void ds_gradient_table_clear(ds_gradient_table *t);

/* The columns of variable i, and the line below them all. */
void ds_gradient_table_print_row(const ds_gradient_table *t, uint64_t i);
void ds_gradient_table_print_verdict(const ds_gradient_table *t);

/* Adds its keys; `t` may be empty. */
void ds_gradient_table_json(const ds_gradient_table *t, json_t *o);

/* DS_EXIT_CHECK, with a line, where the gradient is wrong. */
int ds_gradient_table_status(const ds_gradient_table *t, const char *id, ds_error *e);

#endif
