/* SPDX-License-Identifier: Apache-2.0 */
/* duty.h - what a worker process has at hand (ds_worker_context), how it learns what to do, and its work. */
#ifndef DS_WORKER_CONTEXT_H
#define DS_WORKER_CONTEXT_H

#include "base/guard.h"
#include "plugin/instance.h"
#include "worker/protocol.h"
#include "worker/ring.h"

enum { DS_GUARD_GAP = 8 /* numbers between two points in one call */ };

/* Buffers of the rows of one call: x and gradients, with channels questions and answers. */
enum { DS_GUARD_X, DS_GUARD_GRAD, DS_GUARD_IN, DS_GUARD_OUT, DS_GUARDS };

typedef struct ds_worker_context {
    ds_worker_start start;
    char *texts;
    ds_env *env;
    ds_ring ring, *share; /* share: the ring once it is there */
    ds_ring_worker *mine;
    int spoilt;                /* what should be the ring is none */
    ds_guard guard[DS_GUARDS]; /* what the plugin gets to see */
    uint64_t many;             /* rows of one call */
    uint64_t *key;             /* of the rows of one call, `many` of each */
    ds_answer **answer;
    ds_slot **slot;    /* in hand: as many as there are in the ring */
    double typical_ns; /* running mean of the time of one evaluation */
    ds_spin spin;
    ds_lane_set lanes; /* of stepwise control */
    int serves_lanes;  /* env does */
} ds_worker_context;

/* ---- duty.c ---- */

/* Reads the start file, anew where there is another one. */
int ds_worker_read_start(ds_worker_context *w, ds_error *e);

/* Loads the plugin that the start file names; *rest gets what lies behind its path and id. */
int ds_worker_load_plugin(const ds_worker_context *w, const ds_module **out, const char **rest, ds_error *e);

/* The next byte of the host, '\0' where it is gone; a byte to it (-1 = it is gone), said by this process,
 * and by no copy of it that the plugin has made. */
char ds_worker_receive(void);
int ds_worker_send(char byte);

/* Empties a memory file: 0, or -1. */
int ds_worker_truncate(int fd);

/* What libraries need for themselves does not count against the plugin's limit. */
void ds_worker_limit_memory(const ds_worker_context *w);

/* The settings of the start file, which begin behind the text `at`. */
int ds_worker_settings(const ds_worker_context *w, const char *at, int section, ds_settings *settings,
                       ds_error *e);

/* Makes an instance as the start file says. */
int ds_worker_make_env(ds_worker_context *w, ds_env **out, ds_error *e);

/* ---- work.c ---- */

/* Makes room, with the ring there; -1 without memory. Evaluates until the host says that it is enough; then
 * ds_work_end(). */
int ds_work_begin(ds_worker_context *w);
void ds_work(ds_worker_context *w);
void ds_work_end(ds_worker_context *w);

#endif
