/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - one worker process as the host sees it: what it is told, what it prints, and its end. */
#ifndef DS_WORKER_PROCESS_H
#define DS_WORKER_PROCESS_H

#include <sys/types.h>

#include "plugin/instance.h"
#include "worker/protocol.h"

/* What workers that serve alike are told. */
typedef struct ds_orders {
    uint64_t seed;
    int64_t memory; /* bytes beyond the start; 0 = no limit */
    uint32_t threads;
    uint32_t settings; /* pairs in the texts */
    char *texts;       /* of the start file; to be freed */
    uint64_t bytes;    /* of them */
} ds_orders;

/* Makes the texts for a plugin and those of its parameters (NULL = none) that were given. */
int ds_orders_write(ds_orders *o, const char *path, const char *id, const ds_params *p, ds_error *e);

enum { DS_PROCESS_NONE = 0, DS_PROCESS_STARTING, DS_PROCESS_READY };

/* What it writes to stdout and stderr is passed on line by line, and not too much of it. */
typedef struct ds_childlog {
    const char *source;  /* id of the plugin */
    uint64_t second;     /* the current second */
    uint32_t lines;      /* shown in it */
    uint64_t suppressed; /* not shown since the last line that was */
    size_t used;
    char line[1024];
} ds_childlog;

typedef struct ds_process {
    int state;     /* DS_PROCESS_* */
    int timed_out; /* killed at its time limit */
    uint64_t born; /* ds_clock_ns() of its start */
    pid_t pid;
    int socket; /* to the worker */
    int output; /* its stdout and stderr; does not block */
    int start;  /* the start file */
    ds_childlog log;
} ds_process;

/* Where worker processes come from and what they share. */
typedef struct ds_process_place {
    const char *program;    /* NULL = dshost-worker */
    int share_fd, scene_fd; /* memory files */
    const char *source;     /* of what they print: id of the plugin */
} ds_process_place;

/* A memory file of the host. -1 with errno on failure. */
int ds_memory_file(const char *name);

/* Starts worker `index`; `describe`: it is to describe the plugin before it makes an instance. */
int ds_process_start(ds_process *p, const ds_process_place *place, const ds_orders *o, uint32_t index,
                     int describe, ds_error *e);

/* Tells worker 0, which has described the plugin, to make an instance. -1 where it is dead. */
int ds_process_instruct(ds_process *p, const ds_orders *o);

/* Passes on what it has printed; bounded. */
void ds_process_read_output(ds_process *p);

/* Its socket has ended, or it is of no more use (`now`: killed): collects it, passes on its last words,
 * and closes its channels. Returns its wait status. */
int ds_process_bury(ds_process *p, int now);

/* How a process has ended, called `who`, that had `timeout` seconds to answer. */
void ds_process_say_how(const ds_process *p, const char *who, int status, double timeout, char *text,
                        size_t size);

#endif
