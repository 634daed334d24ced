/* SPDX-License-Identifier: Apache-2.0 */
/* ranks_mpi.c - the MPI module for ranks.h, the only file that includes mpi.h. */
#include "ranks/ranks.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 4711 };

static int join(ds_ranks *self, char *why, size_t room)
{
    int provided = 0;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code != MPI_SUCCESS) {
        snprintf(why, room, "MPI_Init() failed with %d", code);
        return -1;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &self->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self->size);
    return 0;
}

/* A message being sent. We do not wait for it: a rank that is gone never receives it. */
typedef struct parcel {
    struct parcel *next;
    MPI_Request request;
    char data[];
} parcel;

static parcel *on_way;

/* Forgets messages that have arrived; with `all` waits for them. */
static void tidy(int all)
{
    for (parcel **at = &on_way; *at != NULL;) {
        parcel *p = *at;
        int there = 1;
        if (all) {
            MPI_Wait(&p->request, MPI_STATUS_IGNORE);
        } else {
            MPI_Test(&p->request, &there, MPI_STATUS_IGNORE);
        }
        if (there) {
            *at = p->next;
            free(p);
        } else {
            at = &p->next;
        }
    }
}

static void send_bytes(const ds_ranks *self, int to, const void *data, size_t bytes)
{
    (void)self;
    tidy(0);
    parcel *p = malloc(sizeof(*p) + bytes);
    if (p == NULL) { /* small messages rarely have to wait */
        MPI_Send(data, (int)bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
        return;
    }
    memcpy(p->data, data, bytes);
    MPI_Isend(p->data, (int)bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &p->request);
    p->next = on_way;
    on_way = p;
}

static int receive(const ds_ranks *self, int *from, void *data, size_t bytes)
{
    int there = 0;
    MPI_Status status;
    (void)self;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
    if (there) {
        *from = status.MPI_SOURCE;
        MPI_Recv(data, (int)bytes, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, &status);
    }
    return there;
}

static void leave(ds_ranks *self)
{
    (void)self;
    tidy(1);
    MPI_Finalize();
}

static void end_all(ds_ranks *self, int status)
{
    (void)self;
    MPI_Abort(MPI_COMM_WORLD, status);
}

extern ds_ranks ds_ranks_module;
__attribute__((visibility("default"))) ds_ranks ds_ranks_module = {
    .version = DS_RANKS_VERSION,
    .size = 1,
    .join = join,
    .send = send_bytes,
    .receive = receive,
    .leave = leave,
    .abort = end_all,
};
