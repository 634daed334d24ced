/* SPDX-License-Identifier: Apache-2.0 */
/* bench_work.h - the runs at work on this machine: each is a `dshost run` or `dshost resume` of its own, so
 * that nothing that happens to it touches the others. */
#ifndef DS_BENCH_BENCH_WORK_H
#define DS_BENCH_BENCH_WORK_H

#include "bench/bench_plan.h"

typedef struct ds_bench_work ds_bench_work;

/* What a run did. */
typedef struct ds_bench_event {
    size_t run;
    int ended;            /* 0: it only got on */
    int status;           /* exit status, 128 + signal where it was killed */
    uint64_t evaluations; /* so far; 0 = not known */
    char error[400];      /* the error line that it printed, "" = none */
} ds_bench_event;

/* Room for `slots` runs at a time. */
int ds_bench_work_open(const ds_bench_plan *plan, size_t slots, ds_bench_work **out, ds_error *e);

size_t ds_bench_work_free(const ds_bench_work *w); /* slots */
size_t ds_bench_work_busy(const ds_bench_work *w);

/* Begins or resumes a run. Its messages go to seed-K.log beside its folder, which stays where the run fails.
 */
int ds_bench_work_start(ds_bench_work *w, size_t run, ds_error *e);

/* Waits at most `ms` for the next event; 1 = *out is filled, 0 = none. A signal ends the waiting. */
int ds_bench_work_next(ds_bench_work *w, int ms, ds_bench_event *out);

/* Sends SIGTERM to all runs, once: they save and end. */
void ds_bench_work_stop(ds_bench_work *w);

/* Kills what still runs. */
void ds_bench_work_close(ds_bench_work *w);

#endif
