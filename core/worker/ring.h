/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - the memory that the host and its workers share: a ring of slots, one per row, and how they wait.
 *
 * The host posts rows in the order of their tickets 0, 1, 2, ...; ticket t lies in slot t % capacity. Workers
 * take tickets, several at once when evaluations are cheap. The states of a slot:
 *
 *     FREE -(host)-> POSTED -(worker w)-> RUNNING|w -(worker w)-> DONE -(host)-> FREE
 *                                            `-(host, time limit)-> KILLED|w -(host, after its death)-> DONE
 *
 * Each step is one compare-and-swap, so that no evaluation is lost or done twice, wherever a worker dies: its
 * successor checks all tickets that were taken, and skips those that others hold.
 *
 * Plugins get no pointer into this memory, but a stray write can hit it. So each side keeps sizes and offsets
 * in memory of its own (ds_ring). The host copies a result before it tests and uses it, remembers what it has
 * posted, and checks at intervals whether the rest is possible (ds_ring_sound()). The size of the memory
 * never changes. */
#ifndef DS_WORKER_RING_H
#define DS_WORKER_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "plugin/instance.h"
#include "scene/scene_write.h"

#define DS_RING_MAGIC 0x31304b524f574453u /* "SDWORK01" */

enum { DS_SLOT_FREE = 0, DS_SLOT_POSTED = 1, DS_SLOT_RUNNING = 2, DS_SLOT_DONE = 3, DS_SLOT_KILLED = 4 };

/* First byte of a scene file that holds "STATUS REASON" instead of a scene. */
#define DS_SCENE_REFUSED '!'

/* State of a slot that worker w holds. */
#define DS_SLOT_OF(state, w) ((uint32_t)(state) | ((uint32_t)(w) << 8))

/* What a slot is for. */
enum { DS_DO_EVALUATE = 0, DS_DO_STEP = 1, DS_DO_BACK = 2 };

/* What to do for a row. */
typedef struct ds_slot_request {
    uint32_t what;    /* DS_DO_* */
    uint32_t want;    /* DS_WANT_* */
    uint32_t keep;    /* DS_KEEP_*, with DS_WANT_SCENE */
    uint32_t queries; /* number of queries, see ds_slot_queries() */
    uint64_t noise_key;
    /* STEP: lane of the worker, and number of the step, 0 = the beginning; BACK: the step to go back over,
     * and the steps taken */
    uint64_t lane, step, taken;
    uint64_t rows;  /* of the same call, from this slot on; 0 or 1: only this one */
    uint64_t alone; /* nonzero = not in one call with other slots */
} ds_slot_request;

typedef struct ds_slot {
    alignas(64) atomic_uint state; /* DS_SLOT_*, with the worker in the upper bits */
    ds_slot_request request;
    ds_answer answer;
    /* followed by x[n] and grad[n]; with channels by a ds_query_layout and the numbers that queries read and
     * return; then by extra[] */
} ds_slot;

/* The tickets that one worker holds: next..end-1. Outlives the process, so that its successor finishes them.
 */
typedef struct ds_ring_worker {
    alignas(64) atomic_ullong next;
    atomic_ullong end;
    atomic_ullong started; /* ds_clock_ns() at the start of the evaluation; 0 = none runs */
    atomic_uint many;      /* how many slots it may evaluate at once; 0 = one */
} ds_ring_worker;

/* Sizes and offsets. */
typedef struct ds_ring_layout {
    uint64_t size;     /* bytes of the whole */
    uint64_t n;        /* decision variables */
    uint64_t in, out;  /* room for queries: doubles, and words of 8 bytes */
    uint64_t capacity; /* slots */
    uint64_t stride;   /* bytes per slot */
    uint64_t extra;    /* doubles at the end of each slot */
    uint64_t first;    /* offset of slot 0 */
    uint32_t workers;
    uint32_t spin_ns; /* how long an idle worker spins before it sleeps, at most */
    uint32_t watched; /* there is a time limit: publish when evaluations start */
    uint32_t reserved;
} ds_ring_layout;

/* The beginning of the shared memory. */
typedef struct ds_ring_head {
    uint64_t magic;
    ds_ring_layout layout;            /* for workers that join */
    alignas(64) atomic_ullong posted; /* tickets below this one are posted */
    atomic_uint work;                 /* futex: changes with every post */
    atomic_uint sleepers;             /* workers that sleep on `work` (or died there) */
    alignas(64) atomic_ullong taken;  /* tickets below this one are taken */
    alignas(64) atomic_uint done;     /* futex: number of finished slots, modulo 2^32 */
    atomic_uint wake_at;              /* the host wants to be woken at this value of `done` */
    atomic_uint waiting;              /* the host sleeps on `done` */
    alignas(64) atomic_int stop;      /* nonzero = finish quickly: rows end as stopped */
    atomic_int quit;                  /* nonzero = the workers end */
    ds_ring_worker worker[];
} ds_ring_head;

/* One side's own view of it. */
typedef struct ds_ring {
    ds_ring_layout at;
    ds_ring_head *head;
    /* Only used by the host: what it has written, and which slots it posted alone after a death. */
    atomic_ullong posted;
    atomic_int stopped, ended;
    atomic_uchar *alone;
} ds_ring;

/* The size of a ring. */
typedef struct ds_ring_plan {
    uint32_t workers;
    uint64_t n;        /* variables */
    uint64_t in, out;  /* room for queries; 0 = none */
    uint64_t capacity; /* slots; 0 = choose */
    uint64_t extra;    /* doubles at the end of each slot */
    uint64_t rows;     /* for one call of a worker; 0 = 1 */
    int watched;       /* there is a time limit */
} ds_ring_plan;

/* Host: sizes a memory file for a ring, seals it and maps it. */
int ds_ring_make(int fd, const ds_ring_plan *plan, ds_ring *out, ds_error *e);

/* Worker: maps it; -1 without memory, DS_RING_CORRUPT where it is not a ring for worker number `index`. */
enum { DS_RING_CORRUPT = 1 };
int ds_ring_join(int fd, uint32_t index, ds_ring *out);

/* Accepts a ring that was not made or joined (all zero). */
void ds_ring_close(ds_ring *s);

static inline ds_slot *ds_ring_slot(const ds_ring *s, uint64_t ticket)
{
    return (ds_slot *)(void *)((unsigned char *)s->head + s->at.first +
                               (ticket % s->at.capacity) * s->at.stride);
}

static inline double *ds_slot_x(ds_slot *slot)
{
    return (double *)(void *)(slot + 1);
}

static inline double *ds_slot_grad(const ds_ring *s, ds_slot *slot)
{
    return ds_slot_x(slot) + s->at.n;
}

/* The queries, the numbers they read, and the numbers they return. */
static inline ds_query_layout *ds_slot_queries(const ds_ring *s, ds_slot *slot)
{
    return (ds_query_layout *)(void *)(ds_slot_x(slot) + 2 * s->at.n);
}

static inline double *ds_slot_in(const ds_ring *s, ds_slot *slot)
{
    return (double *)(void *)(ds_slot_queries(s, slot) + 1);
}

static inline double *ds_slot_out(const ds_ring *s, ds_slot *slot)
{
    return ds_slot_in(s, slot) + s->at.in;
}

/* The end of a slot. A step returns there its reward, how the episode ended (DS_STEPS_*), and its
 * observation. A step backwards gets there the adjoints of reward and observation, and returns in the place
 * of the end whether the episode existed (DS_SLOT_*); the adjoint of the action replaces the gradient. */
enum { DS_SLOT_REWARD = 0, DS_SLOT_ENDED = 1, DS_SLOT_STEP_HEAD = 2 };
enum { DS_SLOT_UNKNOWN = 0, DS_SLOT_BACK = -1, DS_SLOT_LOST = -2 };

static inline double *ds_slot_extra(const ds_ring *s, ds_slot *slot)
{
    return (double *)(void *)((unsigned char *)slot + s->at.stride) - s->at.extra;
}

/* Writes a request with the first `numbers` numbers of x into the slot of a ticket. */
ds_slot *ds_ring_fill(ds_ring *s, uint64_t ticket, const ds_slot_request *request, const double *x,
                      uint64_t numbers);

/* Tickets below this one are posted, according to the host. */
static inline uint64_t ds_ring_posted(const ds_ring *s)
{
    return atomic_load_explicit(&s->posted, memory_order_relaxed);
}

/* Makes a filled slot available once its ticket is published. */
static inline void ds_slot_post(ds_slot *slot)
{
    atomic_store_explicit(&slot->state, DS_SLOT_POSTED, memory_order_release);
}

/* Publishes all tickets below this one, and wakes workers. */
void ds_ring_publish(ds_ring *s, uint64_t ticket);

/* Host: publishes the posted slots again, so that workers check the slots from this ticket on. */
void ds_ring_publish_again(ds_ring *s, uint64_t ticket);

/* Host: asks workers to stop quickly; to end. */
void ds_ring_stop(ds_ring *s);
void ds_ring_end(ds_ring *s);

/* Host: is everything outside of the slots something that host and workers can have written? */
int ds_ring_sound(const ds_ring *s);

/* Does this slot hold a result? */
int ds_slot_done(const void *slot);

/* Host: takes the result for the request that ds_ring_fill() wrote. Makes harmless what a stray write may
 * have left; refuses the result where the request has changed. */
void ds_slot_answer(const ds_slot *slot, const ds_slot_request *request, const double *x, uint64_t numbers,
                    ds_answer *out);

/* Counts a slot that is DONE, and wakes the host if it waits for it. */
void ds_ring_finished(ds_ring *s);

/* Sleeps while *word == value, at most `ns` nanoseconds; works across processes. */
void ds_futex_wait(atomic_uint *word, uint32_t value, uint64_t ns);
void ds_futex_wake(atomic_uint *word, int count);

/* An adaptive short busy wait: grows while waiting succeeds and shrinks while it does not. */
typedef struct ds_spin {
    uint32_t limit_ns, max_ns;
} ds_spin;

static inline void ds_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until `ready(ctx)`; 1 = ready, 0 = time to sleep. */
int ds_spin_until(ds_spin *spin, int (*ready)(const void *ctx), const void *ctx);

#endif
