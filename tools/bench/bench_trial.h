/* SPDX-License-Identifier: Apache-2.0 */
/* bench_trial.h - an estimate of the cost of an experiment. */
#ifndef DS_BENCH_BENCH_TRIAL_H
#define DS_BENCH_BENCH_TRIAL_H

#include "bench/bench_state.h"

/* Prints the table of --dry-run (cells, runs, time), or with `json` one object. Returns the status of the
 * first environment that cannot be created. */
int ds_bench_dry_run(const ds_bench_state *state, int json, ds_error *e);

#endif
