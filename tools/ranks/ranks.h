/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - the processes of an MPI job and short messages between them. MPI is in a module that is loaded
 * only if mpirun started us, so that dshost runs without MPI. */
#ifndef DS_RANKS_RANKS_H
#define DS_RANKS_RANKS_H

#include "base/error.h"

#include <stddef.h>

enum { DS_RANKS_VERSION = 1 };

/* The module exports this as `ds_ranks_module`. Messages are blocks of at most 4096 bytes and keep their
 * order between two ranks. All functions are called from one thread. */
typedef struct ds_ranks {
    int version;
    int rank, size;
    /* Joins the job; returns 0, or -1 after writing why to `why`. */
    int (*join)(struct ds_ranks *self, char *why, size_t room);
    /* Never waits, even if the other rank is gone. */
    void (*send)(const struct ds_ranks *self, int to, const void *data, size_t bytes);
    /* Returns 1 if a message of exactly `bytes` was received, 0 if there is none. Never waits. */
    int (*receive)(const struct ds_ranks *self, int *from, void *data, size_t bytes);
    /* Leaves the job, together with all others. */
    void (*leave)(struct ds_ranks *self);
    /* Ends the job for all. */
    void (*abort)(struct ds_ranks *self, int status);
} ds_ranks;

/* The rank that mpirun or a similar program has set in our environment; -1 = none. */
int ds_ranks_given(void);

/* Loads the module and joins the job. DS_EXIT_PLUGIN if this dshost was built without MPI. */
int ds_ranks_open(ds_ranks **out, ds_error *e);

#endif
