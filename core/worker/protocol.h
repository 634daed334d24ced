/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - what the host tells a worker process at its start, and what it answers.
 *
 * A worker loads the plugin that the start file names, makes an instance with the settings in it, says
 * DS_WORKER_HELLO, waits for DS_WORKER_GO and works. One that is to describe the plugin first (probe.h)
 * says DS_WORKER_DESCRIBED when it is loaded, and waits for DS_WORKER_SETTINGS: a start file with the
 * settings. With an optimizer the shared memory is there before its settings (remote.h), and
 * DS_WORKER_GO begins the search.
 */
#ifndef DS_WORKER_PROTOCOL_H
#define DS_WORKER_PROTOCOL_H

#include "plugin/instance.h"

/* Descriptors of a worker: one byte messages, the start file, the shared memory, the scene. */
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
    DS_WORKER_HELLO = 'h',     /* worker: the start file holds my answer */
    DS_WORKER_GO = 'g',        /* host: the shared memory is ready */
    DS_WORKER_DONE = 'e'       /* worker, of an optimizer: destroy() has returned */
};

/* The start file, written by the host: this head, then NUL-terminated texts: path and id of the plugin,
 * and key and value of each setting of [env], or [opt], that was given. */
typedef struct ds_worker_start {
    uint64_t magic;
    uint64_t seed;
    int64_t memory; /* bytes beyond the start; 0 = no limit */
    uint32_t threads;
    uint32_t index;           /* number of the worker */
    uint32_t worker, workers; /* its number among all workers, and how many those may be, for ds_host */
    uint32_t settings;        /* pairs */
    uint32_t describe;        /* nonzero = describe the plugin first */
    uint64_t texts;           /* bytes of the texts */
    int64_t parent;           /* process id of the host */
    uint64_t files; /* soft limit of open files, which the host has raised for itself; 0 = it has not */
} ds_worker_start;

/* Exit status of a worker that found the shared memory in a state that neither it nor the host leaves. */
enum { DS_WORKER_CORRUPT = 96 };

/* Of one that could not write down what its plugin is: files must not have that size here. */
enum { DS_WORKER_MUTE = 97 };

#define DS_WORKER_MAGIC 0x3231524b524f5744u

/* The worker's answer replaces the content of the start file: this head, then lower, upper, x0, the names
 * of the variables where they have some, and the channels as ds_channel_entry. */
typedef struct ds_worker_hello {
    uint64_t magic;
    ds_error error;   /* status 0 = the instance was made */
    ds_env_facts env; /* its pointers mean nothing here, but whether there are variables */
    uint64_t channels;
} ds_worker_hello;

#endif
