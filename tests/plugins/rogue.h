/* SPDX-License-Identifier: Apache-2.0 */
/* rogue.h - what a plugin can do to its process, by name. ROGUE=WHEN:WHAT in the environment has it done
 * when the plugin is loaded (start), asked for itself (query), or when its process ends (end). */
#ifndef TESTS_ROGUE_H
#define TESTS_ROGUE_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int rogue_forever = 1;
static volatile double *volatile rogue_nowhere = (volatile double *)64; /* no page is mapped there */

static void rogue_do(const char *what);

static void rogue_hang(void)
{
    while (rogue_forever) {
        pause();
    }
}

static void *rogue_later(void *what)
{
    usleep(20000);
    rogue_do(what);
    return NULL;
}

static void rogue_exit_7(int sig)
{
    (void)sig;
    _exit(7);
}

static void rogue_exit_9(void)
{
    _exit(9);
}

static void rogue_shrug(int sig)
{
    (void)sig;
}

/* System calls go on behind signals that are taken and forgotten; some are that only root may. */
static void rogue_restart(void)
{
    struct sigaction act = {.sa_handler = rogue_shrug, .sa_flags = SA_RESTART | SA_NODEFER};
    const int some[] = {SIGCHLD, SIGPIPE, SIGTERM, SIGALRM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        sigaction(some[i], &act, NULL);
    }
}

/* Leaves whatever ties it to its host, and takes what it can of the machine. */
static void rogue_leave_ties(void)
{
    const struct sched_param low = {0};
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_NAME, "rogue");
    prctl(PR_SET_DUMPABLE, 0);
    mlockall(MCL_CURRENT);
    sched_setaffinity(0, sizeof first, &first);
    sched_setscheduler(0, SCHED_IDLE, &low);
    if (nice(19) < 0) {
        errno = 0;
    }
}

static void rogue_change_variables(void)
{
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("PATH", "/nowhere", 1);
    setenv("TMPDIR", "/nowhere", 1);
    setenv("HOME", "/nowhere", 1);
    setenv("OPENBLAS_NUM_THREADS", "64", 1);
    clearenv();
}

static void rogue_write_everywhere(void)
{
    for (int fd = 0; fd <= 20; fd++) {
        if (fd != 3) { /* what it says to its host in the place of its worker is another matter */
            ssize_t ignored = write(fd, "rogue\n", 6);
            (void)ignored;
        }
    }
}

/* A few generations of processes, none of which is waited for. */
static void rogue_multiply(void)
{
    for (int i = 0; i < 5; i++) {
        if (fork() < 0) {
            break;
        }
    }
    rogue_hang();
}

/* A process that keeps the descriptors of this one. */
static void rogue_leave_child(void)
{
    if (fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        sleep(30);
        _exit(0);
    }
}

static void rogue_do(const char *what)
{
    const struct rlimit none = {0, 0};
    sigset_t all;
    pthread_t thread;
    sigfillset(&all);
    if (strcmp(what, "segv") == 0) {
        *rogue_nowhere = 1.0;
    } else if (strcmp(what, "abort") == 0) {
        abort();
    } else if (strcmp(what, "exit") == 0) {
        exit(0);
    } else if (strcmp(what, "quick") == 0) {
        _exit(0);
    } else if (strcmp(what, "hang") == 0) {
        rogue_hang();
    } else if (strcmp(what, "block") == 0) { /* no signal is taken, and it hangs */
        sigprocmask(SIG_BLOCK, &all, NULL);
        alarm(0);
        rogue_hang();
    } else if (strcmp(what, "multiply") == 0) {
        rogue_multiply();
    } else if (strcmp(what, "restart") == 0) {
        rogue_restart();
    } else if (strcmp(what, "ties") == 0) {
        rogue_leave_ties();
    } else if (strcmp(what, "variables") == 0) {
        rogue_change_variables();
    } else if (strcmp(what, "write") == 0) {
        rogue_write_everywhere();
    } else if (strcmp(what, "read") == 0) {
        while (getchar() != EOF) {
        }
    } else if (strcmp(what, "close_range") == 0) {
        syscall(SYS_close_range, 3, ~0u, 0);
    } else if (strcmp(what, "stdout") == 0) {
        close(0);
        close(1);
        close(2);
    } else if (strcmp(what, "term") == 0) {
        kill(0, SIGTERM);
    } else if (strcmp(what, "trace") == 0) { /* where the system lets nobody do so, nothing happens */
        if (ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0) {
            waitpid(getppid(), NULL, __WALL);
            ptrace(PTRACE_DETACH, getppid(), NULL, NULL);
        }
    } else if (strcmp(what, "open") == 0) {
        if (dlopen("plugins/rogue_env.so", RTLD_NOW | RTLD_GLOBAL) == NULL) {
            (void)dlerror();
        }
    } else if (strcmp(what, "stop") == 0) {
        raise(SIGSTOP);
    } else if (strcmp(what, "group") == 0) {
        kill(0, SIGKILL);
    } else if (strcmp(what, "child") == 0) {
        rogue_leave_child();
    } else if (strcmp(what, "orphan") == 0) { /* its descriptors stay open when it crashes */
        rogue_leave_child();
        abort();
    } else if (strcmp(what, "thread") == 0) {
        static char later[] = "segv";
        pthread_create(&thread, NULL, rogue_later, later);
    } else if (strcmp(what, "thread_exit") == 0) {
        static char later[] = "quick";
        pthread_create(&thread, NULL, rogue_later, later);
    } else if (strcmp(what, "close") == 0) {
        for (int fd = 3; fd < 256; fd++) {
            close(fd);
        }
    } else if (strcmp(what, "close_all") == 0) {
        for (int fd = 0; fd < 256; fd++) {
            close(fd);
        }
    } else if (strcmp(what, "print") == 0) {
        printf("{\"rogue\": 1}\n");
        fflush(stdout);
    } else if (strcmp(what, "handlers") == 0) {
        for (int sig = 1; sig < 32; sig++) {
            signal(sig, rogue_exit_7);
        }
    } else if (strcmp(what, "atexit") == 0) {
        atexit(rogue_hang);
    } else if (strcmp(what, "atexit_9") == 0) {
        atexit(rogue_exit_9);
    } else if (strcmp(what, "limits") == 0) {
        setrlimit(RLIMIT_NOFILE, &none);
        setrlimit(RLIMIT_FSIZE, &none);
    } else if (strcmp(what, "place") == 0) {
        umask(0777);
        if (chdir("/") != 0) {
            abort();
        }
    } else if (strcmp(what, "locale") == 0) {
        if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
            _exit(77);
        }
    } else if (strcmp(what, "rounding") == 0) {
        fesetround(FE_UPWARD);
#if defined(__x86_64__)
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
    }
}

static void rogue_at(const char *when)
{
    const char *wish = getenv("ROGUE");
    size_t n = strlen(when);
    if (wish != NULL && strncmp(wish, when, n) == 0 && wish[n] == ':') {
        rogue_do(wish + n + 1);
    }
}

__attribute__((constructor)) static void rogue_start(void)
{
    rogue_at("start");
}

__attribute__((destructor)) static void rogue_end(void)
{
    rogue_at("end");
}

/* The query function of diffsim/plugin.h, with what is done there before. */
#define ROGUE_PLUGIN(...)                                                                                    \
    const ds_plugin *ds_plugin_query(uint32_t major, uint32_t minor)                                         \
    {                                                                                                        \
        static const ds_plugin plugin = {.magic = DS_MAGIC,                                                  \
                                         .struct_size = sizeof(ds_plugin),                                   \
                                         .abi_major = DS_ABI_MAJOR,                                          \
                                         .abi_minor = DS_ABI_MINOR,                                          \
                                         .layout = DS_LAYOUT,                                                \
                                         .build = __VERSION__,                                               \
                                         .desc = &desc,                                                      \
                                         __VA_ARGS__};                                                       \
        (void)major;                                                                                         \
        (void)minor;                                                                                         \
        rogue_at("query");                                                                                   \
        return &plugin;                                                                                      \
    }

#endif
