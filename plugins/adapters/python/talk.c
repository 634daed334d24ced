/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c - see talk.h. */
#include "adapters/python/talk.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPIN_NS = 30000,
    RETRY = 64, /* waits between two tries to spin again */
    ROOM_LEAST = 1 << 16
};

_Static_assert(sizeof(talk_head) <= TALK_HEAD, "the head has room for the struct");

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t time_to_spin(void)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    const int known = sched_getaffinity(0, sizeof mine, &mine) == 0;
    return (known ? CPU_COUNT(&mine) : 1) > 1 ? SPIN_NS : 0;
}

/* A file in memory. A program that has closed its standard streams gets their numbers for it first. */
static int memory_file(void)
{
    const int first = memfd_create("diffsim-python", MFD_CLOEXEC);
    if (first < 0 || first >= TALK_FD_LEAST) {
        return first;
    }
    const int fd = fcntl(first, F_DUPFD_CLOEXEC, TALK_FD_LEAST);
    close(first);
    return fd;
}

int talk_open(talk *t)
{
    *t = (talk){.fd = memory_file()};
    if (t->fd < 0) {
        return -1;
    }
    void *at = ftruncate(t->fd, TALK_HEAD) == 0
                   ? mmap(NULL, TALK_HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) {
        close(t->fd);
        t->fd = -1;
        return -1;
    }
    t->head = at;
    t->head->version = TALK_VERSION;
    t->head->turn = TALK_PYTHON;
    t->head->spin_ns = time_to_spin();
    if (talk_grow(t, ROOM_LEAST) != 0) {
        talk_close(t);
        return -1;
    }
    return 0;
}

void talk_close(talk *t)
{
    if (t->room != NULL) {
        munmap(t->room, t->mapped);
    }
    if (t->head != NULL) {
        munmap(t->head, TALK_HEAD);
        if (t->fd >= 0) {
            close(t->fd);
        }
    }
    *t = (talk){.fd = -1};
}

int talk_grow(talk *t, uint64_t bytes)
{
    if (bytes <= t->mapped) {
        return 0;
    }
    if (bytes < 2 * t->mapped) {
        bytes = 2 * t->mapped;
    }
    bytes = (bytes + TALK_HEAD - 1) / TALK_HEAD * TALK_HEAD;
    void *room = ftruncate(t->fd, (off_t)(TALK_HEAD + bytes)) == 0
                     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, TALK_HEAD)
                     : MAP_FAILED;
    if (room == MAP_FAILED) {
        return -1;
    }
    if (t->room != NULL) {
        munmap(t->room, t->mapped);
    }
    t->room = room;
    t->mapped = t->head->room = bytes;
    return 0;
}

/* ---- turns ---- */

/* How long a side looks for its turn before it sleeps: to sleep and to be woken takes some 10 us, which is
 * longer than a cheap loss. Where that does not help, because the other side has no processor or much to do,
 * it is given up, and tried again now and then. */
static int spin(talk_head *h, uint32_t side)
{
    const uint64_t limit = h->waits[side]++ % RETRY == 0 ? h->spin_ns : h->spin_now[side];
    const uint64_t begin = limit > 0 ? now_ns() : 0;
    while (limit > 0 && now_ns() - begin < limit) {
        if (atomic_load(&h->turn) == side) {
            h->spin_now[side] = limit + limit / 2 < h->spin_ns ? limit + limit / 2 : h->spin_ns;
            return 1;
        }
    }
    h->spin_now[side] = limit / 4;
    return 0;
}

static int await(talk_head *h, uint32_t side, int ms)
{
    const struct timespec limit = {ms / 1000, 1000000L * (ms % 1000)};
    if (atomic_load(&h->turn) == side || spin(h, side)) {
        return 1;
    }
    atomic_store(&h->asleep[side], 1);
    if (atomic_load(&h->turn) !=
        side) { /* a wake-up without cause makes a shorter wait, which does no harm */
        syscall(SYS_futex, &h->turn, FUTEX_WAIT, side ^ 1u, &limit, NULL, 0);
    }
    atomic_store(&h->asleep[side], 0);
    return atomic_load(&h->turn) == side;
}

static void pass(talk_head *h, uint32_t to)
{
    atomic_store(&h->turn, to);
    if (atomic_load(&h->asleep[to]) != 0) {
        syscall(SYS_futex, &h->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

int talk_await(talk *t, int ms)
{
    return await(t->head, TALK_HOST, ms);
}

void talk_pass(talk *t)
{
    pass(t->head, TALK_PYTHON);
}

int ds_python_await(talk_head *head)
{
    return await(head, TALK_PYTHON, 1000);
}

void ds_python_pass(talk_head *head)
{
    pass(head, TALK_HOST);
}
