/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - what a plugin is, without loading it here: a worker process loads and describes it. The
 * process then waits to be the first worker of that plugin, so that this costs a run no start of its own. */
#ifndef DS_WORKER_DESCRIBE_H
#define DS_WORKER_DESCRIBE_H

#include <pthread.h>

#include "plugin/loader.h"
#include "worker/process.h"

typedef struct ds_describe_config {
    const char *program;    /* dshost, where this program is not; NULL = /proc/self/exe */
    double start_timeout;   /* seconds for its start-up code; 0 = DS_DESCRIBE_SECONDS */
    const atomic_int *stop; /* nonzero = give up waiting; may be NULL */
    /* Asked some 20 times a second; nonzero = give up. May be NULL; may open other plugins, or the same. */
    int (*waiting)(void *ctx);
    void *ctx;
} ds_describe_config;

enum { DS_DESCRIBE_SECONDS = 30 };
enum { DS_DESCRIBE_ONLY_SECONDS = 10 }; /* start_timeout of who wants to know no more than what a plugin is */

/* As ds_loader_open(), with a module that has no functions (one that this process has loaded already is
 * taken as it is). Errors of the loader are passed on; a crash or a hang in start-up code is
 * DS_EXIT_PLUGIN. [any, as all functions here] */
int ds_describe_open(const char *name, uint32_t kind, const ds_describe_config *config, const ds_module **out,
                     ds_error *e);

/* What a plugin is, and no more: one of this host's own (ds_plugin_is_own()) is loaded, any other is
 * described by a process that is ended at once. */
int ds_describe_file(const ds_plugin_file *f, const ds_describe_config *config, const ds_module **out,
                     ds_error *e);

/* The same by name, and of a kind (0 = any). */
int ds_describe_name(const char *name, uint32_t kind, const ds_describe_config *config, const ds_module **out,
                     ds_error *e);

/* Loads a plugin into this process after all. One that is not of this host is looked at first: start-up
 * code that crashes, hangs or calls exit() does so in a process of its own. */
int ds_describe_and_load(const char *name, uint32_t kind, const ds_describe_config *config,
                         const ds_module **out, ds_error *e);

/* A process that waits, and the memory files that it was given; its owner ends it. */
typedef struct ds_described_process {
    const ds_module *module;
    ds_process process;
    int share_fd, scene_fd;
    pthread_t starter; /* it dies with this thread */
} ds_described_process;

/* Hands over the process that waits for this module: 1, or 0 where there is none that this thread has
 * started. */
int ds_describe_take_process(const ds_module *module, ds_described_process *out);

/* Ends the processes that wait. */
void ds_describe_end(void);

#endif
