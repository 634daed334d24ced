/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - one worker process as the host sees it: its start arguments, its output, and its end. */
#ifndef DS_WORKER_PROCESS_H
#define DS_WORKER_PROCESS_H

#include <poll.h>
#include <sys/types.h>

#include "plugin/instance.h"
#include "worker/handshake.h"

/* Start arguments that all workers of a supervisor share. */
typedef struct ds_start_arguments {
    uint64_t seed;
    int64_t memory; /* bytes on top of what is mapped at the start; 0 = no limit */
    uint32_t threads;
    uint32_t first, workers; /* worker i is number first + i of `workers` */
    uint32_t settings;       /* pairs of texts */
    char *texts;             /* the texts of the start file; to be freed */
    uint64_t bytes;          /* of the texts */
} ds_start_arguments;

/* Makes the texts for a plugin and those of its parameters (NULL = none) that were given. */
int ds_start_arguments_make(ds_start_arguments *o, const char *path, const char *id, const ds_params *p,
                            ds_error *e);

enum { DS_PROCESS_NONE = 0, DS_PROCESS_STARTING, DS_PROCESS_READY };

/* Passes the worker's stdout and stderr on line by line, at a limited rate. */
typedef struct ds_childlog {
    const char *source;  /* id of the plugin */
    uint64_t second;     /* the current second */
    uint32_t lines;      /* shown in this second */
    uint64_t suppressed; /* not shown since the last line that was */
    size_t used;
    char line[1024];
} ds_childlog;

typedef struct ds_process {
    int state;     /* DS_PROCESS_* */
    int timed_out; /* killed at its time limit */
    int cut_off;   /* killed because it closed its socket */
    uint64_t born; /* ds_clock_ns() of its start */
    pid_t pid;     /* leads a process group */
    int end;       /* pidfd, readable when the process has ended; -1 = not available */
    int socket;    /* to the worker; programs that the plugin started may keep the other end open */
    int output;    /* its stdout and stderr, non-blocking; -1 = the worker closed them */
    int start;     /* the start file */
    ds_childlog log;
} ds_process;

/* Where worker processes come from, and what they share. */
typedef struct ds_process_place {
    const char *program;    /* NULL = dshost-worker */
    int share_fd, scene_fd; /* memory files */
    const char *source;     /* for their output: id of the plugin */
} ds_process_place;

/* Makes a memory file that can be sealed; -1 and errno on failure. */
int ds_memory_file(const char *name);

/* The error for missing descriptors: `what` failed ("cannot make ...") with errno `code`. */
int ds_no_descriptors(const char *what, int code, ds_error *e);

/* Starts worker `index`. `describe`: it describes the plugin before it makes an instance. */
int ds_process_start(ds_process *p, const ds_process_place *place, const ds_start_arguments *o,
                     uint32_t index, int describe, ds_error *e);

/* Lets worker 0, which has described the plugin, make an instance. -1 if it is dead. */
int ds_process_instruct(ds_process *p, const ds_start_arguments *o);

/* Forwards the output of the process, a bounded amount at a time. */
void ds_process_read_output(ds_process *p);

/* Sets what poll() waits for. Returns how long poll() may wait: `ms` (-1 = without end), or less for a
 * process without pidfd. */
enum { DS_PROCESS_POLLS = 3 };
void ds_process_poll(const ds_process *p, struct pollfd fds[DS_PROCESS_POLLS]);
int ds_process_poll_ms(const ds_process *p, int ms);

/* After poll(): passes on its output and receives one byte, 0 = none came. Returns 0 if it is dead or cut
 * off. */
int ds_process_read(ds_process *p, const struct pollfd fds[DS_PROCESS_POLLS], char *byte);

/* The same for one process, after a sleep of at most `ms`. */
int ds_process_listen(ds_process *p, int ms, char *byte);

/* Kills it and the rest of its process group. It still has to be reaped. */
void ds_process_kill(const ds_process *p);

/* Reaps a process that is dead, cut off, or no longer needed (`now`: kills it first), with all processes that
 * it started; forwards its last output, and closes its channels. Returns its wait status. */
int ds_process_reap(ds_process *p, int now);

enum { DS_START_SECONDS = 60 }; /* least time limit of a start, unless one is set */

/* Seconds that a process has for its start: `start` if that is > 0, else derived from the time limit of an
 * evaluation; 0 = no limit. *name gets the setting to change. */
double ds_process_start_limit(double start, double timeout, const char **name);

/* Did it end because its start file exceeded the file size limit? Then DS_EXIT_IO and a line about plugin
 * `what`; else 0. */
int ds_process_was_mute(const char *what, int status, ds_error *e);

/* Describes how a process, called `who`, has ended; `limit` ("5 s (timeout_s)") is the time it had to reply.
 */
void ds_process_describe_end(const ds_process *p, const char *who, int status, const char *limit, char *text,
                             size_t size);

#endif
