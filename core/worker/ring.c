/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - layout of the shared memory, futexes and spinning. */
#include "config.h"

#include "worker/ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    SLOT_BYTES = 32 << 20, /* memory of all slots, unless single ones are larger */
    CAPACITY_MAX = 1024,
    SPIN_NS = 40000 /* longest busy wait of a worker */
};

static uint64_t round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* Fills the layout fields of *head for a number of slots; returns the bytes of the whole. */
static uint64_t lay_out(ds_ring *head, const ds_ring_plan *plan, uint64_t capacity)
{
    uint64_t n = plan->n, room = plan->in + plan->out;
    uint64_t more = room == 0 ? 0 : sizeof(ds_asks) / sizeof(double) + room;
    head->n = n;
    head->in = plan->in;
    head->out = plan->out;
    head->workers = plan->workers;
    head->capacity = capacity;
    head->extra = plan->extra;
    head->stride = round_up(sizeof(ds_slot) + (2 * n + more + head->extra) * sizeof(double), 64);
    head->first = round_up(sizeof(ds_ring) + plan->workers * sizeof(ds_ring_worker), 4096);
    head->size = head->first + capacity * head->stride;
    return head->size;
}

static uint64_t choose_capacity(ds_ring *head, const ds_ring_plan *plan)
{
    uint64_t least = 2 * plan->workers;
    lay_out(head, plan, 1);
    uint64_t capacity = SLOT_BYTES / head->stride;
    capacity = capacity < least ? least : capacity;
    return capacity > CAPACITY_MAX && capacity > 2 * least ? CAPACITY_MAX : capacity;
}

int ds_ring_make(int fd, const ds_ring_plan *plan, ds_ring **out, ds_error *e)
{
    ds_ring head;
    memset(&head, 0, sizeof(head));
    uint64_t capacity = plan->capacity != 0 ? plan->capacity : choose_capacity(&head, plan);
    uint64_t size = lay_out(&head, plan, capacity);
    int code;
    /* Limits of file sizes hold for memory files, too: fewer slots do as well. */
    while ((code = ftruncate(fd, (off_t)size) != 0 ? errno : 0) == EFBIG && capacity > 2 * plan->workers) {
        capacity /= 2;
        size = lay_out(&head, plan, capacity);
    }
    ds_ring *s = code == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (s == MAP_FAILED) {
        code = code != 0 ? code : errno;
        return ds_fail(e, code == EFBIG ? DS_EXIT_IO : DS_EXIT_MEMORY,
                       "no %llu bytes of shared memory for the workers: %s%s", (unsigned long long)size,
                       strerror(code), code == EFBIG ? "; the file size limit (ulimit -f) is too small" : "");
    }
    memcpy(s, &head, sizeof(head));
    s->watched = plan->watched != 0;
    s->spin_ns = plan->workers <= ds_processors() ? SPIN_NS : 0;
    s->magic = DS_RING_MAGIC;
    *out = s;
    return 0;
}

ds_slot *ds_ring_fill(ds_ring *s, uint64_t ticket, const ds_slot_ask *ask, const double *x, uint64_t numbers)
{
    ds_slot *slot = ds_ring_slot(s, ticket);
    slot->ask = *ask;
    memcpy(ds_slot_x(slot), x, numbers * sizeof(double));
    return slot;
}

void ds_ring_publish(ds_ring *s, uint64_t ticket)
{
    uint64_t fresh = ticket - atomic_load_explicit(&s->posted, memory_order_relaxed);
    if (fresh == 0) {
        return;
    }
    atomic_store(&s->posted, ticket);
    atomic_fetch_add(&s->work, 1);
    uint32_t sleepers = atomic_load(&s->sleepers);
    if (sleepers > 0) {
        ds_futex_wake(&s->work, (int)(fresh < sleepers ? fresh : sleepers));
    }
}

int ds_slot_done(const void *slot)
{
    return atomic_load_explicit(&((const ds_slot *)slot)->state, memory_order_acquire) == DS_SLOT_DONE;
}

void ds_slot_tidy(ds_slot *slot)
{
    ds_answer *a = &slot->answer;
    a->message[sizeof(a->message) - 1] = '\0';
    if (a->outcome > DS_EVAL_ERROR || (a->outcome <= DS_EVAL_BAD_GRAD && !isfinite(a->loss))) {
        a->outcome = DS_EVAL_INVALID;
    }
    if (a->outcome > DS_EVAL_BAD_GRAD) {
        a->loss = INFINITY;
    }
}

void ds_ring_finished(ds_ring *s)
{
    uint32_t now = atomic_fetch_add(&s->done, 1) + 1;
    if (atomic_load(&s->waiting) != 0 && (int32_t)(now - atomic_load(&s->wake_at)) >= 0 &&
        atomic_exchange(&s->waiting, 0) != 0) {
        ds_futex_wake(&s->done, 1);
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
