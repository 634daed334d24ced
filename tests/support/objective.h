/* SPDX-License-Identifier: Apache-2.0 */
/* objective.h - runs an optimizer plugin on an analytic function without the host: an objective that
 * counts, checks and records every evaluation and can make some fail. */
#ifndef DS_TESTS_OBJECTIVE_H
#define DS_TESTS_OBJECTIVE_H

#include "host.h"

/* Loss at x (n values); the gradient is written where `gradient` is not NULL. */
typedef double (*fake_function)(void *ctx, size_t n, const double *x, double *gradient);

/* Residuals r[m] whose squares add up to that loss, and their Jacobian, m x n by rows, where it is not NULL.
 */
typedef void (*fake_residuals)(void *ctx, size_t n, const double *x, double *r, double *jacobian);

typedef struct fake_problem {
    size_t n;
    double lower, upper; /* the same for every variable */
    fake_function f;
    void *ctx;
    int no_gradient;
    uint64_t budget; /* evaluations after which the objective returns DS_STOPPED; at least 1 */
    double target;   /* ends the run at the first loss <= target; give -INFINITY for none */
    double loss_floor;
    double failure_rate; /* share of evaluations that return +INFINITY, selected by their number alone */
    double bad_gradient_rate;
    uint64_t stop_after; /* should_stop() returns 1 after this many polls; 0 = never */
    size_t m;            /* residuals, offered as a channel; 0 = no channels */
    fake_residuals squares;
} fake_problem;

/* One evaluation. */
typedef struct fake_row {
    double loss;
    uint32_t want, outcome;
    uint64_t group;
    char tag[16];
} fake_row;

typedef struct fake_result {
    ds_status create_status, status;
    uint64_t evaluations, calls;
    uint64_t violations; /* rows that broke the contract */
    double best;         /* least finite loss */
    double *x;           /* evaluations x n */
    fake_row *rows;
    char error[1024]; /* last message of host->error */
    char log[1024];   /* last message of host->log */
    uint64_t polls;   /* of should_stop */
} fake_result;

/* Loads plugins/optimizers/ID.so of the build tree (or a path with a slash) and runs it with parameters
 * "name=value name=value"; others have their defaults. Aborts the test where the plugin cannot be loaded or a
 * parameter is unknown. Release the result with fake_free(). */
fake_result fake_run(const char *plugin, const char *parameters, const fake_problem *problem, uint64_t seed);
void fake_free(fake_result *result);

/* How many evaluations carry `tag`, and the largest group. */
uint64_t fake_count(const fake_result *result, const char *tag);
uint64_t fake_groups(const fake_result *result);

/* Least loss of the first `count` evaluations. */
double fake_best_after(const fake_result *result, uint64_t count);

/* ---- cases that every optimizer must pass ---- */

/* A problem with the same bounds for every variable, without target. */
fake_problem optimizer_box(size_t n, double lower, double upper, fake_function f, uint64_t budget);

/* The run made `budget` evaluations, none outside the box, and ended with DS_STOPPED. */
void optimizer_assert_sound(const fake_result *r, uint64_t budget);

/* The same points, bit for bit, up to the shorter run. */
void optimizer_assert_same(const fake_result *a, const fake_result *b, size_t n);

/* All of the above for one plugin with one set of parameters at a small budget: 20 % failing simulations and
 * bad gradients, all failing, two equal runs, a longer run with the same beginning (unless the plugin depends
 * on its budget), huge, constant and jumping losses, one variable, and a stop request. `least` is the
 * smallest dimension. */
void optimizer_stands(const char *plugin, const char *parameters, uint64_t budget, size_t least,
                      int uses_budget);

#endif
