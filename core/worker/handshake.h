/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.h - how a worker process starts: what the host writes for it, and what it reports.
 *
 * 1. The worker loads the plugin that the start file names, makes an instance with the settings in it, and
 *    writes the description of the instance into the start file (DS_WORKER_HELLO).
 * 2. The host makes the shared memory and sends DS_WORKER_GO. The worker evaluates.
 *
 * A worker that describes a plugin first (process.h) loads it, writes the description (DS_WORKER_DESCRIBED),
 * and waits for DS_WORKER_SETTINGS: then the start file holds the settings. For an optimizer the shared
 * memory exists before its settings (remote.h), and DS_WORKER_GO begins the search.
 *
 * The plugin can write to the start file, so the host tests everything that it reads there. */
#ifndef DS_WORKER_HANDSHAKE_H
#define DS_WORKER_HANDSHAKE_H

#include "plugin/instance.h"

#define DS_WORKER_MAGIC 0x3331524b524f5744u

/* Identifies what host and worker share in memory and in the start file: version, sizes and offsets. It tells
 * programs of different builds apart. */
uint64_t ds_worker_layout(void);

/* Descriptors of a worker: socket for messages of one byte, start file, shared memory, scene. */
enum {
    DS_WORKER_SOCKET = 3,
    DS_WORKER_START = 4,
    DS_WORKER_SHARE = 5,
    DS_WORKER_SCENE = 6,
    DS_WORKER_FDS = 7
};

/* Messages on the socket. */
enum {
    DS_WORKER_DESCRIBED = 'd', /* worker: the start file holds a report (loader.h) */
    DS_WORKER_SETTINGS = 's',  /* host: the start file holds the settings of an instance */
    DS_WORKER_HELLO = 'h',     /* worker: the start file holds a ds_worker_hello */
    DS_WORKER_GO = 'g',        /* host: the shared memory is ready */
    DS_WORKER_DONE = 'e'       /* worker of an optimizer: destroy() has returned */
};

/* Exit statuses: the worker found a state in the shared memory that neither it nor the host leaves there; it
 * could not write the description of its plugin, because files must not be that large here; it is of another
 * build than the host. */
enum { DS_WORKER_CORRUPT = 96, DS_WORKER_MUTE = 97, DS_WORKER_OTHER = 98 };

/* The start file: this head, then NUL-terminated texts: path and id of the plugin, then key and value of each
 * setting of [env] or [opt] that was given. */
typedef struct ds_worker_start {
    uint64_t magic;
    uint64_t layout; /* ds_worker_layout(); it and the magic number keep their places in all versions */
    uint64_t seed;
    int64_t memory; /* bytes on top of what is mapped at the start; 0 = no limit */
    uint32_t threads;
    uint32_t index; /* number of the worker among those of its supervisor */
    uint32_t worker,
        workers;       /* number of the worker among all workers, and how many there may be (ds_host) */
    uint32_t settings; /* pairs of texts */
    uint32_t describe; /* nonzero = describe the plugin first */
    uint64_t texts;    /* bytes of the texts */
    int64_t parent;    /* process id of the host */
    uint64_t files;    /* soft limit of open files before the host raised it; 0 = the host did not raise it */
} ds_worker_start;

/* The reply replaces the start file: this head, then lower, upper, x0, the names of the variables if there
 * are any, and the channels as ds_channel_entry. */
typedef struct ds_worker_hello {
    uint64_t magic;
    ds_error error;   /* status 0 = the instance was made */
    ds_env_facts env; /* of its pointers only `variables` counts: nonzero = names follow */
    uint64_t channels;
} ds_worker_hello;

/* What a worker reports about its environment. */
typedef struct ds_handshake {
    ds_env_facts facts; /* without parameters */
    double *bounds;
    ds_channels channels;
} ds_handshake;

/* Reads and tests the reply of a worker with plugin `id` from its start file: 0, or the error it reports. */
int ds_handshake_read(const char *id, int fd, ds_handshake *out, ds_error *e);
void ds_handshake_clear(ds_handshake *g);

/* Does another worker describe the same environment as the first one did? */
int ds_handshake_compare(const char *id, int fd, const ds_handshake *first, ds_error *e);

#endif
