/* SPDX-License-Identifier: Apache-2.0 */
/* bench_state.h - how far an experiment is: found out from the run folders at every start, so that no other
 * file needs to survive a crash; written to OUT/bench.json for readers.
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
    int status;  /* of a failed run; or 130, 143: it was stopped, and is not begun again by this process */
    int waits;   /* times that it was found locked */
    char *error; /* NULL = none */
    char *arithmetic, *processor; /* NULL = not known */
    uint64_t evaluations, cost_steps;
    uint64_t begun; /* evaluations when this process began it */
    uint64_t since; /* ds_clock_ns() then */
    double best, wall_s;
} ds_bench_run;

typedef struct ds_bench_state {
    const ds_bench_plan *plan;
    ds_bench_run *run;                           /* plan->runs */
    size_t mine, done, failed, running, stopped; /* of those that are to be done */
    size_t next;                                 /* no run before this one is open */
    int changed;                                 /* since the last bench.json */
    uint64_t written;                            /* ds_clock_ns() then */
} ds_bench_state;

/* Looks at all run folders of the shard. Failed runs are open again: what failed may have been mended; but
 * those with too many failed evaluations only with `retry`, since they would end the same way. */
int ds_bench_state_open(const ds_bench_plan *plan, int retry, ds_bench_state *out, ds_error *e);
void ds_bench_state_close(ds_bench_state *s);

/* The next open run, which becomes running, or -1. */
long ds_bench_take(ds_bench_state *s);

/* The process that worked on a run is gone: the run is open again. */
void ds_bench_give_back(ds_bench_state *s, size_t run);

/* A run ended with an exit status, and the error line that it printed ("" = none). */
void ds_bench_ended(ds_bench_state *s, size_t run, int status, const char *error);

/* Exit status of the experiment: that of its first failed run, else of a run that was stopped, else 0. */
int ds_bench_status(const ds_bench_state *s);

/* bench.json with all runs of the shard, atomically; without `now` at most every two seconds, and only where
 * a run ended since. */
int ds_bench_state_write(ds_bench_state *s, int now, ds_error *e);

/* Of work that takes `seconds`, with `slots` runs at a time where there are `open` ones. */
double ds_bench_parallel(double seconds, size_t open, size_t slots);

/* One line: how far, what is left, and the cells at work. */
void ds_bench_progress(const ds_bench_state *s, size_t slots, char *out, size_t size);

#endif
