/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the flag that ends what this process is doing, and the signals that raise it. */
#include "config.h"

#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

atomic_int ds_stop_flag;

void ds_stop_raise_flag(atomic_int *flag, int why)
{
    int none = 0;
    atomic_compare_exchange_strong(flag, &none, why);
}

void ds_stop_raise(int why)
{
    ds_stop_raise_flag(&ds_stop_flag, why);
}

int ds_stop_status(int rc)
{
    int sig = atomic_load(&ds_stop_flag);
    return rc != 0 && sig > 0 ? 128 + sig : rc;
}

/* ---- signals ---- */

static int on_terminal; /* stderr, which shows a progress line */

static void put(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Reports at once: a long step, or an optimizer that does not poll, must not look like a hang. */
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

/* The signal comes every second until the hard limit ends the program. */
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

/* The hard limit sends SIGKILL: a soft limit one second earlier leaves time to end. */
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
    struct sigaction now; /* nohup ignores SIGHUP for us: the run then outlives its terminal */
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
