/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - the Python process of one plugin instance: start, calls, end. If it dies, its host process dies
 * with it, like after a crash of a plugin in C. */
#ifndef DS_ADAPTERS_PYTHON_CHILD_H
#define DS_ADAPTERS_PYTHON_CHILD_H

#include <diffsim/host.h>
#include <sys/types.h>

#include "adapters/python/talk.h"

typedef struct child {
    talk talk;
    pid_t pid;        /* 0 = none */
    pid_t owner;      /* the process that has started it: a copy made by fork() has no child */
    int dead, status; /* it has died, as waitpid() says how */
    int owed;         /* it still computes a result that nobody waits for */
    const char *file;
} child;

/* Starts Python for an object of a file: 0, or -1 and one line in `why`. */
int child_start(child *c, const char *file, const char *object, char *why, size_t room);

/* Sends the call in the head (`what`, ...), with `bytes` of room: DS_OK and the result is in the head,
 * DS_STOPPED where the host (NULL = none) wants to stop, DS_E_NOMEM, or the status of the result, which
 * head->text explains. Does not return where the process has died. */
ds_status child_ask(child *c, const ds_host *host, uint32_t what);

/* Waits for an answer that it still owes, because the host wanted to stop: before the room is written to.
 * DS_OK, or DS_STOPPED. child_ask() does that itself. */
ds_status child_settle(child *c, const ds_host *host);

/* Waits for the next message of Python: a result, or a call of its own; as above. */
ds_status child_listen(child *c, const ds_host *host);

/* Has it died? 1, and how in words. */
int child_dead(child *c, char *how, size_t size);

/* Lets the process use as much additional memory as this process may. */
void child_limit_memory(const child *c);

void child_end(child *c);

#endif
