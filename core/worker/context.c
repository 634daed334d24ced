/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - a worker process: its start file, messages to and from its host, and its limits. */
#include "config.h"

#include "worker/context.h"

#include "base/log.h"
#include "plugin/blas.h"
#include "worker/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* ---- start arguments and messages ---- */

int ds_worker_read_start(ds_worker_context *w, ds_error *e)
{
    ds_worker_start *s = &w->start;
    const ssize_t got = pread(DS_WORKER_START, s, sizeof(*s), 0);
    if (got < 16 || s->magic != DS_WORKER_MAGIC) {
        return ds_fail(e, DS_EXIT_USAGE, "dshost-worker is for dshost itself");
    }
    if (got != (ssize_t)sizeof(*s) || s->layout != ds_worker_layout()) {
        _exit(DS_WORKER_OTHER);
    }
    free(w->texts);
    w->texts = malloc(s->texts + 1);
    if (w->texts == NULL) {
        return ds_no_memory(e);
    }
    if (pread(DS_WORKER_START, w->texts, s->texts, sizeof(*s)) != (ssize_t)s->texts) {
        return ds_fail(e, DS_EXIT_IO, "the start file of the worker is incomplete");
    }
    w->texts[s->texts] = '\0';
    return 0;
}

int ds_worker_load_plugin(const ds_worker_context *w, const ds_module **out, const char **rest, ds_error *e)
{
    ds_plugin_file f;
    const char *id = w->texts + strlen(w->texts) + 1;
    snprintf(f.path, sizeof(f.path), "%s", w->texts);
    snprintf(f.id, sizeof(f.id), "%s", id);
    *rest = id;
    return ds_loader_load(&f, out, e);
}

char ds_worker_receive(void)
{
    char byte = 0;
    ssize_t got;
    while ((got = recv(DS_WORKER_SOCKET, &byte, 1, 0)) < 0 && errno == EINTR) {
    }
    return got == 1 ? byte : '\0';
}

int ds_worker_send(char byte)
{
    ds_worker_after_call("the start-up code");
    return send(DS_WORKER_SOCKET, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int ds_worker_truncate(int fd)
{
    return ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0 ? -1 : 0;
}
int ds_worker_settings(const ds_worker_context *w, const char *at, int section, ds_settings *settings,
                       ds_error *e)
{
    int rc = 0;
    memset(settings, 0, sizeof(*settings));
    for (uint32_t i = 0; rc == 0 && i < w->start.settings; i++) {
        const char *key = at + strlen(at) + 1;
        const char *value = key + strlen(key) + 1;
        rc = ds_settings_add(settings, section, key, value, "worker", NULL, DS_EXIT_CONFIG, 0, e);
        at = value;
    }
    return rc;
}

int ds_worker_make_env(ds_worker_context *w, ds_env **out, ds_error *e)
{
    const ds_module *module = NULL;
    ds_settings settings;
    const char *at;
    int rc = ds_worker_load_plugin(w, &module, &at, e);
    if (rc != 0) {
        return rc;
    }
    rc = ds_worker_settings(w, at, DS_SECTION_ENV, &settings, e);
    if (rc == 0) {
        if (w->env == NULL) {
            ds_worker_limit_memory(w);
        }
        const ds_place place = {w->start.threads, w->start.worker, w->start.workers, 0};
        rc = ds_env_open_at(module, &settings, w->start.seed, &place, NULL, out, e);
        ds_worker_after_call("create()");
    }
    ds_settings_clear(&settings);
    return rc;
}

/* ---- floating-point mode: rounding, traps, denormals as zero; without the sticky flags ---- */

static uint32_t float_mode(void)
{
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (_mm_getcsr() & ~0x3fu) | ((uint32_t)x87 << 16);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (uint32_t)fpcr;
#else
    return (uint32_t)fegetround();
#endif
}

static void set_float_mode(uint32_t mode)
{
#if defined(__x86_64__)
    uint16_t x87 = (uint16_t)(mode >> 16);
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(x87));
    _mm_setcsr(mode & 0xffffu);
#elif defined(__aarch64__)
    uint64_t fpcr = mode;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#else
    fesetround((int)mode);
#endif
}

/* ---- the process and its limits ---- */

static pid_t host;
static uint32_t mode;                   /* floating-point mode to restore */
static volatile sig_atomic_t is_a_copy; /* the plugin forked this process */

static void note_copy(void)
{
    is_a_copy = 1;
}

/* If memory runs out, the kernel should kill a worker and not its host. */
static void offer_to_be_killed(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t ignored = write(fd, "500", 3);
        (void)ignored;
        close(fd);
    }
}

/* Restores the soft limit of open files that the host began with: a plugin must not see that the host raised
 * it. */
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
    mode = float_mode();
    return ds_worker_orphaned() ? -1 : 0;
}

int ds_worker_orphaned(void)
{
    return getppid() != host;
}

/* Limits the address space to `extra` bytes more than is mapped now; 0 = no limit. */
static void limit_address_space(int64_t extra)
{
#ifdef DS_SANITIZERS
    (void)extra; /* their shadow memory alone takes terabytes */
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

void ds_worker_limit_memory(const ds_worker_context *w)
{
    if (w->start.memory > 0) {
        ds_blas_reserve_for(w->texts);
    }
    limit_address_space(w->start.memory);
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
    static int warned;
    if (is_a_copy) {
        _exit(DS_EXIT_OK);
    }
    if (float_mode() == mode) {
        return;
    }
    set_float_mode(mode);
    if (!warned) {
        warned = 1;
        ds_log(DS_LOG_WARNING, NULL,
               "%s of the environment changed the floating-point mode (rounding, traps, or denormals as "
               "zero); it is restored after every call",
               function);
    }
}
