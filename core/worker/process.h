/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - one worker process as the host sees it: what it is told, what it prints, and its end. */
#ifndef DS_WORKER_PROCESS_H
#define DS_WORKER_PROCESS_H

#include <poll.h>
#include <sys/types.h>

#include "plugin/instance.h"
#include "worker/handshake.h"

/* What workers that serve alike are told. */
typedef struct ds_start_arguments {
    uint64_t seed;
    int64_t memory; /* bytes beyond the start; 0 = no limit */
    uint32_t threads;
    uint32_t first, workers; /* worker i is number first + i of so many */
    uint32_t settings;       /* pairs in the texts */
    char *texts;             /* of the start file; to be freed */
    uint64_t bytes;          /* of them */
} ds_start_arguments;

/* Makes the texts for a plugin and those of its parameters (NULL = none) that were given. */
int ds_start_arguments_make(ds_start_arguments *o, const char *path, const char *id, const ds_params *p,
                            ds_error *e);

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
    int cut_off;   /* killed because it had closed its socket */
    uint64_t born; /* ds_clock_ns() of its start */
    pid_t pid;     /* it leads a group of its own */
    int end;       /* a descriptor (pidfd) that polls as readable when it has ended; -1 where there is none */
    int socket;    /* to the worker; what the plugin has started may keep the other side open */
    int output;    /* its stdout and stderr; does not block; -1 = closed by the worker */
    int start;     /* the start file */
    ds_childlog log;
} ds_process;

/* Where worker processes come from and what they share. */
typedef struct ds_process_place {
    const char *program;    /* NULL = dshost-worker */
    int share_fd, scene_fd; /* memory files */
    const char *source;     /* of what they print: id of the plugin */
} ds_process_place;

/* A memory file of the host, which may be sealed. -1 with errno on failure. */
int ds_memory_file(const char *name);

/* Descriptors were wanted for `what` ("cannot make ..."), and there were none: `code` is the errno. */
int ds_no_descriptors(const char *what, int code, ds_error *e);

/* Starts worker `index`; `describe`: it is to describe the plugin before it makes an instance. */
int ds_process_start(ds_process *p, const ds_process_place *place, const ds_start_arguments *o,
                     uint32_t index, int describe, ds_error *e);

/* Tells worker 0, which has described the plugin, to make an instance. -1 where it is dead. */
int ds_process_instruct(ds_process *p, const ds_start_arguments *o);

/* Passes on what it has printed; bounded. */
void ds_process_read_output(ds_process *p);

/* What poll() is to wait for, and at most how long where it could wait `ms` (-1 = without end) but for
 * processes whose end no descriptor tells. */
enum { DS_PROCESS_POLLS = 3 };
void ds_process_poll(const ds_process *p, struct pollfd fds[DS_PROCESS_POLLS]);
int ds_process_poll_ms(const ds_process *p, int ms);

/* Behind poll(): passes on what it has printed and takes one byte that it has sent, 0 where there is none.
 * 0 = it is dead, or as good as that. */
int ds_process_read(ds_process *p, const struct pollfd fds[DS_PROCESS_POLLS], char *byte);

/* The same for one process alone, after a sleep of at most `ms`. */
int ds_process_listen(ds_process *p, int ms, char *byte);

/* Kills it and what it has started, as far as that is in its group. It is still to be buried. */
void ds_process_kill(const ds_process *p);

/* It is dead, or as good as that, or of no more use (`now`: killed): collects it and what it has started,
 * passes on its last words, and closes its channels. Returns its wait status. */
int ds_process_reap(ds_process *p, int now);

enum { DS_START_SECONDS = 60 }; /* least time limit of a start, unless one is set */

/* How many seconds a process has for its start, where `start` > 0 was set for that, else by the time limit of
 * an evaluation: 0 = no limit. *name gets the setting to change. */
double ds_process_start_limit(double start, double timeout, const char **name);

/* Has it ended because files, and so its start file, may not be that large? Then DS_EXIT_IO and a line;
 * `what` is the plugin. Else 0. */
int ds_process_was_mute(const char *what, int status, ds_error *e);

/* How a process has ended, called `who`; `limit` ("5 s (timeout_s)"): the time that it had to answer. */
void ds_process_describe_end(const ds_process *p, const char *who, int status, const char *limit, char *text,
                             size_t size);

#endif
