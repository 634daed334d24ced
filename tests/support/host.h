/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - a miniature host for tests of one plugin: loads it, gives it parameters as a user would write
 * them, and evaluates in this process. No worker, no store: only the services of plugin/services.h, and what
 * the plugin reported. */
#ifndef DS_TESTS_HOST_H
#define DS_TESTS_HOST_H

#include "config/npy.h"
#include "plugin/instance.h"
#include "test.h"

#include <diffsim/diffsim.h>
#include <diffsim/helper/eval.h>

typedef struct fake_host {
    ds_services services; /* services.host is what the plugin sees */
    const ds_plugin *plugin;
    ds_settings settings;
    const char *array_name; /* parameter whose array is given as data, or NULL */
    ds_array array;
    uint64_t polls;      /* of should_stop() */
    uint64_t stop_after; /* should_stop() returns 1 after so many polls; 0 = never */
    char error[1024];    /* last error of the plugin */
    char log[1024];      /* last line of its log */
} fake_host;

/* Loads a plugin of the build tree ("envs/analytic"; or a path with a leading slash) and sets its defaults
 * and `settings` ("name=value", NULL-terminated; NULL = none). Fails the test if that is impossible. */
void fake_host_open(fake_host *f, const char *name, uint64_t seed, const char *const *settings);
void fake_host_close(fake_host *f);
/* Sets another value, while the plugin has no instance. */
void fake_host_set(fake_host *f, const char *name, const char *text);
void fake_host_set_array(fake_host *f, const char *name, const double *data, uint64_t ndim,
                         const uint64_t *shape);

/* create() of an environment must refuse the settings with DS_E_PARAM and a message with `word` in it. */
void fake_env_refuses(const char *name, const char *const *settings, const char *word);

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
    double *x, *loss; /* all evaluated rows: done x n, done */
    uint64_t capacity;
    double (*transform)(double loss); /* applied to the losses, if not NULL */
    uint32_t channel;                 /* of fake_products() and fake_quotient() */
} fake_env;

void fake_env_open(fake_env *e, const char *name, const char *const *settings, uint64_t budget,
                   double target);
void fake_env_close(fake_env *e);

/* One evaluation of the environment; returns the loss. */
double fake_eval(fake_env *e, const double *x, double *grad, uint64_t noise_key, uint32_t *outcome);

/* The values of a metric in an episode at x; fails the test if there is no such metric. */
const double *fake_metric(fake_env *e, const double *x, const char *want);
/* Those of another metric of the same episode. */
const double *fake_values(fake_env *e, const char *want);

/* Tests the products of e->channel at x: squares of residuals add up to the loss, the loss does not depend on
 * the queries, and w . J v = J' w . v for numbers w, up to `tolerance` of the sum of the sizes of its terms.
 */
void fake_products(fake_env *e, const double *x, const double *v, double tolerance);
/* Tests J v of e->channel against central differences with steps h v and h v / 2, extrapolated; `tolerance`
 * is a share of the largest element. */
void fake_quotient(fake_env *e, const double *x, const double *v, double h, double tolerance);

/* Runs an optimizer to its end and returns what run() returned. */
ds_status fake_env_run(fake_env *e, const char *optimizer, uint64_t seed, const char *const *settings);

#endif
