/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starts a worker process with its descriptors and nothing else of the host. */
#ifndef DS_WORKER_CHILD_H
#define DS_WORKER_CHILD_H

#include <sys/types.h>

#include "worker/protocol.h"

typedef struct ds_child {
    pid_t pid;
    int socket; /* to the worker */
    int output; /* its stdout and stderr; does not block */
    int start;  /* the start file */
} ds_child;

/* Starts `program` (NULL = this one) as a worker; `share` and `scene` are memory files. Start file: `head`
 * and `texts`. */
int ds_spawn_worker(const char *program, const ds_worker_start *head, const char *texts, int share, int scene,
                    ds_child *out, ds_error *e);

/* Replaces the start file of a worker that has described the plugin, and tells it. -1 where it is dead. */
int ds_child_tell(const ds_child *child, const ds_worker_start *head, const char *texts);

/* A memory file of the host. -1 with errno on failure. */
int ds_memory_file(const char *name);

/* Closes the descriptors of the host's side. */
void ds_child_close(ds_child *child);

#endif
