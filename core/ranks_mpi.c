/* SPDX-License-Identifier: Apache-2.0 */
/* ranks_mpi.c - the module that speaks MPI for ranks.h; the only file that sees mpi.h. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "ranks.h"

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

/* Messages are below the size at which a send waits for its receiver. */
static void send_bytes(const ds_ranks *self, int to, const void *data, size_t bytes)
{
    (void)self;
    MPI_Send(data, (int)bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
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
