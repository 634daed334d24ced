/* SPDX-License-Identifier: Apache-2.0 */
/* environment_internal.h - an environment of another program (diffsim/lib/environment.h) inside. */
#ifndef DS_EMBED_ENVIRONMENT_INTERNAL_H
#define DS_EMBED_ENVIRONMENT_INTERNAL_H

#include <diffsim/lib/environment.h>

#include "evaluate/pool.h"
#include "run/asked.h"
#include "snapshot/episode_scene.h"

struct ds_environment {
    atomic_int stop;
    ds_settings settings; /* [env] */
    ds_scene_source source;
    const ds_pool_env *facts;
    const char *id;
    char message[600];                     /* of the last call */
    uint32_t(DS_CALL *waiting)(void *ctx); /* of the program, with its ctx; NULL = none */
    void *ctx;

    double *x; /* n: the point that was evaluated last, with its noise key */
    uint64_t noise_key;
    int evaluated;
    char **reason; /* of the rows of the last batch; NULL = nothing to say */
    uint64_t reasons;

    ds_snapshot *scene; /* NULL = none */

    /* Stepwise control; NULL until the first episode. */
    uint64_t lanes;
    struct ds_open_episode *episode; /* lanes */
    ds_lane_step *step;              /* lanes */
    unsigned char *named;            /* lanes; zeros between calls */
};

/* Keeps the line for people, and returns `status`. */
ds_status ds_environment_say(ds_environment *e, ds_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the status of the pool, an exit status or DS_POOL_STOPPED, is to the program; keeps the line. */
ds_status ds_environment_outcome(ds_environment *e, int rc, const ds_error *error);

/* Is x inside the bounds? `row` is its number in a batch. */
int ds_environment_inside(ds_environment *e, const double *x, uint64_t row);

/* Is this nobody's fault but a struct's that is missing or too short? */
#define DS_ENVIRONMENT_TAKES(type, ptr, last) ((ptr) != NULL && DS_HAS(type, ptr, last))

/* Releases what the files beside this one keep. */
void ds_environment_drop_episodes(ds_environment *e);

#endif
