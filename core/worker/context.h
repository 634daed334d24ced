/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - everything a worker process holds (ds_worker_context): how it receives its start arguments, how
 * it keeps to the rules of its host, and its work. */
#ifndef DS_WORKER_CONTEXT_H
#define DS_WORKER_CONTEXT_H

#include "base/plugin_memory.h"
#include "plugin/instance.h"
#include "worker/handshake.h"
#include "worker/ring.h"

enum { DS_GUARD_GAP = 8 /* doubles between two rows of a call */ };

/* Buffers of the rows of one call: x and gradients, and what queries read and return. */
enum { DS_BUFFER_X, DS_BUFFER_GRAD, DS_BUFFER_IN, DS_BUFFER_OUT, DS_BUFFERS };

typedef struct ds_worker_buffer {
    ds_guard guard;
    uint64_t n, marked; /* rows of n numbers from the end on that have sound marks */
} ds_worker_buffer;

typedef struct ds_worker_context {
    ds_worker_start start;
    char *texts;
    ds_env *env;
    ds_ring ring, *share; /* share: the ring once it is mapped */
    ds_ring_worker *mine;
    int corrupt;                         /* the shared memory does not hold a ring */
    ds_worker_buffer buffer[DS_BUFFERS]; /* the memory that the plugin gets */
    uint64_t many;                       /* rows of one call */
    uint64_t *key;                       /* of the rows of one call, `many` of each */
    ds_answer **answer;
    ds_slot **slot;    /* being evaluated: room for as many as the ring has */
    double typical_ns; /* running mean of the time of one evaluation */
    ds_spin spin;
    ds_lane_set lanes; /* of stepwise control */
    int serves_lanes;  /* `env` is the instance of the first lanes */
} ds_worker_context;

/* ---- start arguments and messages (context.c) ---- */

/* Reads the start file; call it again after the host has replaced the file. */
int ds_worker_read_start(ds_worker_context *w, ds_error *e);

/* Loads the plugin that the start file names; *rest points after its path and id. */
int ds_worker_load_plugin(const ds_worker_context *w, const ds_module **out, const char **rest, ds_error *e);

/* Receives one byte from the host, '\0' when it is gone; sends one, -1 when it is gone. A copy of this
 * process that the plugin forked ends instead of sending. */
char ds_worker_receive(void);
int ds_worker_send(char byte);

/* Empties a memory file: 0, or -1. */
int ds_worker_truncate(int fd);

/* Reads the settings of the start file, which begin after the text `at`. */
int ds_worker_settings(const ds_worker_context *w, const char *at, int section, ds_settings *settings,
                       ds_error *e);

/* Makes the instance that the start file describes. */
int ds_worker_make_env(ds_worker_context *w, ds_env **out, ds_error *e);

/* ---- the process and its limits (context.c) ---- */

/* Ties this process to its host (process `parent`): it ends with the host, writes no core file, ignores the
 * signals of the terminal, and passes no descriptor on to programs that the plugin starts. `files` is the
 * soft limit of open files before the host raised it, which is restored; 0 = leave it. Returns -1 when the
 * host is gone. */
int ds_worker_process_begin(int64_t parent, uint64_t files);

/* Is the host gone? Checked as well, because a plugin may undo what ds_worker_process_begin() arranged. */
int ds_worker_orphaned(void);

/* Limits the memory of the plugin as the start file requires. Memory that libraries need for themselves does
 * not count. */
void ds_worker_limit_memory(const ds_worker_context *w);

/* Raises the limit by `bytes`, for memory that is not the plugin's. */
void ds_worker_allow_memory(uint64_t bytes);

/* Call it after each call of the plugin's `function`. Ends a copy of this process that the plugin forked and
 * that returned here; restores the floating-point mode, and warns once if the plugin changed it. Takes
 * nanoseconds. */
void ds_worker_after_call(const char *function);

/* ---- evaluation (work.c) ---- */

/* Allocates buffers for the ring; -1 without memory. */
int ds_work_begin(ds_worker_context *w);

/* Evaluates until the host ends the workers. */
void ds_work(ds_worker_context *w);
void ds_work_end(ds_worker_context *w);

#endif
