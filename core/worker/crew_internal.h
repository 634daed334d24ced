/* SPDX-License-Identifier: Apache-2.0 */
/* crew_internal.h - the state of a crew, shared by crew.c (watching) and crew_start.c (starting). */
#ifndef DS_CORE_CREW_INTERNAL_H
#define DS_CORE_CREW_INTERNAL_H

#include <pthread.h>

#include "worker/child.h"
#include "worker/childlog.h"
#include "worker/crew.h"

enum { MEMBER_NONE = 0, MEMBER_STARTING, MEMBER_READY };

typedef struct ds_member {
    int state;     /* MEMBER_* */
    int timed_out; /* killed at its time limit */
    uint64_t born; /* ds_clock_ns() of its start */
    ds_child child;
    ds_childlog log;
} ds_member;

struct ds_crew {
    ds_crew_config config;
    char *program;
    char *texts; /* of the start file */
    uint64_t text_bytes;
    uint32_t setting_count;
    int share_fd, scene_fd, event_fd;
    ds_share *share; /* mapped after the first hello */
    ds_crew_env env;
    ds_member *member;
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
int ds_crew_make_texts(ds_crew *c, ds_error *e);

/* Keeps the first failure that ends the crew, and wakes who waits. */
void ds_crew_fail(ds_crew *c, const ds_error *why);

/* Starts worker w. */
void ds_crew_start_member(ds_crew *c, uint32_t w);

/* Worker w has said hello: its instance is made, or it says why not. */
void ds_crew_welcome(ds_crew *c, uint32_t w);

#endif
