/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - see child.h. */
#include "adapters/python/child.h"

#include <diffsim/helper/fail.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_MS = 20,  /* between two checks of the stop flag and of the process */
    PATIENCE = 25, /* such times for it to end by itself */
    FD = 3,        /* of the shared memory in the child */
    NOT_STARTED = 127,
    UNKNOWN_END = 1 << 8 /* as waitpid() says exit status 1 */
};

/* ---- where things are ---- */

static const char ME[] = "diffsim";

/* Whether the file exists, and belongs to a user who could have changed this code as well. Folders above it
 * may be writable by anybody. */
static int is_there(const char *folder, const char *below, uid_t owner, char out[PATH_MAX])
{
    char place[PATH_MAX];
    struct stat st;
    return snprintf(place, sizeof place, "%s%s/diffsim/serve.py", folder, below) < PATH_MAX &&
           realpath(place, out) != NULL && access(out, R_OK) == 0 && stat(out, &st) == 0 &&
           (st.st_uid == 0 || st.st_uid == owner);
}

/* The program in the package `diffsim` that belongs to this adapter: around it in a wheel, in a build tree,
 * in an installation. 1, or 0. *own gets the file of this code. */
static int find_program(char own[PATH_MAX], char out[PATH_MAX])
{
    static const char *const below[] = {"", "/python", "/share/diffsim/python", "/lib/python3/dist-packages"};
    Dl_info where;
    struct stat st;
    char up[PATH_MAX];
    if (dladdr(ME, &where) == 0 || realpath(where.dli_fname, own) == NULL || stat(own, &st) != 0) {
        return 0;
    }
    snprintf(up, sizeof up, "%s", own);
    for (char *slash = strrchr(up, '/'); slash != NULL; slash = strrchr(up, '/')) {
        *slash = '\0';
        for (size_t k = 0; k < sizeof below / sizeof below[0]; k++) {
            if (is_there(up, below[k], st.st_uid, out)) {
                return 1;
            }
        }
    }
    return 0;
}

static const char *interpreter(void)
{
    const char *named = getenv("DIFFSIM_PYTHON");
    return named != NULL && named[0] != '\0' ? named : "python3";
}

/* ---- life ---- */

/* In the child: becomes Python. Only calls that are allowed after fork(). Signals that a terminal or a
 * service manager sends to all processes are left to the host, which ends Python. The kernel reports the
 * death of the parent's thread, not of the parent; where that thread is not the main one, serve.py checks for
 * its parent. */
static void become_python(int fd, char *const argv[], pid_t parent, int by_first_thread)
{
    sigset_t none;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (by_first_thread) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    const int null = open("/dev/null", O_RDONLY);
    if (getppid() != parent || null < 0 || dup2(null, 0) < 0) {
        _exit(NOT_STARTED);
    }
    if (fd == FD ? fcntl(FD, F_SETFD, 0) != 0 : dup2(fd, FD) < 0) {
        _exit(NOT_STARTED);
    }
    syscall(SYS_close_range, FD + 1, ~0u, 0);
    execvp(argv[0], argv);
    _exit(NOT_STARTED);
}

int child_start(child *c, const char *file, const char *object, char *why, size_t room)
{
    char own[PATH_MAX], program[PATH_MAX], parent[24];
    *c = (child){.file = file, .owner = getpid()};
    if (!find_program(own, program)) {
        snprintf(why, room,
                 "%s: the package diffsim of Python is not where this dshost is installed: install it there "
                 "(Debian: python3-diffsim)",
                 file);
        return -1;
    }
    if (talk_open(&c->talk) != 0) {
        snprintf(why, room, "%s: no shared memory for its Python process: %s", file, strerror(errno));
        return -1;
    }
    setenv("PYTHONHASHSEED", "0", 0); /* the order of sets is a result, too */
    snprintf(parent, sizeof parent, "%d", (int)c->owner);
    char *const argv[] = {(char *)(uintptr_t)interpreter(), program, own, (char *)(uintptr_t)file,
                          (char *)(uintptr_t)object,        parent,  NULL};
    const int by_first_thread = syscall(SYS_gettid) == c->owner;
    c->pid = fork();
    if (c->pid == 0) {
        become_python(c->talk.fd, argv, c->owner, by_first_thread);
    }
    if (c->pid < 0) {
        snprintf(why, room, "%s: no process for Python: %s", file, strerror(errno));
        talk_close(&c->talk);
        return -1;
    }
    return 0;
}

/* Has it died? How is not known where the program ignores SIGCHLD, or has waited for it itself. */
static int look_at(child *c)
{
    if (c->pid > 0 && c->owner == getpid()) {
        const pid_t ended = waitpid(c->pid, &c->status, WNOHANG);
        if (ended < 0 && errno == ECHILD) {
            c->status = UNKNOWN_END;
        }
        if (ended == c->pid || (ended < 0 && errno == ECHILD)) {
            c->pid = 0;
            c->dead = 1;
        }
    }
    return c->dead;
}

int child_dead(child *c, char *how, size_t size)
{
    const int status = c->status;
    if (!c->dead) {
        return 0;
    }
    if (WIFSIGNALED(status)) {
        snprintf(how, size, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) == NOT_STARTED) {
        snprintf(how, size,
                 "cannot be started: the program %.100s is missing; install Python 3 with NumPy, or name one "
                 "in DIFFSIM_PYTHON",
                 interpreter());
    } else {
        snprintf(how, size, "ended with exit status %d", WEXITSTATUS(status));
    }
    return 1;
}

/* This process ends as its Python has, never with success. The thread may have blocked the signal. */
static void follow(child *c, const ds_host *host)
{
    char how[200];
    child_dead(c, how, sizeof how);
    ds_host_say(host, DS_LOG_ERROR, "the Python process of %.300s %s", c->file, how);
    if (WIFSIGNALED(c->status)) {
        const int sig = WTERMSIG(c->status);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, sig);
        signal(sig, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
        raise(sig);
        _exit(128 + sig);
    }
    _exit(WEXITSTATUS(c->status) != 0 ? WEXITSTATUS(c->status) : 1);
}

ds_status child_listen(child *c, const ds_host *host)
{
    while (!talk_await(&c->talk, POLL_MS)) {
        if (look_at(c)) { /* first: who is dead will not hear that it is to stop */
            if (host == NULL) {
                return DS_E_GENERIC;
            }
            follow(c, host);
        }
        if (host != NULL && host->should_stop(host)) {
            atomic_store(&c->talk.head->stop, 1);
            return DS_STOPPED;
        }
    }
    return c->talk.head->status;
}

ds_status child_settle(child *c, const ds_host *host)
{
    if (!c->owed) {
        return DS_OK;
    }
    if (child_listen(c, host) == DS_STOPPED) {
        return DS_STOPPED;
    }
    c->owed = 0;
    return DS_OK;
}

ds_status child_ask(child *c, const ds_host *host, uint32_t what)
{
    ds_status st = child_settle(c, host);
    if (st != DS_OK) {
        return st;
    }
    talk_head *h = c->talk.head;
    h->what = what;
    h->status = DS_OK;
    atomic_store(&h->stop, 0);
    talk_pass(&c->talk);
    st = child_listen(c, host);
    while (st == DS_OK && h->what == TALK_ROOM) { /* an answer that does not fit */
        h->status = talk_grow(&c->talk, h->bytes) == 0 ? DS_OK : DS_E_NOMEM;
        talk_pass(&c->talk);
        st = child_listen(c, host);
    }
    c->owed = st == DS_STOPPED;
    return st;
}

/* Bytes of address space of a process. */
static rlim_t size_of(pid_t pid)
{
    char path[40];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        if (fscanf(f, "%lu", &pages) != 1) {
            pages = 0;
        }
        fclose(f);
    }
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

void child_limit_memory(const child *c)
{
    struct rlimit mine, its;
    if (getrlimit(RLIMIT_AS, &mine) != 0 || mine.rlim_cur == RLIM_INFINITY ||
        prlimit(c->pid, RLIMIT_AS, NULL, &its) != 0) {
        return;
    }
    const rlim_t here = size_of(getpid()), there = size_of(c->pid);
    its.rlim_cur = there + (mine.rlim_cur > here ? mine.rlim_cur - here : 0);
    if (there > 0 && (its.rlim_max == RLIM_INFINITY || its.rlim_cur < its.rlim_max)) {
        prlimit(c->pid, RLIMIT_AS, &its, NULL);
    }
}

void child_end(child *c)
{
    const struct timespec pause = {0, 1000000};
    if (c->pid > 0 && c->owner == getpid()) {
        int ended = 0;
        if (!c->owed && atomic_load(&c->talk.head->turn) == TALK_HOST) {
            c->talk.head->what = TALK_QUIT;
            talk_pass(&c->talk);
            for (int i = 0; i < PATIENCE * POLL_MS && !ended; i++) {
                ended = look_at(c);
                if (!ended) {
                    nanosleep(&pause, NULL);
                }
            }
        }
        if (!ended) {
            kill(c->pid, SIGKILL);
            waitpid(c->pid, &c->status, 0);
        }
    }
    c->pid = 0;
    talk_close(&c->talk);
}
