/* SPDX-License-Identifier: Apache-2.0 */
/* isolated.h - an optimizer in its own process (run.isolate_optimizer). The run's objective answers its
 * requests here, so the record is the same as with a search in this process. A crash, an exit() or a search
 * that does not return ends only that process. */
#ifndef DS_RUN_ISOLATED_H
#define DS_RUN_ISOLATED_H

#include <diffsim/optimizer.h>

#include "run/journal.h"

typedef struct ds_isolated ds_isolated;

typedef struct ds_isolated_config {
    const ds_module *module; /* of the optimizer; only its descriptor is read */
    const ds_params *params;
    const ds_problem *problem;
    uint64_t seed;
    uint32_t threads;
    double timeout, start_timeout; /* of create(): see ds_process_start_limit() */
    int64_t memory;                /* MiB beyond its start; 0 = no limit */
    atomic_int *strayed;           /* set where another thread than run()'s called the objective; or NULL */
    const ds_journal *journal;     /* for messages: count of evaluations, folder */
} ds_isolated_config;

/* Starts the process, or takes the one that has described the plugin (worker/process.h), and makes an
 * instance there. Passes on errors of create(). */
int ds_isolated_open(const ds_isolated_config *config, ds_isolated **out, ds_error *e);

/* Returns what run() of the optimizer returned; *why gets its last message. Where the process ended before,
 * *e says how and the status is DS_STOPPED; in all other cases destroy() has been called. */
ds_status ds_isolated_run(ds_isolated *p, const ds_objective *objective, char why[DS_MAX_ERROR + 1],
                          ds_error *e);

/* Ends the process if it still exists (NULL is allowed). */
void ds_isolated_close(ds_isolated *p);

#endif
