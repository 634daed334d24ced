/* SPDX-License-Identifier: Apache-2.0 */
/* check_guard.c - says which buffer was left, also in a fault handler. */
#include "config.h"

#include "harness/check_guard.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A signal handler has no argument of our own, so what it needs lies here; set once in a process that runs
 * one test. */
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

void ds_check_buffer_look(ds_check *c, const ds_check_buffer *b, const char *who)
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

/* Only calls that are allowed in a signal handler: the text is put together by hand. */
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
            n = put(line, n, a < data ? " bytes before the buffer " : " bytes behind the end of the buffer ");
            n = put(line, n, b->name);
            n = put(line, n, "\nH a buffer of its kind has ");
            n = put(line, n, size_of(b));
            n = put(line, n, "\nE \n");
        }
    }
    if (n == 0) {
        n = put(line, n, "F ");
        n = put(line, n, watched.who);
        n = put(line, n, " crashed: segmentation fault away from the host's buffers\nE \n");
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
    if (c->fd >= 0) { /* with --in-process a debugger wants to see the fault itself */
        sigaction(SIGSEGV, &a, NULL);
        sigaction(SIGBUS, &a, NULL);
    }
}
