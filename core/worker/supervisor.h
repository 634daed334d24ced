/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - the worker processes of a pool: starts them, watches them, and replaces the dead. */
#ifndef DS_WORKER_SUPERVISOR_H
#define DS_WORKER_SUPERVISOR_H

#include "worker/ring.h"

typedef struct ds_supervisor_config {
    const ds_module *module;
    const ds_params *params; /* of the environment */
    uint64_t seed;
    uint32_t threads;
    uint32_t jobs;          /* workers, at most */
    double timeout;         /* seconds of one evaluation; 0 = no limit */
    int64_t memory;         /* MiB of a worker beyond its start; 0 = no limit */
    const char *program;    /* of the workers; NULL = dshost-worker */
    const atomic_int *stop; /* nonzero = give up waiting */
    uint64_t capacity;      /* slots; 0 = choose */
    uint64_t extra;         /* doubles at the end of each slot */
} ds_supervisor_config;

/* What the workers say about the environment. */
typedef struct ds_supervisor_env {
    ds_env_info info;
    int has_gradient;
    ds_rl_info rl;              /* horizon 0 = no stepwise control */
    uint64_t residuals;         /* their number, 0 = not offered */
    double *lower, *upper, *x0; /* info.n values each */
} ds_supervisor_env;

typedef struct ds_supervisor ds_supervisor;

/* Starts the first worker and waits for its instance. Errors of the plugin's create() are passed on as they
 * are. */
int ds_supervisor_open(const ds_supervisor_config *config, ds_supervisor **out, ds_error *e);

/* Ends the workers (NULL is fine): asks them, and kills what does not end within 2 s. */
void ds_supervisor_close(ds_supervisor *c);

const ds_supervisor_env *ds_supervisor_env_of(const ds_supervisor *c);
ds_ring *ds_supervisor_share(ds_supervisor *c);

/* Starts further workers until there are `count` (at most config.jobs); returns at once. */
void ds_supervisor_want(ds_supervisor *c, uint32_t count);

/* Kills all workers and starts no new ones: what they had in hand stays unfinished. */
void ds_supervisor_kill(ds_supervisor *c);

/* 0, or the status and line of a failure that ends the pool: a worker cannot be started any more. */
int ds_supervisor_failed(ds_supervisor *c, ds_error *e);

/* The memory file into which a worker writes the scene of its last evaluation with DS_WANT_SCENE. */
int ds_supervisor_scene_fd(const ds_supervisor *c);

#endif
