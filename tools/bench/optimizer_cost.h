/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_cost.h - the time that an optimizer itself takes, for the estimate of an experiment. */
#ifndef DS_BENCH_OPTIMIZER_COST_H
#define DS_BENCH_OPTIMIZER_COST_H

#include "config/settings.h"
#include "plugin/loader.h"

/* Seconds of its own of one run of `budget` evaluations with `n` variables, without simulation: from a search
 * on a function that costs nothing, cut off after `limit` seconds and extended to the budget by the power of
 * the evaluations with which the time has grown. INFINITY where it needs an environment (by steps). */
double ds_optimizer_cost(const ds_module *optimizer, const ds_settings *settings, uint64_t n, uint64_t budget,
                         int has_gradient, double limit);

#endif
