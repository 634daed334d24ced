/* SPDX-License-Identifier: Apache-2.0 */
/* isolated.h - an optimizer in a process of its own (run.isolate_optimizer): what it asks is answered
 * here, by the objective of the run, so that the record is that of a search in this process. A crash, an
 * exit(), or a search that does not return after its end costs that process alone. */
#ifndef DS_RUN_ISOLATED_H
#define DS_RUN_ISOLATED_H

#include <diffsim/optimizer.h>

#include "run/journal.h"

typedef struct ds_isolated ds_isolated;

typedef struct ds_isolated_config {
    const ds_module *module; /* of the optimizer; only its descriptor is looked at */
    const ds_params *params;
    const ds_problem *problem;
    uint64_t seed;
    uint32_t threads;
    double timeout, start_timeout; /* of create(): see ds_process_start_limit() */
    int64_t memory;                /* MiB beyond its start; 0 = no limit */
    atomic_int *strayed;           /* set where it was called from another thread than run()'s; or NULL */
    const ds_journal *journal;     /* for messages: what was answered, and where it is */
} ds_isolated_config;

/* Starts the process, or takes the one that has described the plugin (probe.h), and makes an instance
 * there. Errors of create() are passed on. */
int ds_isolated_open(const ds_isolated_config *config, ds_isolated **out, ds_error *e);

/* What run() of the optimizer returns; *why gets its last message. Where the process has ended before, *e
 * says how, and the status is DS_STOPPED. destroy() has been called in any case but that. */
ds_status ds_isolated_run(ds_isolated *p, const ds_objective *objective, char why[DS_MAX_ERROR + 1],
                          ds_error *e);

/* Ends the process if it is still there (NULL is fine). */
void ds_isolated_close(ds_isolated *p);

#endif
