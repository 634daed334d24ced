/* SPDX-License-Identifier: Apache-2.0 */
/* check_problem.h - small problems of known shape for testing optimizers, and an objective that watches the
 * optimizer: every point must be finite and inside the box, and it must end when it is told to. */
#ifndef DS_CHECK_CHECK_PROBLEM_H
#define DS_CHECK_CHECK_PROBLEM_H

#include <diffsim/optimizer.h>
#include <stdatomic.h>

#include "check/check.h"
#include "check/check_host.h"

enum { DS_CHECK_MAX_N = 10 };

enum {
    DS_CHECK_SPHERE,
    DS_CHECK_ROSENBROCK,
    DS_CHECK_RASTRIGIN,
    DS_CHECK_STEP, /* flat terraces: gradient zero */
    DS_CHECK_CONSTANT,
    DS_CHECK_FUNCTIONS
};

/* What goes wrong with the answers. */
enum {
    DS_CHECK_FAIL_NOTHING,
    DS_CHECK_FAIL_SOME, /* 30 % of all points fail (always the same points) */
    DS_CHECK_FAIL_ALL,
    DS_CHECK_FAIL_HUGE,     /* losses of 1e300 and -1e300 */
    DS_CHECK_FAIL_GRADIENT, /* 30 % of the gradients are invalid, told as zero */
    DS_CHECK_FAIL_ZERO      /* every gradient is zero */
};

/* One search: what is wanted of it, and what came of it. */
typedef struct ds_check_search {
    /* in */
    int function, failure;
    uint64_t n;
    uint64_t budget;     /* evaluations that the optimizer is told of */
    uint64_t stop_after; /* evaluations after which the objective says DS_STOPPED; 0 = the budget */
    uint64_t seed;
    uint32_t threads;
    int has_gradient;
    int residuals;  /* the problem offers them (sphere, rosenbrock, rastrigin) */
    double seconds; /* the objective also stops after this wall time; 0 = never */
    int strict;     /* breaches of the contract fail this test, too, not only search.points and search.stop */
    double stop_at; /* should_stop() and the objective say so this many seconds after the start; 0 = never */
    /* out */
    int broken;               /* the search was cut off, or it ended as it should not */
    int created;              /* 0: create() refused; message says why */
    ds_status status;         /* of create() or run() */
    uint64_t used;            /* evaluations answered */
    uint64_t asked_after;     /* calls after the first DS_STOPPED */
    double best;              /* smallest loss told */
    double wall;              /* seconds in run() */
    double told_stop;         /* when DS_STOPPED was said first, seconds since the start; 0 = never */
    uint64_t wanted_gradient; /* rows for which a gradient was wanted */
    uint64_t wanted_residuals, wanted_products; /* rows for which these were wanted */
    uint64_t *trace;                            /* per evaluation a hash of x and want; free() it */
    char message[256];                          /* of host->error() */
} ds_check_search;

/* Makes an optimizer for the problem and lets it run. Breaches of the contract are recorded with `name` in
 * front, as a failure where the search is strict, else as a reason to skip; the caller judges the rest. 0
 * where no instance could be tried (recorded). */
int ds_check_search_run(ds_check *c, const char *name, ds_check_search *s);

/* A problem on its own, for tests that only create instances. */
typedef struct ds_check_problem {
    ds_problem problem;
    double lower[DS_CHECK_MAX_N], upper[DS_CHECK_MAX_N], x0[DS_CHECK_MAX_N];
} ds_check_problem;

void ds_check_problem_make(ds_check_problem *p, uint64_t n, int has_gradient, uint64_t budget);
/* Residuals of such a problem, and products with their Jacobian; kind as in diffsim/ext/residuals.h. Their
 * number is ds_check_problem_residuals(), 0 where there are none. */
uint64_t ds_check_problem_residuals(int function, uint64_t n);
void ds_check_problem_product(int function, uint64_t n, uint32_t kind, const double *x, const double *v,
                              double *out);
double ds_check_problem_value(int function, uint64_t n, const double *x, double *grad);

const char *ds_check_function_name(int function);

#endif
