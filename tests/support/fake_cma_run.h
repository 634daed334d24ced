/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cma_run.h - a host in miniature for unit tests: loads a plugin, gives it parameters, evaluates
 * in-process. No worker, no store: only what the contracts in include/diffsim promise to a plugin. */
#ifndef FAKE_CMA_RUN_H
#define FAKE_CMA_RUN_H

#include <diffsim/diffsim.h>

/* |a - b| <= tolerance, with the values in the message (cmocka compares only floats). */
#define assert_near(a, b, tolerance)                                                                         \
    do {                                                                                                     \
        double near_a = (a), near_b = (b);                                                                   \
        if (!(fabs(near_a - near_b) <= (tolerance))) {                                                       \
            fail_msg("%s = %.17g, not %.17g", #a, near_a, near_b);                                           \
        }                                                                                                    \
    } while (0)

enum { FAKE_PARAMS = 64 };

typedef struct fake_value {
    int64_t integer;
    double real;
    char text[256];
    double *list;
    uint64_t count;
} fake_value;

typedef struct fake_host {
    ds_host host;
    const ds_desc *desc;
    fake_value value[FAKE_PARAMS];
    char message[1024]; /* last error or warning of the plugin */
} fake_host;

/* A plugin of the build tree, e.g. "envs/analytic"; fails the test where it cannot be loaded. */
const ds_plugin *fake_load(const char *name);

/* Fills the host from the plugin's defaults and `settings` ("name=value", NULL-terminated; NULL = none). */
void fake_host_open(fake_host *fake, const ds_plugin *plugin, uint64_t seed, const char *const *settings);
void fake_host_close(fake_host *fake);

/* An environment, the problem it poses and a record of all evaluations. */
typedef struct fake_env {
    fake_host host;
    const ds_plugin *plugin;
    void *self;
    ds_env_info info;
    ds_problem problem;
    double *lower, *upper, *x0;
    ds_objective objective;
    uint64_t budget, done;  /* evaluations allowed and made */
    uint64_t calls;         /* calls of objective.evaluate that were not refused */
    uint64_t out_of_bounds; /* rows that broke the contract */
    uint64_t groups;        /* largest group seen */
    double best;
    double *x, *loss; /* all rows answered: done x n, done */
    uint64_t capacity;
    double (*transform)(double loss); /* applied to the losses told, where not NULL */
} fake_env;

void fake_env_open(fake_env *e, const char *name, const char *const *settings, uint64_t budget,
                   double target);
void fake_env_close(fake_env *e);

/* One evaluation of the environment; returns the loss. */
double fake_eval(fake_env *e, const double *x, double *grad, uint64_t noise_key, uint32_t *outcome);

/* The values of a metric in an episode at x; fails the test where there is no such metric. */
const double *fake_metric(fake_env *e, const double *x, const char *want);
/* Those of another metric of the same episode. */
const double *fake_values(fake_env *e, const char *want);

/* Runs an optimizer to its end and returns what run() returned. */
ds_status fake_run(fake_env *e, const char *optimizer, uint64_t seed, const char *const *settings);

#endif
