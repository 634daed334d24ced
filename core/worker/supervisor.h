/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - the worker processes of a pool: starts them, watches them, and replaces the dead. */
#ifndef DS_WORKER_SUPERVISOR_H
#define DS_WORKER_SUPERVISOR_H

#include "plugin/instance.h"
#include "worker/ring.h"

typedef struct ds_supervisor_config {
    const ds_module *module;
    const ds_params *params; /* of the environment */
    uint64_t seed;
    uint32_t threads;
    uint32_t jobs;          /* workers, at most */
    double timeout;         /* seconds of one evaluation; 0 = no limit */
    double start_timeout;   /* for a start; 0 = the timeout, but at least DS_START_SECONDS */
    int64_t memory;         /* MiB of a worker on top of its start; 0 = no limit */
    const char *program;    /* of the workers; NULL = dshost-worker */
    const atomic_int *stop; /* nonzero = give up waiting */
    /* Called some 20 times a second by the thread that waits for a result; nonzero = give up. May be NULL. */
    int (*waiting)(void *ctx);
    void *ctx;
    uint32_t first;    /* number of the first worker among all workers of the run */
    uint32_t workers;  /* of the run; 0 = jobs */
    uint64_t capacity; /* slots; 0 = choose */
    uint64_t extra;    /* doubles at the end of each slot */
} ds_supervisor_config;

typedef struct ds_supervisor ds_supervisor;

/* Starts the first worker and waits for its instance. Passes errors of the plugin's create() on. */
int ds_supervisor_open(const ds_supervisor_config *config, ds_supervisor **out, ds_error *e);

/* Ends the workers by a request, and kills those that take longer than 2 s. Accepts NULL. */
void ds_supervisor_close(ds_supervisor *c);

/* What the workers report about the environment, without its parameters. */
const ds_env_facts *ds_supervisor_env_of(const ds_supervisor *c);
ds_ring *ds_supervisor_share(ds_supervisor *c);

enum { DS_SUPERVISOR_STOPPED = -1 };

/* Sleeps briefly, until `done` of the ring reaches `wake_at` or the slot of the ticket is done. If
 * config.stop is set or config.waiting() gives up, asks the workers to stop, and kills them a second later;
 * *stop_at, 0 at first, holds that time. Returns 0 = check again, DS_SUPERVISOR_STOPPED, or the exit status
 * of a failure that ends the pool: no worker can be started, or the shared memory was overwritten. */
int ds_supervisor_sleep(ds_supervisor *c, uint64_t ticket, uint32_t wake_at, uint64_t *stop_at, ds_error *e);

/* The shared memory is in an impossible state: fills *e, and returns its status. */
int ds_supervisor_corrupt(ds_supervisor *c, ds_error *e);

/* Starts workers until there are `count` (at most config.jobs); returns at once. */
void ds_supervisor_want(ds_supervisor *c, uint32_t count);

/* The memory file into which a worker writes the scene of its last evaluation with DS_WANT_SCENE. */
int ds_supervisor_scene_fd(const ds_supervisor *c);

#endif
