/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - handlers of the host: stop requests, and crashes of an optimizer, which runs in this process.
 */
#include "config.h"

#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stop.h"

enum { STACK_BYTES = 64 << 10 };
static const double DRAIN_SECONDS = 3.0;

static _Atomic(const char *) watch_text;
static _Atomic(ds_recorder *) watch_recorder;
static int on_terminal; /* stderr, which then shows a progress line */

static void put(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* A step that takes long, or an optimizer that does not listen, must not look like a deaf program. */
static void on_stop(int sig)
{
    static atomic_int requests;
    if (atomic_fetch_add(&requests, 1) > 0) {
        _exit(128 + sig);
    }
    int last = errno;
    put(on_terminal ? "\n" : "");
    put(sig == SIGINT ? "dshost: stopping after this step; Ctrl-C again ends at once\n"
                      : "dshost: stopping after this step; a second signal ends at once\n");
    errno = last;
    ds_stop_raise(sig);
}

/* Async-signal-safe: the writer of the store goes on in its own thread while we wait. */
static void last_words(const char *how)
{
    const char *text = atomic_exchange(&watch_text, NULL);
    if (text == NULL) {
        _exit(DS_EXIT_PLUGIN);
    }
    put("\ndshost: error: ");
    put(how);
    put(text);
    put("\n");
    ds_recorder *r = atomic_load(&watch_recorder);
    if (r != NULL && !ds_recorder_drain_in_handler(r, DRAIN_SECONDS)) {
        put("dshost: warning: the last evaluations could not be written; resuming repeats them\n");
    }
    _exit(DS_EXIT_PLUGIN);
}

static void on_crash(int sig)
{
    if (atomic_load(&watch_text) == NULL) { /* not ours: the usual end */
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

void ds_signals_install(void)
{
    const struct sigaction sa = {.sa_handler = on_stop}; /* without SA_RESTART: waits are interrupted */
    struct sigaction now; /* nohup ignores SIGHUP for us: then the run outlives its terminal */
    on_terminal = isatty(STDERR_FILENO);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &sa, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Once for the whole process. */
static void install_crash_handlers(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static alignas(16) unsigned char stack[STACK_BYTES];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&alternative, NULL); /* a stack overflow leaves no room for a handler */
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &sa, NULL);
    }
    atexit(on_exit_call);
}

void ds_crash_watch(const char *text, ds_recorder *recorder)
{
    static int installed;
    if (!installed) {
        installed = 1;
        install_crash_handlers();
    }
    atomic_store(&watch_recorder, recorder);
    atomic_store(&watch_text, text);
}

void ds_crash_unwatch(void)
{
    atomic_store(&watch_text, NULL);
    atomic_store(&watch_recorder, NULL);
}
