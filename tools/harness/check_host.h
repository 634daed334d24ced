/* SPDX-License-Identifier: Apache-2.0 */
/* check_host.h - instances for the tests of the conformance kit: host services that record and can fail on
 * purpose, and environments whose raw answers are looked at (instance.h makes them safe first). */
#ifndef DS_HARNESS_CHECK_HOST_H
#define DS_HARNESS_CHECK_HOST_H

#include <stdatomic.h>

#include "harness/check.h"
#include "plugin/services.h"

/* Host services of one instance. `host` points to what the plugin gets. */
typedef struct ds_check_host {
    ds_services services; /* parameters and their conversion */
    ds_host *host;        /* allocated, `extra` bytes longer than the struct */
    size_t extra;
    atomic_int stop;     /* what should_stop() says */
    atomic_uint polls;   /* how often it was asked */
    unsigned getters;    /* how often a parameter was asked for */
    unsigned fail_at;    /* the getter that fails with DS_E_PARAM, from 1 on; 0 = none */
    unsigned injected;   /* failures made */
    unsigned undeclared; /* questions for parameters that the schema does not have */
    char undeclared_name[64];
    unsigned errors; /* calls of host->error() */
    ds_status error_status;
    char error_text[DS_MAX_ERROR + 1];
} ds_check_host;

/* 0 after recording it where the settings do not fit the schema or memory is short. */
int ds_check_host_open(ds_check *c, const ds_settings *settings, uint64_t seed, uint32_t threads,
                       size_t extra, ds_check_host *h);
void ds_check_host_close(ds_check_host *h);

/* Are the bytes behind the struct, which belong to a later version, as they were? Records it if not. */
void ds_check_host_look(ds_check *c, const ds_check_host *h);

/* Records it where a call failed (negative status) without saying why. */
void ds_check_said_why(ds_check *c, const ds_check_host *h, const char *function, ds_status status);

typedef struct ds_check_env {
    ds_check_host h;
    const ds_env_vtable *vt;
    void *self;
    uint64_t n, steps;
    uint64_t max_rows; /* at least 1 */
    double loss_floor;
    double *lower, *upper, *x0; /* n values each */
    double *x, *g;              /* for the test, n values each: a point, at first x0, and a gradient */
    int has_gradient;
} ds_check_env;

/* Creates an instance with the user's settings; 0 after recording why that is impossible. */
int ds_check_env_open(ds_check *c, uint32_t threads, ds_check_env *env);
void ds_check_env_close(ds_check_env *env);

/* What evaluate() did, as it was. `grad` is NULL where none was asked for. */
typedef struct ds_check_answer {
    ds_status status;
    ds_eval io;
    double seconds; /* ds_check_worked() */
} ds_check_answer;

/* Calls evaluate() with an output that is poisoned before: the loss is NaN, the outcome impossible, and every
 * entry of the gradient ds_check_poison(). */
void ds_check_evaluate(ds_check_env *env, const double *x, uint32_t want, uint64_t noise_key, double *grad,
                       ds_check_answer *a);
/* The same without noise; where `gradient`, and there is one, with the gradient in env->g. */
void ds_check_call(ds_check_env *env, const double *x, int gradient, ds_check_answer *a);
double ds_check_poison(void);
int ds_check_is_poison(double v);

/* Records every breach of evaluate()'s contract; `where` describes the point. 1 = there is a loss. */
int ds_check_answer_look(ds_check *c, const ds_check_env *env, const ds_check_answer *a, const char *where);

/* Of an inexact environment the second one holds, in place of a hash, the longest
 * component of the gradient. */
ds_check_bits ds_check_answer_bits(const ds_check *c, const ds_check_answer *a, uint64_t n);

/* How far two answers (`grad`: and gradients) are apart, as ds_env_info.tolerance measures it: 0 where every
 * bit is the same, INFINITY where one has failed. */
double ds_check_distance(const ds_check *c, const ds_check_answer *a, const ds_check_answer *b, uint64_t n,
                         int grad);
double ds_check_loss_distance(double a, double b);

/* Is this near enough? Remembers it. */
int ds_check_near(ds_check *c, double distance);

/* Is it the parent's measurement of the start point (`grad`: with its gradient)? There is one. */
int ds_check_is_reference(ds_check *c, const ds_check_answer *a, uint64_t n, int grad);

/* Records it where two answers (`grad`: and gradients) differ, in a bit or by more than the tolerance: "what"
 * should not have mattered. */
void ds_check_same(ds_check *c, const ds_check_answer *a, const ds_check_answer *b, uint64_t n, int grad,
                   const char *what);

/* A uniform point of the box, or corner `which` (0 = lower, 1 = upper, else mixed at random). */
void ds_check_random_point(ds_check *c, const ds_check_env *env, double *x);
void ds_check_corner(ds_check *c, const ds_check_env *env, int which, double *x);

#endif
