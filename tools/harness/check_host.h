/* SPDX-License-Identifier: Apache-2.0 */
/* check_host.h - instances for the tests of the conformance kit: host services that record calls and can fail
 * on purpose, and environments whose raw results are examined (plugin/instance.h would correct them first).
 */
#ifndef DS_HARNESS_CHECK_HOST_H
#define DS_HARNESS_CHECK_HOST_H

#include <stdatomic.h>

#include "harness/check.h"
#include "plugin/services.h"

/* Host services of one instance; the plugin gets `host`. */
typedef struct ds_check_host {
    ds_services services; /* parameters and their conversion */
    ds_host *host;        /* allocated, `extra` bytes longer than the struct */
    size_t extra;
    atomic_int stop;     /* what should_stop() returns */
    atomic_uint polls;   /* calls of should_stop() */
    unsigned getters;    /* parameter queries */
    unsigned fail_at;    /* number of the query that fails with DS_E_PARAM, from 1; 0 = none */
    unsigned injected;   /* failures injected */
    unsigned undeclared; /* queries for parameters missing in the schema */
    char undeclared_name[64];
    unsigned errors; /* calls of host->error() */
    ds_status error_status;
    char error_text[DS_MAX_ERROR + 1];
} ds_check_host;

/* 0, after recording the reason, where the settings do not fit the schema or memory is short. */
int ds_check_host_open(ds_check *c, const ds_settings *settings, uint64_t seed, uint32_t threads,
                       size_t extra, ds_check_host *h);
void ds_check_host_close(ds_check_host *h);

/* Records a failure if bytes after the struct, which belong to later versions, were changed. */
void ds_check_host_check(ds_check *c, const ds_check_host *h);

/* Records a failure if a call failed (negative status) without an explanation. */
void ds_check_error_explained(ds_check *c, const ds_check_host *h, const char *function, ds_status status);

typedef struct ds_check_env {
    ds_check_host h;
    const ds_env_vtable *vt;
    void *self;
    uint64_t n, steps;
    uint64_t max_rows; /* at least 1 */
    double loss_floor;
    double *lower, *upper, *x0; /* n values each */
    /* scratch for the test, n values each: a point, initially x0, and a gradient */
    double *x, *g;
    int has_gradient;
} ds_check_env;

/* Creates an instance with the user's settings; 0 after recording why that failed. */
int ds_check_env_open(ds_check *c, uint32_t threads, ds_check_env *env);
void ds_check_env_close(ds_check_env *env);

/* An extension that an instance offers, or NULL. */
const void *ds_check_extension(const ds_check_env *env, const char *id);

/* The unmodified result of evaluate(). `grad` is NULL where none was requested. */
typedef struct ds_check_result {
    ds_status status;
    ds_eval io;
    double seconds; /* ds_check_worked() */
} ds_check_result;

/* Calls evaluate() with poisoned outputs: the loss is NaN, the outcome impossible, and every entry of the
 * gradient ds_check_poison(). */
void ds_check_evaluate(ds_check_env *env, const double *x, uint32_t want, uint64_t noise_key, double *grad,
                       ds_check_result *a);
/* The same without noise; with `gradient`, and if there is one, the gradient goes to env->g. */
void ds_check_call(ds_check_env *env, const double *x, int gradient, ds_check_result *a);
double ds_check_poison(void);
int ds_check_is_poison(double v);

/* Records every breach of the contract of evaluate(); `where` describes the point. Returns 1 if there is a
 * loss. */
int ds_check_result_check(ds_check *c, const ds_check_env *env, const ds_check_result *a, const char *where);

/* For an inexact environment, `grad` is the largest scaled component of the gradient instead of a hash. */
ds_check_bits ds_check_result_bits(const ds_check *c, const ds_check_result *a, uint64_t n);

/* Distance of two results (with `grad`, including gradients), as ds_env_info.tolerance measures it: 0 if all
 * bits agree, INFINITY if one has failed. */
double ds_check_distance(const ds_check *c, const ds_check_result *a, const ds_check_result *b, uint64_t n,
                         int grad);
double ds_check_loss_distance(double a, double b);

/* Is this within the tolerance? Also remembers the largest distance. */
int ds_check_near(ds_check *c, double distance);

/* Does it equal the parent's measurement of the start point (with `grad`, including the gradient)? Requires
 * has_reference. */
int ds_check_is_reference(ds_check *c, const ds_check_result *a, uint64_t n, int grad);

/* Records a failure if two results (with `grad`, including gradients) differ in a bit, or by more than the
 * tolerance; `what` should have made no difference. */
void ds_check_same(ds_check *c, const ds_check_result *a, const ds_check_result *b, uint64_t n, int grad,
                   const char *what);

/* A uniform random point of the box, or corner `which` (0 = lower, 1 = upper, else random). */
void ds_check_random_point(ds_check *c, const ds_check_env *env, double *x);
void ds_check_corner(ds_check *c, const ds_check_env *env, int which, double *x);

#endif
