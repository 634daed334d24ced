/* SPDX-License-Identifier: Apache-2.0 */
/* life.c - see life.h. */
#include "config.h"

#include "worker/life.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/float_mode.h"
#include "base/log.h"
#include "worker/protocol.h"

static pid_t host;
static uint32_t mode;                   /* floating point, as it is to be */
static volatile sig_atomic_t is_a_copy; /* this process was forked by the plugin */

static void note_copy(void)
{
    is_a_copy = 1;
}

/* Where memory runs out, the kernel is to end a worker and not its host. */
static void offer_to_be_killed(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t ignored = write(fd, "500", 3);
        (void)ignored;
        close(fd);
    }
}

/* The soft limit of open files that the host began with: a plugin must not see that it was raised. */
static void restore_files(uint64_t files)
{
    struct rlimit l;
    if (files > 0 && getrlimit(RLIMIT_NOFILE, &l) == 0 && files < l.rlim_cur) {
        l.rlim_cur = files;
        setrlimit(RLIMIT_NOFILE, &l);
    }
}

int ds_worker_process_begin(int64_t parent, uint64_t files)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    struct rlimit none = {0, 0};
    sigset_t empty;
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
    prctl(PR_SET_NAME, "dshost-worker");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_close_range, DS_WORKER_FDS, ~0u, 0);
    for (int fd = DS_WORKER_SOCKET; fd < DS_WORKER_FDS; fd++) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    restore_files(files);
    pthread_atfork(NULL, NULL, note_copy);
    offer_to_be_killed();
    host = (pid_t)parent;
    mode = ds_float_mode();
    return ds_worker_orphaned() ? -1 : 0;
}

int ds_worker_orphaned(void)
{
    return getppid() != host;
}

void ds_worker_limit_address_space(int64_t extra)
{
#ifdef DS_SANITIZERS
    (void)extra; /* their shadow memory alone is terabytes */
#else
    unsigned long pages = 0;
    FILE *f = extra > 0 ? fopen("/proc/self/statm", "re") : NULL;
    if (f != NULL) {
        if (fscanf(f, "%lu", &pages) == 1) {
            struct rlimit limit;
            getrlimit(RLIMIT_AS, &limit);
            rlim_t wanted = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)extra;
            if (limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max) {
                limit.rlim_cur = wanted;
                setrlimit(RLIMIT_AS, &limit);
            }
        }
        fclose(f);
    }
#endif
}

void ds_worker_allow_memory(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        limit.rlim_cur += (rlim_t)bytes;
        limit.rlim_cur = limit.rlim_cur > limit.rlim_max ? limit.rlim_max : limit.rlim_cur;
        setrlimit(RLIMIT_AS, &limit);
    }
}

void ds_worker_after_call(const char *function)
{
    static int told;
    if (is_a_copy) {
        _exit(DS_EXIT_OK);
    }
    if (ds_float_mode() == mode) {
        return;
    }
    ds_float_mode_set(mode);
    if (!told) {
        told = 1;
        ds_log(DS_LOG_WARNING, NULL,
               "%s of the environment changed the floating-point mode (rounding, traps, or denormals as "
               "zero); it is put back after every call",
               function);
    }
}
