/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.h - an experiment at work: its state, the child processes of its runs, the loop that works
 * through it, and the estimate of its cost. The state is read from the run folders at every start, so that no
 * other file needs to survive a crash, and written to OUT/bench.json for readers:
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
#ifndef DS_BENCH_EXPERIMENT_H
#define DS_BENCH_EXPERIMENT_H

#include "bench/bench_plan.h"
#include "ranks/ranks.h"

/* ---- state ---- */

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

/* ---- runs ---- */

/* The current runs on this machine: each is a separate process `dshost run` or `dshost resume`, so that a
 * crash affects no other run. */

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

/* Starts or resumes a run. Its messages go to seed-K.log next to its folder, kept if the run fails. */
int ds_bench_work_start(ds_bench_work *w, size_t run, ds_error *e);

/* Waits at most `ms` for the next event; 1 = *out is filled, 0 = none. A signal ends the wait. */
int ds_bench_work_next(ds_bench_work *w, int ms, ds_bench_event *out);

/* Sends SIGTERM once to all runs, which then save and end. */
void ds_bench_work_stop(ds_bench_work *w);

/* Kills all remaining runs. */
void ds_bench_work_close(ds_bench_work *w);

/* ---- loop ---- */

/* Works through an experiment: in this process alone, or with one process per rank of an MPI job, where rank
 * 0 owns the queue and every rank does the runs it is given, including their stores. */

/* Does all open runs of the queue. `ranks` is NULL or has size 1 if this process is alone. Failed runs do not
 * end it; errors of the experiment itself (such as a full disk) do. *lost counts ranks that were given up
 * after a minute of silence; their runs were done by others. Returns 0 or an exit status; ds_bench_status()
 * gives that of the experiment. */
int ds_bench_loop(ds_bench_state *state, const ds_ranks *ranks, size_t *lost, ds_error *e);

/* Dismisses the other ranks if rank 0 does not reach its loop; otherwise they would wait forever. */
void ds_bench_dismiss(const ds_ranks *ranks);

/* The loop of the other ranks: ends when told to, or when rank 0 falls silent (*lost = 1). */
int ds_bench_follow(const ds_bench_plan *plan, const ds_ranks *ranks, size_t *lost, ds_error *e);

/* Before either loop: do all ranks see the same experiment? `status` and *e say how planning went here. On
 * rank 0 returns the first failure with its message; elsewhere 0 = continue, -1 = rank 0 reports it. */
int ds_bench_agree(const ds_bench_plan *plan, const ds_ranks *ranks, int status, ds_error *e);

/* ---- estimate ---- */

/* Prints the table of --dry-run (cells, runs, time), or with `json` one object. Returns the status of the
 * first environment that cannot be created. */
int ds_bench_dry_run(const ds_bench_state *state, int json, ds_error *e);

#endif
