/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - the ring of slots in shared memory, futexes and spinning. */
#include "config.h"

#include "worker/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum {
    SLOT_BYTES = 64 << 20, /* memory of all slots, unless single slots are larger */
    CAPACITY_MAX = 1024,
    NEAR_BYTES = 1 << 20, /* memory of all slots that is used again and again, with CALLS_WAITING calls */
    CALLS_WAITING = 4,    /* of each worker: it takes the next one while the host reads results */
    LINE = 64,            /* bytes of a cache line */
    SPIN_NS = 40000       /* longest busy wait of a worker */
};

static uint64_t round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* Fills *head for a number of slots; returns the bytes of the whole. */
static uint64_t lay_out(ds_ring_layout *head, const ds_ring_plan *plan, uint64_t capacity)
{
    const uint64_t n = plan->n, room = plan->in + plan->out;
    const uint64_t queries = room == 0 ? 0 : sizeof(ds_query_layout) + room * sizeof(double);
    head->n = n;
    head->in = plan->in;
    head->out = plan->out;
    head->workers = plan->workers;
    head->capacity = capacity;
    head->mask = (capacity & (capacity - 1)) == 0 ? capacity - 1 : 0;
    head->extra = plan->extra;
    head->x = round_up(queries + plan->extra * sizeof(double), LINE);
    head->slot = head->x + 2 * n * sizeof(double);
    head->stride = round_up(head->slot + sizeof(ds_slot), LINE);
    head->first = round_up(sizeof(ds_ring_head) + plan->workers * sizeof(ds_ring_worker), 4096) + head->slot;
    head->size = head->first - head->slot + capacity * head->stride;
    return head->size;
}

static uint64_t choose_capacity(ds_ring_layout *head, const ds_ring_plan *plan)
{
    const uint64_t least = 2 * plan->workers, calls = plan->workers * plan->rows;
    const uint64_t most = calls > CAPACITY_MAX ? calls : CAPACITY_MAX;
    lay_out(head, plan, 1);
    uint64_t capacity = SLOT_BYTES / head->stride, near = 1;
    capacity = capacity < least ? least : capacity;
    capacity = capacity > most && capacity > 2 * least ? most : capacity;
    while (near < CALLS_WAITING * calls || 2 * near * head->stride <= NEAR_BYTES) {
        near *= 2;
    }
    return near < capacity ? near : capacity;
}

/* Access to a file that was truncated would end the process with SIGBUS: seal its size, and forbid further
 * seals. */
static int seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ? errno : 0;
}

int ds_ring_make(int fd, const ds_ring_plan *plan, ds_ring *out, ds_error *e)
{
    ds_ring_layout at;
    memset(&at, 0, sizeof(at));
    memset(out, 0, sizeof(*out));
    uint64_t capacity = plan->capacity != 0 ? plan->capacity : choose_capacity(&at, plan);
    uint64_t size = lay_out(&at, plan, capacity);
    /* Drops what a plugin may have written before: a new page is zero, and is taken when a slot is used. */
    int code = ftruncate(fd, 0) != 0 ? errno : 0;
    if (code != 0) {
        return ds_fail(e, DS_EXIT_MEMORY, "cannot clear the shared memory of the workers: %s",
                       strerror(code));
    }
    /* File size limits hold for memory files too: use fewer slots. */
    while ((code = ftruncate(fd, (off_t)size) != 0 ? errno : 0) == EFBIG && capacity > 2 * plan->workers) {
        capacity /= 2;
        size = lay_out(&at, plan, capacity);
    }
    code = code != 0 ? code : seal(fd);
    ds_ring_head *s = code == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    out->alone = calloc(capacity, sizeof(*out->alone));
    if (s == MAP_FAILED || out->alone == NULL) {
        code = code != 0 ? code : errno;
        out->head = s == MAP_FAILED ? NULL : s;
        out->at.size = size;
        ds_ring_close(out);
        return ds_fail(e, code == EFBIG ? DS_EXIT_IO : DS_EXIT_MEMORY,
                       "no %llu bytes of shared memory for the workers: %s%s", (unsigned long long)size,
                       strerror(code), code == EFBIG ? "; the file size limit (ulimit -f) is too small" : "");
    }
    at.watched = plan->watched != 0;
    at.spin_ns = ds_processors() > 1 && plan->workers <= ds_processors() ? SPIN_NS : 0;
    s->layout = at;
    s->magic = DS_RING_MAGIC;
    out->at = at;
    out->head = s;
    return 0;
}

int ds_ring_join(int fd, uint32_t index, ds_ring *out)
{
    off_t size = lseek(fd, 0, SEEK_END);
    memset(out, 0, sizeof(*out));
    void *map = size <= (off_t)sizeof(ds_ring_head)
                    ? MAP_FAILED
                    : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    out->head = map;
    out->at = out->head->layout;
    const ds_ring_layout *at = &out->at;
    if (out->head->magic == DS_RING_MAGIC && at->size == (uint64_t)size && index < at->workers &&
        at->capacity > 0 && at->stride > 0 && at->slot < at->stride && at->slot < at->first &&
        at->first < at->size && at->capacity <= (at->size - at->first + at->slot) / at->stride &&
        (at->mask == 0 || at->mask == at->capacity - 1)) {
        return 0;
    }
    munmap(map, (size_t)size);
    out->head = NULL;
    return DS_RING_CORRUPT;
}

void ds_ring_close(ds_ring *s)
{
    if (s->head != NULL) {
        munmap(s->head, s->at.size);
    }
    free(s->alone);
    s->head = NULL;
    s->alone = NULL;
}

ds_slot *ds_ring_fill(ds_ring *s, uint64_t ticket, const ds_slot_request *request, const ds_slot_steps *steps,
                      const double *x, uint64_t numbers)
{
    ds_slot *slot = ds_ring_slot(s, ticket);
    slot->alone = 0;
    slot->request = *request;
    slot->answer.outcome = DS_EVAL_OUTCOMES; /* no result yet: marks a slot that no worker evaluated */
    if (steps != NULL) {
        slot->steps = *steps;
    }
    memcpy(ds_slot_x(s, slot), x, numbers * sizeof(double));
    atomic_store_explicit(&s->alone[ds_ring_index(s, ticket)], 0, memory_order_relaxed);
    return slot;
}

static void wake_workers(ds_ring_head *h, uint64_t most)
{
    atomic_fetch_add(&h->work, 1);
    uint32_t sleepers = atomic_load(&h->sleepers);
    if (sleepers > 0) {
        ds_futex_wake(&h->work, (int)(most < sleepers ? most : sleepers));
    }
}

void ds_ring_publish(ds_ring *s, uint64_t ticket)
{
    uint64_t fresh = ticket - ds_ring_posted(s);
    if (fresh == 0) {
        return;
    }
    atomic_store_explicit(&s->posted, ticket, memory_order_relaxed);
    atomic_store(&s->head->posted, ticket);
    wake_workers(s->head, fresh);
}

void ds_ring_publish_again(ds_ring *s, uint64_t ticket)
{
    ds_ring_head *h = s->head;
    unsigned long long taken = atomic_load(&h->taken);
    while (taken > ticket && !atomic_compare_exchange_weak(&h->taken, &taken, ticket)) {
    }
    atomic_fetch_add(&h->work, 1);
    ds_futex_wake(&h->work, INT_MAX);
}

void ds_ring_stop(ds_ring *s)
{
    atomic_store(&s->stopped, 1);
    atomic_store(&s->head->stop, 1);
}

void ds_ring_end(ds_ring *s)
{
    ds_ring_stop(s);
    atomic_store(&s->ended, 1);
    atomic_store(&s->head->quit, 1);
    atomic_fetch_add(&s->head->work, 1);
    ds_futex_wake(&s->head->work, INT_MAX);
}

int ds_ring_sound(const ds_ring *s)
{
    const ds_ring_head *h = s->head;
    /* Read in this order: `taken` grows towards what was posted. */
    const uint64_t taken = atomic_load(&h->taken), posted = ds_ring_posted(s), seen = atomic_load(&h->posted);
    return h->magic == DS_RING_MAGIC && memcmp(&h->layout, &s->at, sizeof(s->at)) == 0 && seen == posted &&
           taken <= posted && posted - taken <= s->at.capacity &&
           atomic_load(&h->stop) == atomic_load(&s->stopped) &&
           atomic_load(&h->quit) == atomic_load(&s->ended);
}

int ds_slot_done(const void *slot)
{
    return atomic_load_explicit(&((const ds_slot *)slot)->state, memory_order_acquire) == DS_SLOT_DONE;
}

/* Marks a row without result. */
static void fail_row(ds_answer *a, const char *text)
{
    *a = (ds_answer){.loss = INFINITY, .outcome = DS_EVAL_INVALID, .bad_step = -1, .wall_s = a->wall_s};
    snprintf(a->message, sizeof(a->message), "%s", text);
}

static void tidy(ds_answer *a)
{
    a->cost_steps = ds_cost_sum(a->cost_steps, 0);
    if (!(a->wall_s >= 0.0 && a->wall_s < 1e9)) {
        a->wall_s = 0.0;
    }
    a->grad_kind = a->grad_kind <= DS_GRAD_SMOOTHED ? a->grad_kind : DS_GRAD_SMOOTHED;
    a->product_kind = a->product_kind <= DS_GRAD_SMOOTHED ? a->product_kind : DS_GRAD_SMOOTHED;
    if (a->outcome > DS_EVAL_ERROR || (a->outcome <= DS_EVAL_BAD_GRAD && !isfinite(a->loss))) {
        fail_row(a, "the result of its process is impossible: its memory was overwritten");
    }
    if (a->outcome > DS_EVAL_BAD_GRAD) {
        a->loss = INFINITY;
        a->grad_kind = DS_GRAD_NONE;
    }
    if (a->message[0] != '\0') {
        ds_text_clean(a->message);
    }
}

/* Ignores `rows`, which decides nothing once a row is evaluated. */
static int same_request(const ds_slot_request *a, const ds_slot_request *b)
{
    return a->what == b->what && a->want == b->want && a->keep == b->keep && a->noise_key == b->noise_key &&
           a->queries == b->queries;
}

static int same_steps(const ds_slot_steps *a, const ds_slot_steps *b)
{
    return a->lane == b->lane && a->step == b->step && a->taken == b->taken;
}

void ds_slot_answer(const ds_ring *s, const ds_slot *slot, const ds_slot_request *request,
                    const ds_slot_steps *steps, const double *x, uint64_t numbers, ds_answer *out)
{
    enum { BEFORE_MESSAGE = offsetof(ds_answer, message) };
    memcpy(out, &slot->answer, BEFORE_MESSAGE);
    out->message[0] = '\0';
    if (slot->answer.message[0] != '\0') { /* rare, and some cache lines */
        memcpy(out->message, slot->answer.message, sizeof out->message);
        out->message[sizeof out->message - 1] = '\0';
    }
    tidy(out);
    if (!same_request(&slot->request, request) || (steps != NULL && !same_steps(&slot->steps, steps)) ||
        memcmp(ds_slot_x(s, slot), x, numbers * sizeof(double)) != 0) {
        fail_row(out, "its request was overwritten in the memory of the workers");
    }
}

void ds_ring_finished(ds_ring *s, uint32_t count)
{
    ds_ring_head *h = s->head;
    uint32_t now = atomic_fetch_add(&h->done, count) + count;
    if (atomic_load(&h->waiting) != 0 && (int32_t)(now - atomic_load(&h->wake_at)) >= 0 &&
        atomic_exchange(&h->waiting, 0) != 0) {
        ds_futex_wake(&h->done, 1);
    }
}

void ds_futex_wait(atomic_uint *word, uint32_t value, uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

void ds_futex_wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

enum { SPIN_MIN_NS = 500 };

int ds_spin_until(ds_spin *spin, int (*ready)(const void *ctx), const void *ctx)
{
    if (ready(ctx)) {
        return 1;
    }
    if (spin->max_ns == 0) {
        return 0;
    }
    uint64_t start = ds_clock_ns();
    do {
        for (int i = 0; i < 32; i++) {
            ds_pause();
            if (ready(ctx)) {
                uint32_t longer = 2 * spin->limit_ns;
                spin->limit_ns = longer > spin->max_ns ? spin->max_ns : longer;
                return 1;
            }
        }
    } while (ds_clock_ns() - start < spin->limit_ns);
    spin->limit_ns = spin->limit_ns / 2 > SPIN_MIN_NS ? spin->limit_ns / 2 : SPIN_MIN_NS;
    return 0;
}
