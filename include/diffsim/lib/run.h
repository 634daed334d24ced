/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/run.h - whole runs inside another program: what `dshost run` and `dshost resume` do, with
 * the same settings, the same result folder and the same results, bit for bit.
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
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. Every evaluation is recorded; the
 * folder is what `dshost report`, `compare`, `plot` and `export` read, and a run that was interrupted,
 * also by the end of the program, goes on by ds_runner_options.resume or `dshost resume`. Environments
 * are evaluated in worker processes, unless [run] says isolation = none. An optimizer that comes with
 * diffsim computes in this process, unless [run] says isolate_optimizer = true; any other has a process of
 * its own, unless it says false: a crash there ends the run, not the program. No pictures are drawn, no
 * signal handler is touched, no progress line shown; warnings go to stderr.
 *
 * Threads: a run is used by one thread at a time and happens in the thread that calls ds_runner_run();
 * different runs may happen at once. Only ds_runner_stop() may be called at any time. What comes out
 * behind pointers belongs to the run. Units are those of the environment; times are seconds.
 */
#ifndef DIFFSIM_RUN_H
#define DIFFSIM_RUN_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ds_runner ds_runner;

/* How a run stands: while it goes on, and afterwards. Fields behind pointers are valid during the call of
 * progress(), or until ds_runner_close(). */
typedef struct ds_runner_result {
    uint32_t struct_size; /* in: sizeof(ds_runner_result) */
    /* The exit status that dshost would have had: 0 = well, 1 = the target was not met, 130 = stopped, ... */
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
    const char *summary; /* the text of summary.json; NULL while it goes on, or where there is none */
} ds_runner_result;

/* All texts are copied. */
typedef struct ds_runner_options {
    uint32_t struct_size; /* sizeof(ds_runner_options) */
    /* 1 = go on with the run in `folder`: env and opt are NULL; environment and optimizer, too, or they name
     * plugins that may be loaded where the record names them and they are not on the plugin path. `run` has
     * settings that do not change results (budget, seconds, jobs, threads, isolation, isolate_optimizer,
     * timeout_s, start_timeout_s, memory_mb, max_failed, pictures, page, verify). */
    uint32_t resume;
    const char *environment; /* an id ("torus"), found where dshost finds it, or the path of a .so */
    const char *optimizer;
    const char *folder; /* result folder: made by a new run, and must not hold one yet */
    /* "key = value" lines of the sections [run], [env] and [opt] of an .ini file; NULL = defaults. One
     * run: `runs` of [run] stays 1, and `out` is `folder`. */
    const char *run, *env, *opt;
    /* Called by the thread of ds_runner_run() when evaluations have been recorded: after every step of
     * the optimizer, which may be many rows. Nonzero ends the run as ds_runner_stop() does. NULL = not
     * called. */
    uint32_t(DS_CALL *progress)(void *ctx, const ds_runner_result *now);
    void *ctx;
} ds_runner_options;

/* Prepares a run: reads all settings, makes nothing. Returns NULL after writing one line to `why` (at
 * most `size` bytes with the final NUL; may be NULL): what is wrong, where, and what to do. */
ds_runner *ds_runner_open(const ds_runner_options *options, char *why, uint64_t size);

/* Runs to the end; called once. DS_OK: it ended by itself, by its budget, its time or its target (also
 * where that was not met); DS_STOPPED: by ds_runner_stop() or progress(), everything is saved; negative:
 * it failed or did not begin, ds_runner_message() says why. DS_E_STATE also where it was called before,
 * or another process works on the folder. */
ds_status ds_runner_run(ds_runner *run);

/* [any] Ends the run, before or while it goes on. Safe in a signal handler. */
void ds_runner_stop(ds_runner *run);

/* What has come of it. DS_E_STATE where it has not been run, or has not begun. */
ds_status ds_runner_describe(const ds_runner *run, ds_runner_result *out);

/* Why ds_runner_run() returned a negative status; "" where it did not, and where it had been called before.
 * Valid until ds_runner_close(). */
const char *ds_runner_message(const ds_runner *run);

/* Releases it; accepts NULL. The folder stays. */
void ds_runner_close(ds_runner *run);

#ifdef __cplusplus
}
#endif
#endif
