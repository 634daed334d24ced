/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - the memory that the host and its workers share: a ring of slots, one per row, and how they wait.
 *
 * The host posts rows in the order of their tickets 0, 1, 2, ...; ticket t lies in slot t % capacity. Workers
 * take tickets, several at once when evaluations are cheap. The states of a slot:
 *
 *     FREE -(host)-> POSTED -(worker w)-> RUNNING|w -(worker w)-> DONE -(host)-> FREE
 *                                            `-(host, time limit)-> KILLED|w -(host, after its death)-> DONE
 *
 * Each step is one atomic change of that word, so that no evaluation is lost or done twice, wherever a worker
 * dies: its successor checks all tickets that were taken, and skips those that others hold. A step is a
 * compare-and-swap where another process may be after the same slot: another worker, or a host that keeps a
 * time limit. A lone worker seizes slots, and a worker without time limit releases them, with a plain store.
 *
 * A worker releases the rows of a call one by one, then counts them in `done` at once, and wakes the host at
 * most once. So `done` may lag behind the slots, and the host goes by the slots; it sleeps at most until the
 * number of results in `done` has grown by as many as are still missing. If the worker dies before it has
 * counted, the host adds what its `many` tells. A count that is too high wakes the host too often; one that
 * is too low would let it sleep too long.
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

#define DS_RING_MAGIC 0x33304b524f574453u /* "SDWORK03" */

enum { DS_SLOT_FREE = 0, DS_SLOT_POSTED = 1, DS_SLOT_RUNNING = 2, DS_SLOT_DONE = 3, DS_SLOT_KILLED = 4 };

/* First byte of a scene file that holds "STATUS REASON" instead of a scene. */
#define DS_SCENE_REFUSED '!'

/* State of a slot that worker w holds. */
#define DS_SLOT_OF(state, w) ((uint32_t)(state) | ((uint32_t)(w) << 8))

/* What a slot is for. */
enum { DS_DO_EVALUATE = 0, DS_DO_STEP = 1, DS_DO_BACK = 2 };

/* What to do for a row. */
typedef struct ds_slot_request {
    uint64_t noise_key;
    uint32_t what;    /* DS_DO_* */
    uint32_t want;    /* DS_WANT_* */
    uint32_t keep;    /* DS_KEEP_*, with DS_WANT_SCENE */
    uint32_t queries; /* number of queries, see ds_slot_queries() */
    uint32_t rows;    /* of the same call, from this slot on; 0 or 1: only this one */
    uint32_t reserved;
} ds_slot_request;

/* More about a row of stepwise control. STEP: lane of the worker, and number of the step, 0 = the beginning;
 * BACK: the step to go back over, and the steps taken. */
typedef struct ds_slot_steps {
    uint64_t lane, step, taken;
} ds_slot_steps;

/* What both sides need of a slot in every evaluation is together: a cache line that host and worker write in
 * turn costs them as much as a cheap evaluation. A slot is
 *
 *     [ds_query_layout, in[], out[]] [extra[]] x[n] grad[n] ds_slot
 *
 * where x begins a cache line. With two variables x, the gradient and the request fill one line, and state,
 * answer and the first characters of the message the next: without a gradient a worker writes to that one
 * alone. Only environments with channels have what is in the first brackets, and only stepwise control has
 * extra[]. */
typedef struct ds_slot {
    ds_slot_request request;
    atomic_uint state; /* DS_SLOT_*, with the worker in the upper bits */
    uint32_t alone;    /* nonzero = not in one call with other slots; the host sets it after a death */
    ds_answer answer;
    ds_slot_steps steps; /* not with DS_DO_EVALUATE */
} ds_slot;

/* The tickets that one worker holds: next..end-1. Outlives the process, so that its successor finishes them.
 */
typedef struct ds_ring_worker {
    alignas(64) atomic_ullong next;
    atomic_ullong end;
    atomic_ullong started; /* ds_clock_ns() at the start of the evaluation; 0 = none runs */
    atomic_uint many;      /* how many slots it holds at most; 0 = one */
} ds_ring_worker;

/* Sizes and offsets. */
typedef struct ds_ring_layout {
    uint64_t size;     /* bytes of the whole */
    uint64_t n;        /* decision variables */
    uint64_t in, out;  /* room for queries: doubles, and words of 8 bytes */
    uint64_t capacity; /* slots */
    uint64_t mask;     /* capacity - 1 if that is a power of two, else 0 */
    uint64_t stride;   /* bytes per slot */
    uint64_t extra;    /* doubles of stepwise control in each slot */
    uint64_t x;        /* offset of x in a slot */
    uint64_t slot;     /* offset of ds_slot in a slot */
    uint64_t first;    /* offset of the ds_slot of slot 0 */
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
    atomic_uint sleepers;             /* workers that sleep on `work` (or ended there) */
    alignas(64) atomic_ullong taken;  /* tickets below this one are taken */
    alignas(64) atomic_uint done;     /* futex: number of finished slots, modulo 2^32 */
    atomic_uint wake_at;              /* value of `done` at which the host is woken */
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
    uint64_t extra;    /* doubles of stepwise control in each slot */
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

/* Number of the slot of a ticket: a division takes as long as the rest of what is done for a row. */
static inline uint64_t ds_ring_index(const ds_ring *s, uint64_t ticket)
{
    return s->at.mask != 0 ? ticket & s->at.mask : ticket % s->at.capacity;
}

static inline ds_slot *ds_ring_slot(const ds_ring *s, uint64_t ticket)
{
    return (ds_slot *)(void *)((unsigned char *)s->head + s->at.first +
                               ds_ring_index(s, ticket) * s->at.stride);
}

static inline double *ds_slot_grad(const ds_ring *s, const ds_slot *slot)
{
    return (double *)(uintptr_t)slot - s->at.n;
}

static inline double *ds_slot_x(const ds_ring *s, const ds_slot *slot);

/* Asks for the lines of a slot that will be used soon: another core wrote them last, and fetching them takes
 * longer than the rest of a cheap row. */
static inline void ds_ring_fetch(const ds_ring *s, uint64_t ticket)
{
    const ds_slot *slot = ds_ring_slot(s, ticket);
    __builtin_prefetch(ds_slot_x(s, slot), 1);
    __builtin_prefetch((const unsigned char *)slot + offsetof(ds_slot, state), 1);
}

static inline double *ds_slot_x(const ds_ring *s, const ds_slot *slot)
{
    return ds_slot_grad(s, slot) - s->at.n;
}

/* The queries, the numbers they read, and the numbers they return. */
static inline ds_query_layout *ds_slot_queries(const ds_ring *s, ds_slot *slot)
{
    return (ds_query_layout *)(void *)((unsigned char *)slot - s->at.slot);
}

static inline double *ds_slot_in(const ds_ring *s, ds_slot *slot)
{
    return (double *)(void *)(ds_slot_queries(s, slot) + 1);
}

static inline double *ds_slot_out(const ds_ring *s, ds_slot *slot)
{
    return ds_slot_in(s, slot) + s->at.in;
}

/* More numbers of a slot. A step returns there its reward, how the episode ended (DS_STEPS_*), and its
 * observation. A step backwards gets there the adjoints of reward and observation, and returns in the place
 * of the end whether the episode existed (DS_SLOT_*); the adjoint of the action replaces the gradient. */
enum { DS_SLOT_REWARD = 0, DS_SLOT_ENDED = 1, DS_SLOT_STEP_HEAD = 2 };
enum { DS_SLOT_UNKNOWN = 0, DS_SLOT_BACK = -1, DS_SLOT_LOST = -2 };

static inline double *ds_slot_extra(const ds_ring *s, ds_slot *slot)
{
    return ds_slot_x(s, slot) - s->at.extra;
}

/* Writes a request with the first `numbers` numbers of x into the slot of a ticket. `steps` is NULL with
 * DS_DO_EVALUATE. */
ds_slot *ds_ring_fill(ds_ring *s, uint64_t ticket, const ds_slot_request *request, const ds_slot_steps *steps,
                      const double *x, uint64_t numbers);

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

/* Host: requests that workers stop soon; that they end. */
void ds_ring_stop(ds_ring *s);
void ds_ring_end(ds_ring *s);

/* Host: is everything outside of the slots something that host and workers can have written? */
int ds_ring_sound(const ds_ring *s);

/* Does this slot hold a result? */
int ds_slot_done(const void *slot);

/* Host: takes the result for the request that ds_ring_fill() wrote. Makes harmless what a stray write may
 * have left; refuses the result where the request has changed. Leaves behind an empty message in `out` what
 * was there. */
void ds_slot_answer(const ds_ring *s, const ds_slot *slot, const ds_slot_request *request,
                    const ds_slot_steps *steps, const double *x, uint64_t numbers, ds_answer *out);

/* Counts slots that are DONE, and wakes the host if it waits for them. */
void ds_ring_finished(ds_ring *s, uint32_t count);

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
