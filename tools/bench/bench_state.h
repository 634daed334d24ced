/* SPDX-License-Identifier: Apache-2.0 */
/* bench_state.h - the state of an experiment: read from the run folders at every start, so that no other file
 * needs to survive a crash; written to OUT/bench.json for readers.
 *
 *   {"format": 1, "dshost": "0.1.0", "name": "fluid", "budget": 1000, "shard": "1/4" or null,
 *    "counts": {"runs": 600, "done": 12, "failed": 1, "open": 587},
 *    "envs": [{"name": "pinball16", "plugin": "pinball", "version": "1.0"}, ...], "opts": [...],
 *    "runs": [{"folder": "pinball16/cmaes/seed-1000", "env": "pinball16", "opt": "cmaes", "seed": 1000,
 *              "state": "done", "status": 0, "error": null, "evaluations": 1000, "best_loss": 0.31,
 *              "cost_steps": 2000000, "wall_s": 2.5, "processor": "AMD EPYC",
 *              "arithmetic": "x86_64 portable, glibc 2.36 (libm 4a37f912), OpenBLAS 0.3.21 Nehalem"}, ...]}
 *
 * state is open (not begun, or interrupted), done or failed; status is the exit status of a failed run. */
#ifndef DS_BENCH_BENCH_STATE_H
#define DS_BENCH_BENCH_STATE_H

#include "bench/bench_plan.h"

enum { DS_BENCH_OPEN = 0, DS_BENCH_RUNNING = 1, DS_BENCH_DONE = 2, DS_BENCH_FAILED = 3 };

typedef struct ds_bench_run {
    int state;   /* DS_BENCH_* */
    int status;  /* of a failed run; or 130, 143: it was stopped, and this process does not start it again */
    int waits;   /* times it was found locked */
    char *error; /* NULL = none */
    char *arithmetic, *processor; /* NULL = not known */
    uint64_t evaluations, cost_steps;
    uint64_t begun; /* evaluations when this process started it */
    uint64_t since; /* ds_clock_ns() then */
    double best, wall_s;
} ds_bench_run;

typedef struct ds_bench_state {
    const ds_bench_plan *plan;
    ds_bench_run *run;                           /* plan->runs */
    size_t mine, done, failed, running, stopped; /* of the selected runs */
    size_t next;                                 /* no run before this one is open */
    int changed;                                 /* since the last bench.json */
    uint64_t written;                            /* ds_clock_ns() then */
} ds_bench_state;

/* Reads all run folders of the shard. Failed runs become open, since the cause may be fixed; those with too
 * many failed evaluations only with `retry`, since they would end the same way. */
int ds_bench_state_open(const ds_bench_plan *plan, int retry, ds_bench_state *out, ds_error *e);
void ds_bench_state_close(ds_bench_state *s);

/* The next open run, which becomes running, or -1. */
long ds_bench_take(ds_bench_state *s);

/* The process of a run is gone: the run is open again. */
void ds_bench_give_back(ds_bench_state *s, size_t run);

/* A run has ended with this exit status and error message ("" = none). */
void ds_bench_ended(ds_bench_state *s, size_t run, int status, const char *error);

/* Exit status of the experiment: that of the first failed run, else of a stopped run, else 0. */
int ds_bench_status(const ds_bench_state *s);

/* Writes bench.json with all runs of the shard, atomically; without `now` at most every two seconds, and only
 * if a run has ended since. */
int ds_bench_state_write(ds_bench_state *s, int now, ds_error *e);

/* Duration of work that takes `seconds` in sequence, with `slots` runs at a time and `open` runs left. */
double ds_bench_parallel(double seconds, size_t open, size_t slots);

/* One line: progress, time remaining, and the current cells. */
void ds_bench_progress(const ds_bench_state *s, size_t slots, char *out, size_t size);

#endif
