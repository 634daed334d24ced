/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - describes a plugin without loading it here: a worker process loads it and sends its
 * description. The process then waits to become the first worker of that plugin, so that a run starts no
 * extra process. */
#ifndef DS_WORKER_DESCRIBE_H
#define DS_WORKER_DESCRIBE_H

#include <pthread.h>

#include "plugin/loader.h"
#include "worker/process.h"

typedef struct ds_describe_config {
    const char *program;    /* dshost, if this program is not dshost; NULL = /proc/self/exe */
    double start_timeout;   /* seconds for its start-up code; 0 = DS_DESCRIBE_SECONDS */
    const atomic_int *stop; /* nonzero = give up waiting; may be NULL */
    /* Called some 20 times a second; nonzero = give up. May be NULL. It may open plugins, this one included.
     */
    int (*waiting)(void *ctx);
    void *ctx;
} ds_describe_config;

enum { DS_DESCRIBE_SECONDS = 30 };
enum { DS_DESCRIBE_ONLY_SECONDS = 10 }; /* start_timeout for callers that only want the description */

/* As ds_loader_open(), but the module has no functions (unless this process loaded it before). Passes errors
 * of the loader on; a crash or hang in start-up code is DS_EXIT_PLUGIN. [any, as all functions here] */
int ds_describe_open(const char *name, uint32_t kind, const ds_describe_config *config, const ds_module **out,
                     ds_error *e);

/* Only describes a plugin: loads it if it is bundled (ds_plugin_is_own()), else ends the describing process
 * at once. */
int ds_describe_file(const ds_plugin_file *f, const ds_describe_config *config, const ds_module **out,
                     ds_error *e);

/* The same by name, for a kind (0 = any). */
int ds_describe_name(const char *name, uint32_t kind, const ds_describe_config *config, const ds_module **out,
                     ds_error *e);

/* Loads a plugin into this process. A third-party plugin is described by a process first, so that start-up
 * code that crashes, hangs or calls exit() does so there. */
int ds_describe_and_load(const char *name, uint32_t kind, const ds_describe_config *config,
                         const ds_module **out, ds_error *e);

/* A process that waits, and its memory files; the caller ends it. */
typedef struct ds_described_process {
    const ds_module *module;
    ds_process process;
    int share_fd, scene_fd;
    pthread_t starter; /* the process ends with this thread */
} ds_described_process;

/* Hands over the process that waits for this module: 1, or 0 if this thread started none. */
int ds_describe_take_process(const ds_module *module, ds_described_process *out);

/* Ends the processes that wait. */
void ds_describe_end(void);

#endif
