/* SPDX-License-Identifier: Apache-2.0 */
/* check_problem.h - small problems of known shape for testing optimizers. */
#ifndef DS_HARNESS_CHECK_PROBLEM_H
#define DS_HARNESS_CHECK_PROBLEM_H

#include <diffsim/optimizer.h>

enum { DS_CHECK_MAX_N = 10 };

enum {
    DS_CHECK_SPHERE,
    DS_CHECK_ROSENBROCK,
    DS_CHECK_RASTRIGIN,
    DS_CHECK_STEP, /* flat terraces: gradient zero */
    DS_CHECK_CONSTANT,
    DS_CHECK_FUNCTIONS
};

/* A problem with the arrays it points to. */
typedef struct ds_check_problem {
    ds_problem problem;
    double lower[DS_CHECK_MAX_N], upper[DS_CHECK_MAX_N], x0[DS_CHECK_MAX_N];
} ds_check_problem;

void ds_check_problem_make(ds_check_problem *p, uint64_t n, int has_gradient, uint64_t budget);
/* Residuals of such a problem, and products with their Jacobian; op is DS_QUERY_VALUE, DS_QUERY_JV or
 * DS_QUERY_JTV. Their number is ds_check_problem_residuals(), 0 where there are none. */
uint64_t ds_check_problem_residuals(int function, uint64_t n);
void ds_check_problem_product(int function, uint64_t n, uint32_t op, const double *x, const double *v,
                              double *out);
double ds_check_problem_value(int function, uint64_t n, const double *x, double *grad);

const char *ds_check_function_name(int function);

#endif
