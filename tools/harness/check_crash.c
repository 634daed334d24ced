/* SPDX-License-Identifier: Apache-2.0 */
/* check_crash.c - reports which buffer was overrun, and which evaluations were in progress, when a plugin
 * crashes. */
#include "config.h"

#include "harness/check_crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* State of the signal handler, set once in a process that runs one test. */
static struct {
    const ds_check_buffer *buffers;
    size_t count;
    const char *who;
    int fd;
} watched;

static const char *size_of(const ds_check_buffer *b)
{
    return b->size != NULL ? b->size : "n entries, 0 to n-1, with n from info()";
}

int ds_check_buffer_open(ds_check_buffer *b, const char *name, uint64_t n, int at_end)
{
    b->name = name;
    return ds_guard_open(&b->guard, n, at_end) == 0;
}

void ds_check_buffer_check(ds_check *c, const ds_check_buffer *b, const char *who)
{
    const unsigned char *data = (const unsigned char *)b->guard.data, *p = ds_guard_breach(&b->guard);
    size_t length = b->guard.n * sizeof(double);
    if (p != NULL) {
        long distance = p < data ? (long)(data - p) : (long)(p - (data + length)) + 1;
        ds_check_fail(c, "%s wrote %ld bytes %s the buffer %s of %zu bytes", who, distance,
                      p < data ? "before" : "behind", b->name, length);
        ds_check_hint(c, "%s has %s", b->name, size_of(b));
    }
}

/* Async-signal-safe: the text is put together by hand. */
static size_t put(char *out, size_t at, const char *text)
{
    while (*text != '\0' && at < 400) {
        out[at++] = *text++;
    }
    return at;
}

static size_t put_number(char *out, size_t at, uint64_t v)
{
    char digits[24];
    size_t n = sizeof digits - 1;
    digits[n] = '\0';
    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    return put(out, at, digits + n);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    const unsigned char *a = info->si_addr;
    char line[512];
    size_t n = 0;
    (void)context;
    (void)signal;
    for (size_t i = 0; i < watched.count && n == 0; i++) {
        const ds_check_buffer *b = &watched.buffers[i];
        const ds_guard *g = &b->guard;
        const unsigned char *data = (const unsigned char *)g->data, *behind = data + g->n * sizeof(double);
        if (g->map == NULL || a < g->map || a >= g->map + g->map_size) {
            continue;
        }
        n = put(line, n, "F ");
        n = put(line, n, watched.who);
        if (a >= data && a < behind) {
            n = put(line, n, " wrote to the read-only buffer ");
            n = put(line, n, b->name);
            n = put(line, n, "\nH ");
            n = put(line, n, b->name);
            n = put(line, n, " is const: work on a copy\nE \n");
        } else {
            n = put(line, n, " touched memory ");
            n = put_number(line, n, a < data ? (uint64_t)(data - a) : (uint64_t)(a - behind));
            n = put(line, n, a < data ? " bytes before the buffer " : " bytes after the end of the buffer ");
            n = put(line, n, b->name);
            n = put(line, n, "\nH a buffer of this kind has ");
            n = put(line, n, size_of(b));
            n = put(line, n, "\nE \n");
        }
    }
    if (n == 0) {
        n = put(line, n, "F ");
        n = put(line, n, watched.who);
        n = put(line, n, " crashed: segmentation fault outside of the host's buffers\nE \n");
    }
    if (write(watched.fd, line, n) < 0) {
        _exit(2);
    }
    _exit(0);
}

void ds_check_buffer_watch(ds_check *c, const ds_check_buffer *buffers, size_t count, const char *who)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO;
    watched.buffers = buffers;
    watched.count = count;
    watched.who = who;
    watched.fd = c->fd;
    if (c->fd >= 0) { /* with --in-process a debugger should see the fault itself */
        sigaction(SIGSEGV, &a, NULL);
        sigaction(SIGBUS, &a, NULL);
    }
}

/* ---- evaluations in progress ---- */

/* The file is a head, followed by one slot for each of DS_FLIGHTS threads. */

typedef struct head {
    uint64_t n;
} head;

static int file = -1;
static head *map;
static atomic_uint threads;
static _Thread_local unsigned own; /* 1 + slot of this thread */

static uint64_t stride(uint64_t n)
{
    return sizeof(ds_flight) + n * sizeof(double);
}

static uint64_t bytes(uint64_t n)
{
    return sizeof(head) + DS_FLIGHTS * stride(n);
}

static ds_flight *place(head *h, unsigned k)
{
    return (ds_flight *)(void *)((char *)(h + 1) + k * stride(h->n));
}

void ds_flight_attach(int fd)
{
    file = fd;
}

void ds_flight_room(uint64_t n)
{
    if (file < 0 || (map != NULL && map->n == n)) {
        return;
    }
    if (map != NULL) {
        munmap(map, bytes(map->n));
        map = NULL;
    }
    /* Truncate first: the old content has another layout. */
    void *m = ftruncate(file, 0) == 0 && ftruncate(file, (off_t)bytes(n)) == 0
                  ? mmap(NULL, bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                  : MAP_FAILED;
    if (m != MAP_FAILED) {
        map = m;
        map->n = n;
    }
}

void ds_flight_begin(const double *x, uint64_t n, uint32_t want, uint64_t noise_key, uint32_t rows)
{
    if (map == NULL || map->n != n) {
        return;
    }
    if (own == 0) {
        own = 1 + atomic_fetch_add(&threads, 1) % DS_FLIGHTS;
    }
    ds_flight *f = place(map, own - 1);
    f->noise_key = noise_key;
    f->want = want;
    memcpy(f + 1, x, n * sizeof *x);
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint32_t *)&f->rows = rows;
}

void ds_flight_end(void)
{
    if (map != NULL && own != 0) {
        *(volatile uint32_t *)&place(map, own - 1)->rows = 0;
    }
}

void ds_flight_read(int fd, void (*fn)(void *ctx, const ds_flight *f, const double *x, uint64_t n), void *ctx)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(head)) {
        return;
    }
    head *h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED) {
        return;
    }
    if (h->n <= (uint64_t)st.st_size && bytes(h->n) == (uint64_t)st.st_size) {
        for (unsigned k = 0; k < DS_FLIGHTS; k++) {
            const ds_flight *f = place(h, k);
            if (f->rows > 0) {
                fn(ctx, f, (const double *)(const void *)(f + 1), h->n);
            }
        }
    }
    munmap(h, (size_t)st.st_size);
}
