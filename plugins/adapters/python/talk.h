/* SPDX-License-Identifier: Apache-2.0 */
/* talk.h - the memory that an adapter shares with its Python process, and whose turn it is. One side speaks
 * at a time: it writes its question or answer and passes the turn; the other one spins for a while,
 * then sleeps.
 *
 * The layout is known to python/diffsim/serve.py, too, which calls the two functions at the end (ctypes). */
#ifndef DS_ADAPTERS_PYTHON_TALK_H
#define DS_ADAPTERS_PYTHON_TALK_H

#include <diffsim/base.h>
#include <stdatomic.h>

enum { TALK_HEAD = 4096, TALK_TEXT = 2048, TALK_VERSION = 2 };
enum { TALK_FD_LEAST = 3 }; /* the first three are the child's input, output and errors */

/* Sides. */
enum { TALK_HOST = 0, TALK_PYTHON = 1 };

/* Calls: by the host, and by Python while an optimizer runs. */
enum {
    TALK_DESCRIBE = 1, /* -> JSON: descriptor and parameters */
    TALK_CREATE =
        2, /* JSON: values of the parameters -> JSON: facts; lower, upper, x0 after it (environments) */
    TALK_EVALUATE = 3, /* x at 0 -> loss; gradient after x */
    TALK_SCENE = 4,    /* -> JSON, and the numbers after it: metrics, bodies */
    TALK_RUN = 5,      /* lower, upper, x0 at 0 -> the search has ended */
    TALK_QUIT = 6,
    TALK_RESET = 7,  /* `key` -> the first observation, after n_act numbers */
    TALK_STEP = 8,   /* an action at 0 -> outcome, ended, reward, loss; the observation after it */
    TALK_MANY = 9,   /* `count` x at 0, noise keys after them -> losses, then gradients */
    TALK_ROOM = 16,  /* more room, `bytes` in all */
    TALK_BATCH = 17, /* x at 0, then loss, gradients, outcomes */
    TALK_SAVE = 18   /* `bytes` for the file `text` */
};

/* What a TALK_MANY can request. */
enum { TALK_BATCH_LOSS = 1, TALK_BATCH_GRADIENT = 2 };

typedef struct talk_head {
    uint32_t version;
    _Atomic uint32_t turn; /* a side; sleepers wait for this word to change */
    _Atomic uint32_t asleep[2];
    _Atomic uint32_t stop; /* the host would like the call to end */
    uint32_t what, want;
    int32_t status; /* a ds_status; `text` says why it is negative */
    uint32_t outcome, grad_kind;
    uint32_t has_gradient, has_scene, stochastic, threads;
    uint64_t n, count, key, seed, budget, group;
    uint64_t bytes;         /* length of a text in the room, or of the room requested */
    uint64_t room;          /* bytes after the head */
    uint64_t cost, spin_ns; /* at most */
    int64_t bad_step;
    double loss, target, loss_floor;
    char text[TALK_TEXT];
    uint64_t spin_now[2], waits[2]; /* of each side, its own */
    uint64_t residuals;             /* how many an environment has; 0 = none */
    uint32_t can, asks;             /* DS_CAN() of what can be asked about them; what TALK_EVALUATE asks */
    /* DS_QUERY_*: after x and gradient follow v of the first, its result, v of the second ... */
    uint32_t ask[DS_MAX_QUERIES];
    uint64_t horizon, n_act, n_obs; /* of stepwise control, else 0 */
    uint32_t time_limit, batches;   /* the horizon is one; TALK_BATCH_* */
    uint32_t ended, strayed;        /* DS_STEPS_*; from Python only: the rules of the objective were broken */
    double reward;                  /* of a step; of TALK_CREATE: seconds per step */
} talk_head;

typedef struct talk {
    talk_head *head;
    char *room; /* after the head */
    uint64_t mapped;
    int fd;
} talk;

/* Makes the memory, TALK_PYTHON's turn: 0, or -1. The other side inherits talk->fd. */
int talk_open(talk *t);
void talk_close(talk *t);

/* Makes room for `bytes` after the head: 0, or -1. Only the host makes room. */
int talk_grow(talk *t, uint64_t bytes);

/* Waits at most `ms` for the turn: 1 = it is ours. */
int talk_await(talk *t, int ms);

/* Passes the turn to Python. */
void talk_pass(talk *t);

/* Called by Python, as one `side` of the head: waits for the turn, up to a second: 1, or 0. Passes it. */
DS_EXPORT int ds_python_await(talk_head *head);
DS_EXPORT void ds_python_pass(talk_head *head);

#endif
