/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/run.h - whole runs inside another program: `dshost run` and `dshost resume` with the same
 * settings, the same result folder and the same results, bit for bit.
 *
 *     ds_runner_options o = {.struct_size = sizeof o,
 *                            .environment = "torus",
 *                            .optimizer = "boleap",
 *                            .folder = "results/mine",
 *                            .run = "budget = 2000\nseed = 1\njobs = 8",
 *                            .opt = "n_init = 100"};
 *     ds_runner *r = ds_runner_open(&o, why, sizeof why);
 *     if (ds_runner_run(r) == DS_OK) {
 *         ds_runner_result result = {.struct_size = sizeof result};
 *         ds_runner_describe(r, &result);
 *     }
 *     ds_runner_close(r);
 *
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. The run records every evaluation. `dshost
 * report`, `compare`, `plot` and `export` read its folder. A run that was interrupted, also by the end of the
 * program, continues by ds_runner_options.resume or `dshost resume`. Environments run in worker processes,
 * unless [run] has isolation = none. A bundled optimizer computes in this process, unless [run] has
 * isolate_optimizer = true; a third-party optimizer owns a process, unless it is false: a crash there ends
 * the run, not the program. The library draws no images, changes no signal handler and shows no progress
 * line; warnings go to stderr.
 *
 * Threads: one thread at a time uses a run, which computes in the thread that calls ds_runner_run();
 * different runs may compute at once. Only ds_runner_stop() may be called at any time. Data behind pointers
 * that a function returns belong to the run. Units are those of the environment; times are seconds.
 */
#ifndef DIFFSIM_RUN_H
#define DIFFSIM_RUN_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ds_runner ds_runner;

/* State of a run, during it and afterwards. Data behind pointers are valid during the call of progress(), or
 * until ds_runner_close(). */
typedef struct ds_runner_result {
    uint32_t struct_size; /* in: sizeof(ds_runner_result) */
    /* Exit status of dshost: 0 = success, 1 = the target was not met, 130 = stopped, ... */
    uint32_t exit_status;
    uint64_t evaluations; /* done, those of earlier starts included */
    uint64_t repeated;    /* of these, answered from the record: those of earlier starts */
    uint64_t budget;      /* of this start */
    uint64_t failed;      /* evaluations without a loss, but for infeasible points */
    double best_loss;     /* +INFINITY where there is none yet */
    uint64_t best;        /* number of its evaluation, from 1; 0 where there is none yet */
    uint64_t n;           /* variables */
    const double *best_x; /* n values; NULL where there is none yet */
    double evaluation_s;  /* inside evaluations, all workers together */
    /* Why it ended: "budget", "target", "time", "signal" (stopped), "optimizer_finished",
     * "too_many_failures", "error"; "running" while it goes on. */
    const char *ended;
    const char *folder;
    const char *summary; /* text of summary.json; NULL during the run, or where there is none */
} ds_runner_result;

/* All texts are copied. */
typedef struct ds_runner_options {
    uint32_t struct_size; /* sizeof(ds_runner_options) */
    /* 1 = resume the run in `folder`: env and opt are NULL. environment and optimizer are NULL, or name
     * plugins outside the plugin path that the record names and the library may load. `run` has settings that
     * do not change results (budget, seconds, jobs, threads, isolation, isolate_optimizer, timeout_s,
     * start_timeout_s, memory_mb, max_failed, pictures, page, verify). */
    uint32_t resume;
    const char *environment; /* an id ("torus") on the plugin path of dshost, or the path of a .so */
    const char *optimizer;
    const char *folder; /* result folder; a new run makes it, and it must not hold a run yet */
    /* "key = value" lines of the sections [run], [env] and [opt] of an .ini file; NULL = defaults. Leave out
     * `runs` (it stays 1) and `out` (it is `folder`). */
    const char *run, *env, *opt;
    /* The thread of ds_runner_run() calls it after every request of the optimizer, which may have many rows,
     * when its evaluations are recorded. Nonzero ends the run as ds_runner_stop() does. NULL = not called. */
    uint32_t(DS_CALL *progress)(void *ctx, const ds_runner_result *now);
    void *ctx;
} ds_runner_options;

/* Prepares a run: reads all settings, writes no file. On an error it returns NULL and writes one line to
 * `why` (at most `size` bytes with the final NUL; may be NULL): what is wrong, where, and what to do. */
ds_runner *ds_runner_open(const ds_runner_options *options, char *why, uint64_t size);

/* Runs to the end; call it once. Returns DS_OK where the run ended by itself, by its budget, its time or its
 * target (also where that was not met); DS_STOPPED where ds_runner_stop() or progress() ended it, everything
 * is saved; negative where it failed or did not begin, see ds_runner_message(). DS_E_STATE also after an
 * earlier call, and where another process works on the folder. */
ds_status ds_runner_run(ds_runner *run);

/* [any] Ends the run, before or during it. Safe in a signal handler. */
void ds_runner_stop(ds_runner *run);

/* Gets the state of the run. DS_E_STATE where the run has not begun. */
ds_status ds_runner_describe(const ds_runner *run, ds_runner_result *out);

/* Reason of a negative status of ds_runner_run(); "" where it returned none, and where it was called before.
 * Valid until ds_runner_close(). */
const char *ds_runner_message(const ds_runner *run);

/* Releases the run; accepts NULL. The folder stays. */
void ds_runner_close(ds_runner *run);

#ifdef __cplusplus
}
#endif
#endif
