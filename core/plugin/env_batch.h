/* SPDX-License-Identifier: Apache-2.0 */
/* env_batch.h - many points in one call of an environment (extension ds.env.batch/1). */
#ifndef DS_PLUGIN_ENV_BATCH_H
#define DS_PLUGIN_ENV_BATCH_H

#include "plugin/instance.h"

/* Most points of one call. */
enum { DS_MANY_MAX = 64 };

/* Asks the instance for the extension; part of ds_env_open(). */
void ds_env_ask_batch(ds_env *env);

/* ds_env_evaluate() for `count` <= DS_MANY_MAX points at once (env->batch is not NULL): point k and its
 * gradient are at x + k stride and grad + k stride, answer[k] is its answer. */
void ds_env_evaluate_many(ds_env *env, uint64_t count, const double *x, uint64_t stride,
                          const uint64_t *noise_key, uint32_t want, double *grad, ds_answer *const *answer);

#endif
