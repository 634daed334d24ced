/* SPDX-License-Identifier: Apache-2.0 */
/* env_residuals.h - residuals, and products with their Jacobian (extension ds.env.residuals/1). */
#ifndef DS_PLUGIN_ENV_RESIDUALS_H
#define DS_PLUGIN_ENV_RESIDUALS_H

#include "plugin/instance.h"

/* Asks the instance for the extension and tests what it says; part of ds_env_open(). */
int ds_env_ask_residuals(ds_env *env, ds_error *e);

/* Residuals at x, or a product with their Jacobian (env->residuals is not NULL); kind is DS_RESIDUALS_*.
 * Made safe as by ds_env_evaluate(); `out` is zeroed where there is no answer. */
ds_status ds_env_evaluate_residuals(ds_env *env, uint32_t kind, const double *x, const double *v,
                                    uint64_t noise_key, double *out, ds_answer *answer);

/* Numbers that go into, and come out of, a question of that kind. */
uint64_t ds_residual_input(uint32_t kind, uint64_t n, uint64_t m);
uint64_t ds_residual_output(uint32_t kind, uint64_t n, uint64_t m);

#endif
