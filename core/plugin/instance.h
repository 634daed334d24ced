/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - one environment instance, and evaluations with it, whose answers are made safe. */
#ifndef DS_PLUGIN_INSTANCE_H
#define DS_PLUGIN_INSTANCE_H

#include <diffsim/ext/batch.h>
#include <diffsim/ext/residuals.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/scene.h>

#include "base/answer.h"
#include "plugin/services.h"

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

/* Evaluates x (n values inside the bounds) and makes the answer safe: a non-finite loss or gradient becomes
 * DS_EVAL_INVALID or DS_EVAL_BAD_GRAD, an error status DS_EVAL_ERROR; grad (n values, or NULL) is zeroed
 * where there is none. Returns DS_STOPPED if the plugin stopped on request, else DS_OK. `grad` is written by
 * the plugin directly. */
ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer);

/* Most points of one call of the extension batch. */
enum { DS_MANY_MAX = 64 };

/* Asks the instance for that extension; part of ds_env_open(). */
void ds_env_ask_batch(ds_env *env);

/* ds_env_evaluate() for `count` <= DS_MANY_MAX points at once (env->batch is not NULL): point k and its
 * gradient are at x + k stride and grad + k stride, answer[k] is its answer. */
void ds_env_evaluate_many(ds_env *env, uint64_t count, const double *x, uint64_t stride,
                          const uint64_t *noise_key, uint32_t want, double *grad, ds_answer *const *answer);

/* There is no loss, for this reason. */
void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text);

/* The same where a call of the plugin returned `st`, which is not DS_OK: its own words say why. */
void ds_answer_fail_status(const ds_env *env, ds_answer *a, ds_status st);

/* An extension of the instance, or NULL. */
const void *ds_env_extension(const ds_env *env, const char *id);

/* The scene extension, or NULL. */
const ds_scene *ds_env_scene(const ds_env *env);

#endif
