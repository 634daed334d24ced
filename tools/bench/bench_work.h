/* SPDX-License-Identifier: Apache-2.0 */
/* bench_work.h - the current runs on this machine: each is a separate process `dshost run` or `dshost
 * resume`, so that a crash affects no other run. */
#ifndef DS_BENCH_BENCH_WORK_H
#define DS_BENCH_BENCH_WORK_H

#include "bench/bench_plan.h"

typedef struct ds_bench_work ds_bench_work;

/* Progress or end of a run. */
typedef struct ds_bench_event {
    size_t run;
    int ended;            /* 0: progress only */
    int status;           /* exit status, 128 + signal if it was killed */
    uint64_t evaluations; /* so far; 0 = unknown */
    char error[400];      /* its error message, "" = none */
} ds_bench_event;

/* Makes room for `slots` runs at a time. */
int ds_bench_work_open(const ds_bench_plan *plan, size_t slots, ds_bench_work **out, ds_error *e);

size_t ds_bench_work_free(const ds_bench_work *w); /* free slots */
size_t ds_bench_work_busy(const ds_bench_work *w);

/* Starts or resumes a run. Its messages go to seed-K.log next to its folder, which is kept if the run fails.
 */
int ds_bench_work_start(ds_bench_work *w, size_t run, ds_error *e);

/* Waits at most `ms` for the next event; 1 = *out is filled, 0 = none. A signal ends the wait. */
int ds_bench_work_next(ds_bench_work *w, int ms, ds_bench_event *out);

/* Sends SIGTERM once to all runs, which then save and end. */
void ds_bench_work_stop(ds_bench_work *w);

/* Kills all remaining runs. */
void ds_bench_work_close(ds_bench_work *w);

#endif
