/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h - the memory that the host shares with an optimizer in a process of its own, and how a call
 * crosses it.
 *
 * The optimizer's process (proxy.h) gives run() an objective whose functions write a call and its rows into
 * this memory and hand the turn to the host. The host (run/isolated.h) makes the same call on its own
 * objective, with pointers into the rows, and hands the turn back. Only one side works at a time, so nothing
 * is locked. The waiting side spins for a moment, then sleeps on the socket of the process, which also
 * reports the end of the other side. The offsets of the numbers follow from the call alone
 * (ds_remote_lay_out()): no offset crosses, and the host reads nothing outside the rows, whatever the call
 * says. The plugin gets copies, and no pointer into this memory. */
#ifndef DS_WORKER_REMOTE_H
#define DS_WORKER_REMOTE_H

#include <diffsim/ext/draft/files.h>
#include <diffsim/ext/draft/progress.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/variables.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/optimizer.h>

#include "plugin/channels.h"
#include "worker/ring.h"

#define DS_REMOTE_MAGIC 0x3130544f4d455244u /* "DREMOT01" */

/* Which function is called. */
enum {
    DS_REMOTE_ROOM = 1, /* make the rows `count` bytes large */
    /* get_extension() of `text`. The rows return `count` channels as ds_channel_entry, or `count` variables
     * as ds_named_variable, or `count` bytes with the texts of ds_objective_files, one after the other. */
    DS_REMOTE_EXTENSION,
    DS_REMOTE_EVALUATE,
    DS_REMOTE_BEGIN, /* stepwise control */
    DS_REMOTE_STEP,
    DS_REMOTE_BACK,
    DS_REMOTE_SAVE, /* the file `text`, `count` bytes */
    /* `count` bytes: `group` values, the point where `queries` is 1, and the names, each with its NUL */
    DS_REMOTE_REPORT,
    DS_REMOTE_RETURN /* run() has returned `status`; `text` is the last message of error() */
};

/* The arrays of a call, one after the other in the rows. */
enum { DS_REMOTE_DATA = 0 };
enum {
    DS_REMOTE_X,
    DS_REMOTE_LOSS,
    DS_REMOTE_GRAD,
    DS_REMOTE_OUTCOME,
    DS_REMOTE_NOISE,
    DS_REMOTE_COST,
    DS_REMOTE_KIND,
    DS_REMOTE_BAD_STEP,
    DS_REMOTE_PRODUCT_KIND
};
enum {
    DS_REMOTE_LANE,
    DS_REMOTE_ACTION,
    DS_REMOTE_OBS,
    DS_REMOTE_REWARD,
    DS_REMOTE_ENDED,
    DS_REMOTE_EPISODE_LOSS,
    DS_REMOTE_EPISODE_OUTCOME,
    DS_REMOTE_EPISODE_COST
};
enum {
    DS_REMOTE_BACK_LANE,
    DS_REMOTE_BACK_STEP,
    DS_REMOTE_BACK_REWARD,
    DS_REMOTE_BACK_OBS,
    DS_REMOTE_BACK_ACTION,
    DS_REMOTE_BACK_OUTCOME,
    DS_REMOTE_BACK_COST
};
enum {
    DS_REMOTE_QUERIES = 9, /* v, w and out of each query */
    DS_REMOTE_ARRAYS = DS_REMOTE_QUERIES + 3 * DS_MAX_QUERIES
};

/* A query and its reply without their pointers. */
typedef struct ds_remote_query {
    uint32_t query_size, reply_size; /* struct_size of both; 0 = there is none */
    uint32_t op, channel;
    uint64_t v_stride, w_stride, stride, bytes;
} ds_remote_query;

/* The fields of the structs of a call, without their pointers. */
typedef struct ds_remote_call {
    uint32_t what;  /* DS_REMOTE_* */
    int32_t status; /* what it returned; for an extension: DS_OK if it exists */
    /* struct_size of the structs, as far as this host knows them; 0 = NULL or too short */
    uint32_t rows_size, results_size, label_size;
    uint32_t want;   /* DS_WANT_* */
    uint32_t memory; /* DS_MEMORY_* */
    uint64_t count, group, queries;
    uint64_t n, stride, grad_stride; /* as in the plugin's rows and results */
    uint64_t done;                   /* DS_REMOTE_UNTOUCHED = the call did not set it */
    uint64_t given;                  /* bit k: array k is not NULL */
    char tag[DS_MAX_TAG + 2];
    char text[DS_MAX_ERROR + 1];
    ds_steps_info steps; /* of stepwise control; its `count` is the number of lanes */
    ds_remote_query query[DS_MAX_QUERIES];
} ds_remote_call;

#define DS_REMOTE_UNTOUCHED UINT64_MAX

enum { DS_REMOTE_HOST = 0, DS_REMOTE_OPTIMIZER = 1 }; /* sides */

/* The shared memory: this head, then the rows from DS_REMOTE_HEAD on. At the start the rows hold lower, upper
 * and x0. */
enum { DS_REMOTE_HEAD = 1 << 16 };
typedef struct ds_remote {
    uint64_t magic;
    ds_problem problem; /* its pointers mean nothing in the other process */
    uint64_t rows;      /* bytes of the rows; only the host makes them grow */
    uint32_t spin_ns;   /* longest busy wait */
    ds_remote_call call;
    alignas(64) atomic_uint turn; /* the side that works */
    atomic_uint asleep[2];        /* this side sleeps on its socket */
    alignas(64) atomic_int stop;  /* nonzero = the run should end */
    atomic_int strayed;           /* another thread than that of run() called the objective */
} ds_remote;

/* One side's view of it. */
typedef struct ds_remote_view {
    ds_remote *head; /* stays in place; the rows may move when they grow */
    unsigned char *rows;
    uint64_t mapped; /* bytes of the rows that are mapped */
    int fd, socket;
    uint32_t side;
    ds_spin spin;
} ds_remote_view;

/* Host: makes the memory for a problem, in an empty memory file. */
int ds_remote_make(ds_remote_view *v, int fd, const ds_problem *problem, ds_error *e);
/* Optimizer: maps it; -1 on failure. */
int ds_remote_join(ds_remote_view *v, int fd);
void ds_remote_leave(ds_remote_view *v);

/* Host: makes the rows at least `bytes` large. Optimizer: maps them after they grew. -1 without memory. */
int ds_remote_grow(ds_remote_view *v, uint64_t bytes);
int ds_remote_follow(ds_remote_view *v);

/* Hands the turn to the other side, and wakes it. */
void ds_remote_pass(ds_remote_view *v);

/* Waits a moment for the turn: 1 = it is ours; 0 = sleep on the socket, a byte arrives with the turn. */
int ds_remote_await(ds_remote_view *v);

/* What the sizes of arrays depend on. */
typedef struct ds_remote_shape {
    uint64_t n, n_act, n_obs;
    uint64_t channels;
    const ds_channel *const *channel;
} ds_remote_shape;

/* An array of a call. The optimizer's side points `in` or `out` to the plugin's buffer, whose rows are
 * `stride` bytes apart and have `bytes` bytes; 0 = `each`. */
typedef struct ds_remote_array {
    uint64_t each, at; /* bytes of a row (for queries a multiple of 8), and offset in the rows */
    const void *in;
    void *out;
    uint64_t stride, bytes;
} ds_remote_array;

/* Sets `each` and `at` of all arrays of a call. Returns the bytes that they take, UINT64_MAX for an
 * impossible call. */
uint64_t ds_remote_lay_out(const ds_remote_shape *s, const ds_remote_call *c,
                           ds_remote_array array[DS_REMOTE_ARRAYS]);

#endif
