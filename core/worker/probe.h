/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - what a plugin is, without loading it here: a worker process loads and describes it. The
 * process then waits to be the first worker of that plugin, so that this costs a run no start of its own. */
#ifndef DS_WORKER_PROBE_H
#define DS_WORKER_PROBE_H

#include <pthread.h>

#include "plugin/loader.h"
#include "worker/process.h"

typedef struct ds_probe_config {
    const char *program;    /* dshost, where this program is not; NULL = /proc/self/exe */
    double timeout;         /* seconds of start-up code, at least DS_START_SECONDS; 0 = no limit */
    const atomic_int *stop; /* nonzero = give up waiting; may be NULL */
} ds_probe_config;

enum { DS_START_SECONDS = 60 }; /* least time limit of a start, where there is one */

/* As ds_loader_open(), with a module that has no functions (one that this process has loaded already is
 * taken as it is). Errors of the loader are passed on; a crash or a hang in start-up code is
 * DS_EXIT_PLUGIN. [any, as all functions here] */
int ds_probe_open(const char *name, uint32_t kind, const ds_probe_config *config, const ds_module **out,
                  ds_error *e);

/* A process that waits, and the memory files that it was given; its owner ends it. */
typedef struct ds_probe {
    const ds_module *module;
    ds_process process;
    int share_fd, scene_fd;
    pthread_t starter; /* it dies with this thread */
} ds_probe;

/* Hands over the process that waits for this module: 1, or 0 where there is none that this thread has
 * started. */
int ds_probe_take(const ds_module *module, ds_probe *out);

/* Ends the processes that wait. */
void ds_probe_end(void);

#endif
