/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - one worker process as the host sees it: its start arguments, its output, and its end. */
#ifndef DS_WORKER_PROCESS_H
#define DS_WORKER_PROCESS_H

#include "plugin/instance.h"
#include "plugin/loader.h"
#include "worker/handshake.h"

#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

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

/* Did it end because its start file exceeded the file size limit, or because it is of another build? Then
 * DS_EXIT_IO and a line about plugin `what`; else 0. */
int ds_process_was_refused(const char *what, int status, ds_error *e);

/* Describes how a process, called `who`, has ended; `limit` ("5 s (timeout_s)") is the time it had to reply.
 */
void ds_process_describe_end(const ds_process *p, const char *who, int status, const char *limit, char *text,
                             size_t size);

/* ---- describing a plugin ---- */

/* Describes a plugin without loading it here: a worker process loads it and sends its
 * description. The process then waits to become the first worker of that plugin, so that a run starts no
 * extra process. */

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
