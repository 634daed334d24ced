/* SPDX-License-Identifier: Apache-2.0 */
/* crash.c - handlers for signals of a crash, and for exit(). */
#include "config.h"

#include "protect/crash.h"

#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { STACK_BYTES = 64 << 10 };

static atomic_int allowed, at_once;
static _Atomic(const char *) watch_text;
static int (*_Atomic watch_save)(void *ctx);
static _Atomic(void *) watch_ctx;

static void put(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Async-signal-safe. `save` works in a thread of its own while this one waits. */
static void last_words(const char *how)
{
    const char *text = atomic_exchange(&watch_text, NULL);
    int (*save)(void *ctx) = atomic_load(&watch_save);
    if (text == NULL) {
        _exit(DS_EXIT_PLUGIN);
    }
    put("\ndshost: error: ");
    put(how);
    put(text);
    put("\n");
    if (save != NULL && !save(atomic_load(&watch_ctx))) {
        put("dshost: warning: the last evaluations could not be written; resuming repeats them\n");
    }
    _exit(DS_EXIT_PLUGIN);
}

static void on_crash(int sig)
{
    if (atomic_load(&watch_text) == NULL) { /* nothing is watched: end as usual */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    last_words(sig == SIGSEGV  ? "crash (SIGSEGV, invalid memory access) in "
               : sig == SIGBUS ? "crash (SIGBUS) in "
               : sig == SIGFPE ? "crash (SIGFPE, arithmetic) in "
               : sig == SIGILL ? "crash (SIGILL) in "
                               : "crash (SIGABRT, abort) in ");
}

static void on_exit_call(void)
{
    if (atomic_load(&watch_text) != NULL) {
        last_words("exit() called in ");
    }
}

/* Runs once per process. */
static void install(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static alignas(16) unsigned char stack[STACK_BYTES];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&alternative, NULL); /* after a stack overflow the handler needs another stack */
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &sa, NULL);
    }
    atexit(on_exit_call);
}

void ds_crash_allow(void)
{
    atomic_store(&allowed, 1);
}

void ds_crash_watch(const char *text, int (*save)(void *ctx), void *ctx)
{
    static int installed;
    if (atomic_load(&allowed) == 0) {
        return;
    }
    if (!installed) {
        installed = 1;
        install();
    }
    atomic_store(&watch_ctx, ctx);
    atomic_store(&watch_save, save);
    atomic_store(&watch_text, text);
}

void ds_crash_unwatch(void)
{
    atomic_store(&watch_text, NULL);
    atomic_store(&watch_save, NULL);
}

int ds_crash_watched(void)
{
    return atomic_load(&watch_text) != NULL;
}

void ds_crash_end_at_once(void)
{
    atomic_store(&at_once, atomic_load(&allowed));
}

int ds_crash_ends_at_once(void)
{
    return atomic_load(&at_once);
}
