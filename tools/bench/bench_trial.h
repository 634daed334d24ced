/* SPDX-License-Identifier: Apache-2.0 */
/* bench_trial.h - what an experiment will cost, from a few trial evaluations of its environments. */
#ifndef DS_BENCH_BENCH_TRIAL_H
#define DS_BENCH_BENCH_TRIAL_H

#include "bench/bench_state.h"

/* Seconds of one evaluation of an environment. */
typedef struct ds_bench_cost {
    uint64_t n;            /* variables */
    double loss, gradient; /* without and with gradient; INFINITY = it failed, or there is none */
    int status;            /* exit status where it cannot be made at all */
    char error[400];
} ds_bench_cost;

/* Evaluates a few points of an environment (variant `env`), for a few seconds at most. */
void ds_bench_trial(const ds_bench_plan *plan, size_t env, ds_bench_cost *out);

/* Prints the table of --dry-run: cells, runs, time. `json` prints one object instead. Returns the status of
 * the first environment that cannot be made. */
int ds_bench_dry_run(const ds_bench_state *state, int json, ds_error *e);

#endif
