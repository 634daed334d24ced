/* SPDX-License-Identifier: Apache-2.0 */
/* bench_own.h - the time that an optimizer itself takes, for the estimate of an experiment. */
#ifndef DS_CORE_BENCH_OWN_H
#define DS_CORE_BENCH_OWN_H

#include "config/settings.h"
#include "plugin/loader.h"

/* Seconds of its own of one run of `budget` evaluations with `n` variables, simulation excluded: from a search on a
 * function that costs nothing, cut off after `limit` seconds and extended to the budget by the power of the number of
 * evaluations with which the time has grown so far. INFINITY where it cannot search without an environment (stepwise
 * control). */
double ds_bench_own(const ds_module *optimizer, const ds_settings *settings, uint64_t n, uint64_t budget,
                    int has_gradient, double limit);

#endif
