/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - handlers of stop requests, and what is saved where an optimizer that runs in this process
 * crashes. */
#include "config.h"

#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/stop.h"

static const double DRAIN_SECONDS = 3.0;

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

/* It comes again each second, up to the hard limit, which ends the program. */
static void on_cpu_limit(int sig)
{
    int last = errno;
    if (atomic_load(&ds_stop_flag) == 0) {
        put(on_terminal ? "\n" : "");
        put("dshost: the limit of processor time (ulimit -t) is used up; stopping after this step\n");
        ds_stop_raise(sig);
    }
    errno = last;
}

/* What comes at a hard limit is SIGKILL: a soft one before it leaves a second to end in. */
static void heed_cpu_limit(void)
{
    const struct sigaction sa = {.sa_handler = on_cpu_limit};
    struct rlimit limit;
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return;
    }
    if (limit.rlim_cur == limit.rlim_max && limit.rlim_max > 1) {
        limit.rlim_cur = limit.rlim_max - 1;
        setrlimit(RLIMIT_CPU, &limit);
    }
    sigaction(SIGXCPU, &sa, NULL);
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
    heed_cpu_limit();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Async-signal-safe: the writer of the store goes on in its own thread while we wait. */
static int save(void *recorder)
{
    return recorder == NULL || ds_recorder_drain_in_handler(recorder, DRAIN_SECONDS);
}

void ds_crash_watch_run(const char *text, ds_recorder *recorder)
{
    ds_crash_watch(text, save, recorder);
}
