/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_internal.h - the state of a supervisor, shared by supervisor.c (watching) and supervisor_start.c (starting). */
#ifndef DS_WORKER_SUPERVISOR_INTERNAL_H
#define DS_WORKER_SUPERVISOR_INTERNAL_H

#include <pthread.h>

#include "worker/child.h"
#include "worker/childlog.h"
#include "worker/supervisor.h"

enum { PROCESS_NONE = 0, PROCESS_STARTING, PROCESS_READY };

typedef struct ds_process {
    int state;     /* PROCESS_* */
    int timed_out; /* killed at its time limit */
    uint64_t born; /* ds_clock_ns() of its start */
    ds_child child;
    ds_childlog log;
} ds_process;

struct ds_supervisor {
    ds_supervisor_config config;
    char *program;
    char *texts; /* of the start file */
    uint64_t text_bytes;
    uint32_t setting_count;
    int share_fd, scene_fd, event_fd;
    ds_ring *share; /* mapped after the first hello */
    ds_supervisor_env env;
    ds_process *process;
    int idle_deaths;
    pthread_t thread;
    int thread_runs;
    pthread_mutex_t lock; /* of ready and error */
    pthread_cond_t changed;
    int ready; /* the first worker said hello */
    ds_error error;
    atomic_int failed;  /* error is valid */
    atomic_uint wanted; /* workers there should be */
    atomic_int quit, killed;
};

/* Prepares the texts of the start files. */
int ds_supervisor_make_texts(ds_supervisor *c, ds_error *e);

/* Keeps the first failure that ends the supervisor, and wakes who waits. */
void ds_supervisor_fail(ds_supervisor *c, const ds_error *why);

/* Starts worker w. */
void ds_supervisor_start_process(ds_supervisor *c, uint32_t w);

/* Worker w has said hello: its instance is made, or it says why not. */
void ds_supervisor_handshake(ds_supervisor *c, uint32_t w);

#endif
