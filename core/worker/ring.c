/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - layout of the shared memory, futexes and spinning. */
#include "config.h"

#include "worker/ring.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

uint64_t ds_ring_layout(ds_ring *head, uint32_t workers, uint64_t capacity, uint64_t n, uint64_t m)
{
    uint64_t more = m == 0 ? 0 : 2 * (n > m ? n : m);
    head->n = n;
    head->m = m;
    head->workers = workers;
    head->capacity = capacity;
    head->stride = round_up(sizeof(ds_slot) + (2 * n + more + head->extra) * sizeof(double), 64);
    head->first = round_up(sizeof(ds_ring) + workers * sizeof(ds_ring_worker), 4096);
    head->size = head->first + capacity * head->stride;
    return head->size;
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
