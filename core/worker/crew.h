/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - the worker processes of a pool: starts them, watches them, and replaces the dead. */
#ifndef DS_CORE_CREW_H
#define DS_CORE_CREW_H

#include "worker/share.h"

typedef struct ds_crew_config {
    const ds_module *module;
    const ds_params *params; /* of the environment */
    uint64_t seed;
    uint32_t threads;
    uint32_t jobs;          /* workers, at most */
    double timeout;         /* seconds of one evaluation; 0 = no limit */
    int64_t memory;         /* MiB of a worker beyond its start; 0 = no limit */
    const char *program;    /* dshost, where this program is not; NULL = /proc/self/exe */
    const atomic_int *stop; /* nonzero = give up waiting */
    uint64_t capacity;      /* slots; 0 = choose */
    uint64_t extra;         /* doubles at the end of each slot */
} ds_crew_config;

/* What the workers say about the environment. */
typedef struct ds_crew_env {
    ds_env_info info;
    int has_gradient;
    ds_rl_info rl;              /* horizon 0 = no stepwise control */
    uint64_t residuals;         /* their number, 0 = not offered */
    double *lower, *upper, *x0; /* info.n values each */
} ds_crew_env;

typedef struct ds_crew ds_crew;

/* Starts the first worker and waits for its instance. Errors of the plugin's create() are passed on as they
 * are. */
int ds_crew_open(const ds_crew_config *config, ds_crew **out, ds_error *e);

/* Ends the workers (NULL is fine): asks them, and kills what does not end within 2 s. */
void ds_crew_close(ds_crew *c);

const ds_crew_env *ds_crew_env_of(const ds_crew *c);
ds_share *ds_crew_share(ds_crew *c);

/* Starts further workers until there are `count` (at most config.jobs); returns at once. */
void ds_crew_want(ds_crew *c, uint32_t count);

/* Kills all workers and starts no new ones: what they had in hand stays unfinished. */
void ds_crew_kill(ds_crew *c);

/* 0, or the status and line of a failure that ends the pool: a worker cannot be started any more. */
int ds_crew_failed(ds_crew *c, ds_error *e);

/* The memory file into which a worker writes the scene of its last evaluation with DS_WANT_SCENE. */
int ds_crew_scene_fd(const ds_crew *c);

/* Processors that this process may use. */
uint32_t ds_processors(void);

#endif
