/* SPDX-License-Identifier: Apache-2.0 */
/* check_guard.c - guard pages, canaries, and a fault handler that says which buffer was left. */
#include "config.h"

#include "harness/check_guard.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xa5 };

/* A signal handler has no argument of our own, so what it needs lies here; set once in a process that runs
 * one test. */
static struct {
    const ds_guard *guards;
    size_t count;
    const char *who;
    int fd;
} watched;

int ds_guard_make(ds_guard *g, const char *name, size_t length, int at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (length + page - 1) / page * page;

    memset(g, 0, sizeof *g);
    inner = inner > 0 ? inner : page;
    void *map = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect((unsigned char *)map + page, inner, PROT_READ | PROT_WRITE) != 0) {
        return 0;
    }
    g->name = name;
    g->map = map;
    g->map_size = inner + 2 * page;
    g->length = length;
    g->data = g->map + page + (at_end ? inner - length : 0);
    memset(g->map + page, CANARY, inner);
    return 1;
}

void ds_guard_free(ds_guard *g)
{
    if (g->map != NULL) {
        munmap(g->map, g->map_size);
    }
    memset(g, 0, sizeof *g);
}

void ds_guard_readonly(ds_guard *g, int on)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mprotect(g->map + page, g->map_size - 2 * page, on ? PROT_READ : PROT_READ | PROT_WRITE);
}

void ds_guard_look(ds_check *c, const ds_guard *g, const char *who)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const unsigned char *end = g->map + g->map_size - page;
    for (const unsigned char *p = g->map + page; p < end; p++) {
        if ((p < g->data || p >= g->data + g->length) && *p != CANARY) {
            long distance = p < g->data ? (long)(g->data - p) : (long)(p - (g->data + g->length)) + 1;
            ds_check_fail(c, "%s wrote %ld bytes %s the buffer %s of %zu bytes", who, distance,
                          p < g->data ? "before" : "behind", g->name, g->length);
            ds_check_hint(c, "%s has n entries, 0 to n-1, with n from info()", g->name);
            return;
        }
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
        const ds_guard *g = &watched.guards[i];
        if (g->map == NULL || a < g->map || a >= g->map + g->map_size) {
            continue;
        }
        n = put(line, n, "F ");
        n = put(line, n, watched.who);
        if (a >= g->data && a < g->data + g->length) {
            n = put(line, n, " wrote to the read-only buffer ");
            n = put(line, n, g->name);
            n = put(line, n, "\nH x is const: work on a copy\nE \n");
        } else {
            n = put(line, n, " touched memory ");
            n = put_number(line, n,
                           a < g->data ? (uint64_t)(g->data - a) : (uint64_t)(a - (g->data + g->length)));
            n = put(line, n,
                    a < g->data ? " bytes before the buffer " : " bytes behind the end of the buffer ");
            n = put(line, n, g->name);
            n = put(line, n, "\nH a buffer has n entries, 0 to n-1, with n from info()\nE \n");
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

void ds_guard_watch(ds_check *c, const ds_guard *guards, size_t count, const char *who)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO;
    watched.guards = guards;
    watched.count = count;
    watched.who = who;
    watched.fd = c->fd;
    if (c->fd >= 0) { /* with --in-process a debugger wants to see the fault itself */
        sigaction(SIGSEGV, &a, NULL);
        sigaction(SIGBUS, &a, NULL);
    }
}
