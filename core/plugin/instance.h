/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - one environment or optimizer instance together with its host services and its parameters. */
#ifndef DS_PLUGIN_INSTANCE_H
#define DS_PLUGIN_INSTANCE_H

#include <diffsim/ext/rl.h>
#include <diffsim/ext/batch.h>
#include <diffsim/ext/residuals.h>
#include <diffsim/ext/scene.h>
#include <stdatomic.h>

#include "config/params.h"
#include "plugin/loader.h"

/* Host services of one instance: `host.ctx` points back to this struct. */
typedef struct ds_services {
    ds_host host;
    const ds_module *module;
    ds_params *params;
    const atomic_int *stop; /* nonzero = the run should end; may be NULL */
    ds_status last_status;  /* of the last host->error() */
    char last_error[512];
} ds_services;

/* Fills *s for a module; takes over `params`. */
void ds_services_init(ds_services *s, const ds_module *module, ds_params *params, uint64_t seed,
                      uint32_t threads, const atomic_int *stop);
void ds_services_clear(ds_services *s);

/* Describes a failed call of the plugin: "torus: create() failed: TEXT (DS_E_PARAM)". */
int ds_services_fail(const ds_services *s, ds_error *e, const char *function, ds_status status);

typedef struct ds_env {
    ds_services services;
    const ds_module *module;
    const ds_env_vtable *vt;
    void *self;
    ds_env_info info;
    double *lower, *upper, *x0; /* n values each */
    int has_gradient;
    const ds_rl *rl; /* NULL = not offered */
    ds_rl_info rl_info;
    const ds_env_batch *batch;     /* NULL = not offered */
    const ds_residuals *residuals; /* NULL = not offered */
    uint64_t residual_count;       /* 0 where not offered */
} ds_env;

/* Makes an environment from section [env] of the settings, asks info and bounds and tests them. */
int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e);
void ds_env_close(ds_env *env);

/* Answer of one evaluation as the host hands it on. */
typedef struct ds_answer {
    double loss;        /* finite, or +INFINITY where there is none */
    uint32_t outcome;   /* DS_EVAL_* */
    uint32_t grad_kind; /* DS_GRAD_* */
    int64_t bad_step;
    uint64_t cost_steps;
    double wall;       /* seconds */
    char message[200]; /* why it failed; "" otherwise */
} ds_answer;

/* Evaluates x (n values inside the bounds) and vets the answer: a non-finite loss or gradient becomes
 * DS_EVAL_INVALID or DS_EVAL_BAD_GRAD, an error status DS_EVAL_ERROR; grad (n values, or NULL) is zeroed
 * where there is none. Returns DS_STOPPED if the plugin stopped on request, else DS_OK. `grad` is written by
 * the plugin directly. */
ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer);

/* Most points of one call of the extension batch. */
enum { DS_MANY_MAX = 64 };

/* Asks the instance for the extensions batch and residuals; part of ds_env_open(). */
int ds_env_ask_extensions(ds_env *env, ds_error *e);

/* ds_env_evaluate() for `count` <= DS_MANY_MAX points at once (env->batch is not NULL): point k and its
 * gradient are at x + k stride and grad + k stride, answer[k] is its answer. */
void ds_env_evaluate_many(ds_env *env, uint64_t count, const double *x, uint64_t stride,
                          const uint64_t *noise_key, uint32_t want, double *grad, ds_answer *const *answer);

/* Residuals at x, or a product with their Jacobian (env->residuals is not NULL); kind is DS_RESIDUALS_*.
 * Vetted as by ds_env_evaluate(); `out` is zeroed where there is no answer. */
ds_status ds_env_evaluate_residuals(ds_env *env, uint32_t kind, const double *x, const double *v,
                                    uint64_t noise_key, double *out, ds_answer *answer);

/* Numbers that go into, and come out of, a question of that kind. */
uint64_t ds_residual_input(uint32_t kind, uint64_t n, uint64_t m);
uint64_t ds_residual_output(uint32_t kind, uint64_t n, uint64_t m);

/* The scene extension, or NULL. */
const ds_scene *ds_env_scene(ds_env *env);

#endif
