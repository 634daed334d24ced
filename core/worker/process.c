/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - starts worker processes with default signals and seven descriptors, reads their output, and
 * reaps them. */
#include "config.h"

#include "worker/process.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "protect/call_state.h"
#include "protect/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINES_PER_SECOND = 20, /* of output shown */
    BLIND_MS = 20,         /* between two checks of a process without pidfd */
    PARTING_READS = 16,    /* reads of what a dead process left in its pipe */
    PARTING_MS = 1000,     /* from the end of its socket to its end */
    DEATH_MS = 10000,      /* from SIGKILL to its end; longer only while the kernel waits for a device */
    START_TRIES = 40,
    START_PAUSE_MS = 25
};

/* Moves a descriptor above those of a worker, so that dup2() overwrites none that is still needed. */
static int move_up(int *fd)
{
    int low = *fd;
    *fd = fcntl(low, F_DUPFD_CLOEXEC, DS_WORKER_FDS + 3);
    close(low);
    return *fd < 0 ? -1 : 0;
}

int ds_memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd >= 0 && move_up(&fd) == 0 ? fd : -1;
}

int ds_no_descriptors(const char *what, int code, ds_error *e)
{
    const int few = code == EMFILE || code == EINVAL; /* EINVAL: a duplicate beyond the limit */
    return ds_fail(e, DS_EXIT_IO, "%s: %s", what,
                   few              ? "too few open files are allowed (ulimit -n)"
                   : code == ENFILE ? "too many files are open on this machine"
                                    : strerror(code));
}

static int write_start(int fd, const ds_worker_start *head, const char *texts, ds_error *e)
{
    int rc = ds_fd_write_all(fd, head, sizeof(*head), "start file of a worker", e);
    return rc != 0 ? rc : ds_fd_write_all(fd, texts, head->texts, "start file of a worker", e);
}

static void note_suppressed(ds_childlog *log)
{
    if (log->suppressed > 0) {
        ds_log(DS_LOG_WARNING, log->source, "%llu more lines of output in one second are not shown",
               (unsigned long long)log->suppressed);
        log->suppressed = 0;
    }
}

/* A worker's own messages arrive as "dshost: LEVEL: text" (log.h); the plugin printed everything else. */
static void show_line(ds_childlog *log)
{
    static const char own[] = "dshost: ";
    static const char *const prefix[] = {"debug: ", "", "warning: ", "error: "};
    const char *text = log->line;
    log->line[log->used] = '\0';
    ds_text_clean(log->line); /* no text may control a terminal */
    log->used = 0;
    uint64_t second = ds_clock_ns() / 1000000000u;
    if (second != log->second) {
        log->second = second;
        log->lines = 0;
        note_suppressed(log);
    }
    if (log->lines >= LINES_PER_SECOND) {
        log->suppressed++;
        return;
    }
    log->lines++;
    if (strncmp(text, own, sizeof(own) - 1) != 0) {
        ds_log(DS_LOG_INFO, log->source, "%s", text);
        return;
    }
    text += sizeof(own) - 1;
    for (uint32_t level = DS_LOG_DEBUG; level <= DS_LOG_ERROR; level++) {
        size_t len = strlen(prefix[level]);
        if (len > 0 && strncmp(text, prefix[level], len) == 0) {
            if (level == DS_LOG_WARNING) {
                ds_log_once(level, text + len);
            } else {
                ds_log(level, NULL, "%s", text + len);
            }
            return;
        }
    }
    ds_log(DS_LOG_INFO, NULL, "%s", text);
}

static void feed(ds_childlog *log, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n') {
            show_line(log);
        } else if (log->used < sizeof(log->line) - 1) {
            log->line[log->used++] = (char)(c < 32 && c != '\t' ? '?' : c);
        }
    }
}

int ds_start_arguments_make(ds_start_arguments *o, const char *path, const char *id, const ds_params *p,
                            ds_error *e)
{
    size_t size = 0;
    FILE *f = open_memstream(&o->texts, &size);
    if (f == NULL) {
        return ds_no_memory(e);
    }
    fprintf(f, "%s%c%s%c", path, 0, id, 0);
    for (size_t i = 0; p != NULL && i < ds_params_count(p); i++) {
        if (ds_params_given(p, i)) {
            fprintf(f, "%s%c%s%c", ds_params_info(p, i)->name, 0, ds_params_value_text(p, i), 0);
            o->settings++;
        }
    }
    if (fclose(f) != 0) {
        return ds_no_memory(e);
    }
    o->bytes = size;
    return 0;
}

static ds_worker_start head_of(const ds_start_arguments *o, uint32_t index, int describe)
{
    return (ds_worker_start){.magic = DS_WORKER_MAGIC,
                             .layout = ds_worker_layout(),
                             .seed = o->seed,
                             .memory = o->memory,
                             .threads = o->threads,
                             .index = index,
                             .worker = o->first + index,
                             .workers = o->workers,
                             .settings = o->settings,
                             .describe = describe != 0,
                             .texts = o->bytes,
                             .parent = getpid(),
                             .files = ds_files_before()};
}

static void close_channels(ds_process *p)
{
    int *fds[] = {&p->socket, &p->output, &p->start, &p->end};
    for (int i = 0; i < 4; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
    p->pid = 0;
}

/* Right after a program with many processes ended, there may be no room for another one: retry. */
static int start_program(const char *program, char *const *argv, const int *source, pid_t *pid)
{
    int code = EAGAIN;
    for (int i = 0; i < START_TRIES && code == EAGAIN; i++) {
        if (i > 0) {
            ds_sleep_ms(START_PAUSE_MS);
        }
        code = ds_program_start(program, argv, source, DS_WORKER_FDS, DS_PROGRAM_APART, pid);
    }
    return code;
}

/* Works because the child is not waited for yet, so that its number cannot be reused. */
static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0); /* closed on exec */
#else
    (void)pid;
    return -1;
#endif
}

/* Makes the channels of a worker and starts it. */
static int spawn(ds_process *p, const ds_process_place *place, const ds_worker_start *head, const char *texts,
                 ds_error *e)
{
    int pair[2] = {-1, -1}, pipes[2] = {-1, -1};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char found[PATH_MAX];
    const char *program = place->program != NULL ? place->program : found;
    int rc = place->program == NULL ? ds_program_find("dshost-worker", found, e) : 0;
    p->end = -1;
    p->start = ds_memory_file("diffsim-start");
    if (rc == 0 &&
        (null < 0 || p->start < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
         pipe2(pipes, O_CLOEXEC) != 0 || move_up(&null) != 0 || move_up(&pair[1]) != 0 ||
         move_up(&pipes[1]) != 0)) {
        rc = ds_no_descriptors("cannot make the channels of a worker process", errno, e);
    }
    rc = rc != 0 ? rc : write_start(p->start, head, texts, e);
    if (rc == 0) {
        const int source[DS_WORKER_FDS] = {null,     pipes[1],        pipes[1],       pair[1],
                                           p->start, place->share_fd, place->scene_fd};
        char name[] = "dshost-worker", *argv[] = {name, NULL};
        int code = start_program(program, argv, source, &p->pid);
        if (code != 0) {
            rc = ds_fail(e, code == ENOMEM || code == EAGAIN ? DS_EXIT_MEMORY : DS_EXIT_IO,
                         "cannot start a worker process (%s): %s%s", program, strerror(code),
                         code == EAGAIN ? "; there are too many processes (ulimit -u)" : "");
        } else {
            p->end = open_pidfd(p->pid);
        }
    }
    int mine[] = {null, pair[1], pipes[1]};
    for (int i = 0; i < 3; i++) {
        if (mine[i] >= 0) {
            close(mine[i]);
        }
    }
    p->socket = pair[0];
    p->output = pipes[0];
    if (rc != 0) {
        close_channels(p);
        return rc;
    }
    fcntl(p->output, F_SETFL, O_NONBLOCK);
    return 0;
}

int ds_process_start(ds_process *p, const ds_process_place *place, const ds_start_arguments *o,
                     uint32_t index, int describe, ds_error *e)
{
    ds_worker_start head = head_of(o, index, describe);
    int rc = spawn(p, place, &head, o->texts, e);
    p->state = rc == 0 ? DS_PROCESS_STARTING : DS_PROCESS_NONE;
    p->timed_out = p->cut_off = 0;
    p->born = ds_clock_ns();
    memset(&p->log, 0, sizeof(p->log));
    p->log.source = place->source;
    return rc;
}

int ds_process_instruct(ds_process *p, const ds_start_arguments *o)
{
    ds_worker_start head = head_of(o, 0, 0);
    char byte = DS_WORKER_SETTINGS;
    p->born = ds_clock_ns();
    int bad = ftruncate(p->start, 0) != 0 || lseek(p->start, 0, SEEK_SET) != 0 ||
              write_start(p->start, &head, o->texts, NULL) != 0;
    return bad || send(p->socket, &byte, 1, MSG_NOSIGNAL) != 1 ? -1 : 0;
}

void ds_process_read_output(ds_process *p)
{
    char bytes[4096];
    ssize_t got;
    /* Bounded: a plugin that prints without end must not delay its time limit. */
    for (int i = 0; i < 16 && p->output >= 0 && (got = read(p->output, bytes, sizeof(bytes))) >= 0; i++) {
        feed(&p->log, bytes, (size_t)got);
        if (got == 0) { /* closed: poll() would report it again and again */
            close(p->output);
            p->output = -1;
        }
    }
}

/* ---- waiting for a process, and its end ---- */

enum { POLL_SOCKET, POLL_OUTPUT, POLL_END };

void ds_process_poll(const ds_process *p, struct pollfd fds[DS_PROCESS_POLLS])
{
    const int used = p->state != DS_PROCESS_NONE;
    fds[POLL_SOCKET] = (struct pollfd){used ? p->socket : -1, POLLIN, 0};
    fds[POLL_OUTPUT] = (struct pollfd){used ? p->output : -1, POLLIN, 0};
    fds[POLL_END] = (struct pollfd){used ? p->end : -1, POLLIN, 0};
}

int ds_process_poll_ms(const ds_process *p, int ms)
{
    return p->state != DS_PROCESS_NONE && p->end < 0 && (ms < 0 || ms > BLIND_MS) ? BLIND_MS : ms;
}

/* Does not reap the process. Also true where another part of the program has reaped it. */
static int has_ended(pid_t pid)
{
    siginfo_t how = {.si_pid = 0};
    int rc;
    while ((rc = waitid(P_PID, (id_t)pid, &how, WEXITED | WNOHANG | WNOWAIT)) < 0 && errno == EINTR) {
    }
    return rc != 0 || how.si_pid != 0;
}

int ds_process_read(ds_process *p, const struct pollfd fds[DS_PROCESS_POLLS], char *byte)
{
    *byte = 0;
    if (fds[POLL_OUTPUT].revents != 0) {
        ds_process_read_output(p);
    }
    /* A message sent before its end counts. */
    ssize_t got = fds[POLL_SOCKET].revents != 0 ? recv(p->socket, byte, 1, MSG_DONTWAIT) : -1;
    if (got >= 0) {
        return got > 0;
    }
    if (fds[POLL_SOCKET].revents != 0 && errno != EAGAIN && errno != EINTR) {
        return 0;
    }
    return (fds[POLL_END].revents == 0 && p->end >= 0) || !has_ended(p->pid);
}

int ds_process_listen(ds_process *p, int ms, char *byte)
{
    struct pollfd fds[DS_PROCESS_POLLS];
    ds_process_poll(p, fds);
    if (poll(fds, DS_PROCESS_POLLS, ds_process_poll_ms(p, ms)) < 0) {
        *byte = 0;
        if (errno == EINTR) {
            return 1; /* the caller checks again */
        }
        ds_sleep_ms(BLIND_MS); /* without poll(): at intervals */
        ds_process_read_output(p);
        const ssize_t got = recv(p->socket, byte, 1, MSG_DONTWAIT);
        return got > 0 || (got < 0 && !has_ended(p->pid));
    }
    return ds_process_read(p, fds, byte);
}

void ds_process_kill(const ds_process *p)
{
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL); /* it may have left its group */
}

/* Sleeps until it has ended, at most `ms`. 0 = still running. */
static int await_end(const ds_process *p, int ms)
{
    const uint64_t until = ds_clock_ns() + (uint64_t)ms * 1000000u;
    while (!has_ended(p->pid)) {
        struct pollfd fd = {p->end, POLLIN, 0};
        if (ds_clock_ns() > until) {
            return 0;
        }
        if (poll(&fd, 1, p->end >= 0 ? 50 : 1) < 0 && errno != EINTR) {
            ds_sleep_ms(1);
        }
    }
    return 1;
}

int ds_process_reap(ds_process *p, int now)
{
    int status = 0;
    if (!now && !await_end(p, PARTING_MS)) { /* a socket ends a moment before its process */
        p->cut_off = 1;
    }
    /* Kill before reaping: until then the number cannot belong to another process. */
    ds_process_kill(p);
    if (await_end(p, DEATH_MS)) {
        waitpid(p->pid, &status, WNOHANG);
    }
    for (int i = 0; i < PARTING_READS; i++) { /* everything a pipe holds, in pieces of any size */
        ds_process_read_output(p);
    }
    if (p->log.used > 0) {
        show_line(&p->log);
    }
    note_suppressed(&p->log);
    close_channels(p);
    p->state = DS_PROCESS_NONE;
    return status;
}

double ds_process_start_limit(double start, double timeout, const char **name)
{
    int set = start <= 0.0 && (timeout <= 0.0 || timeout > DS_START_SECONDS);
    *name = set ? "timeout_s" : "start_timeout_s";
    return start > 0.0 ? start : set ? timeout : DS_START_SECONDS;
}

int ds_process_was_refused(const char *what, int status, ds_error *e)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == DS_WORKER_OTHER) {
        return ds_fail(
            e, DS_EXIT_IO,
            "%s: dshost-worker is of another build than this program: run make, or install both from "
            "one build",
            what);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == DS_WORKER_MUTE
               ? ds_fail(e, DS_EXIT_IO,
                         "%s: its process cannot write its description: the file size limit (ulimit -f) is "
                         "too small, or its start-up code set one",
                         what)
               : 0;
}

/* The name of a signal without SIG; NULL for one that nothing is killed by. */
static const char *signal_name(int sig)
{
#if __GLIBC_PREREQ(2, 32)
    return sigabbrev_np(sig);
#else
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
        [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",   [SIGKILL] = "KILL", [SIGUSR1] = "USR1",
        [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
        [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ", [SIGSYS] = "SYS"};
    return sig >= 0 && sig < (int)(sizeof names / sizeof names[0]) ? names[sig] : NULL;
#endif
}

void ds_process_describe_end(const ds_process *p, const char *who, int status, const char *limit, char *text,
                             size_t size)
{
    if (p->timed_out) {
        snprintf(text, size, "no answer within %s", limit);
    } else if (p->cut_off) {
        snprintf(text, size, "%s closed its connection to the host, or became another program", who);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == DS_WORKER_CORRUPT) {
        snprintf(text, size, "%s found its shared memory overwritten", who);
    } else if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        const char *name = signal_name(sig);
        snprintf(text, size, "%s was killed by SIG%s (%s)%s", who, name != NULL ? name : "?", strsignal(sig),
                 sig == SIGKILL ? ": killed from outside, perhaps because memory ran out" : "");
    } else {
        snprintf(text, size, "%s ended by itself with exit status %d", who, WEXITSTATUS(status));
    }
}

/* ---- describing a plugin ---- */

enum {
    POLL_MS = 50 /* between two checks of the stop flag */
};

/* The process that waits for an environment, and the one for an optimizer; module NULL = none. */
static ds_described_process waiting[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both; not held while waiting for a plugin */

static ds_described_process *place_of(const ds_module *module)
{
    return &waiting[module->plugin->desc->kind == DS_KIND_OPTIMIZER];
}

static void drop(ds_described_process *p)
{
    if (p->process.state != DS_PROCESS_NONE) {
        ds_process_reap(&p->process, 1);
    }
    if (p->share_fd >= 0) {
        close(p->share_fd);
    }
    if (p->scene_fd >= 0) {
        close(p->scene_fd);
    }
}

static void end(ds_described_process *p)
{
    if (p->module != NULL) {
        drop(p);
        p->module = NULL;
    }
}

void ds_describe_end(void)
{
    pthread_mutex_lock(&lock);
    end(&waiting[0]);
    end(&waiting[1]);
    pthread_mutex_unlock(&lock);
}

int ds_describe_take_process(const ds_module *module, ds_described_process *out)
{
    pthread_mutex_lock(&lock);
    ds_described_process *p = place_of(module);
    int mine = p->module == module && pthread_equal(p->starter, pthread_self()) != 0;
    if (mine) {
        *out = *p;
        p->module = NULL;
    }
    pthread_mutex_unlock(&lock);
    return mine;
}

/* Waits until the process has written the description into its start file. */
static int wait_described(ds_described_process *p, const ds_plugin_file *f, const ds_describe_config *c,
                          ds_error *e)
{
    ds_process *m = &p->process;
    const double limit = c->start_timeout > 0.0 ? c->start_timeout : DS_DESCRIBE_SECONDS;
    for (;;) {
        char byte;
        if (!ds_process_listen(m, POLL_MS, &byte)) {
            const int status = ds_process_reap(m, 0);
            const int refused = ds_process_was_refused(f->path, status, e);
            return refused != 0 ? refused : ds_loader_died(f->path, status, e);
        }
        if (byte == DS_WORKER_DESCRIBED) {
            return 0;
        }
        if ((c->stop != NULL && atomic_load(c->stop) != 0) ||
            (c->waiting != NULL && c->waiting(c->ctx) != 0)) {
            return ds_fail(e, DS_EXIT_SIGINT, "stopped before the first evaluation");
        }
        if (1e-9 * (double)(ds_clock_ns() - m->born) > limit) {
            return ds_fail(
                e, DS_EXIT_PLUGIN, "%s: its start-up code did not end within %g s%s", f->path, limit,
                c->start_timeout == DS_DESCRIBE_ONLY_SECONDS ? "; a run gives it 30 s, or run.start_timeout_s"
                                                             : ": raise run.start_timeout_s");
        }
    }
}

static int start(ds_described_process *p, const ds_plugin_file *f, const ds_describe_config *c, ds_error *e)
{
    ds_start_arguments orders = {.threads = 1};
    ds_process_place place = {c->program, p->share_fd, p->scene_fd, f->id};
    if (p->share_fd < 0 || p->scene_fd < 0) {
        return ds_no_descriptors("cannot make the shared memory of the workers", errno, e);
    }
    int rc = ds_start_arguments_make(&orders, f->path, f->id, NULL, e);
    rc = rc != 0 ? rc : ds_process_start(&p->process, &place, &orders, 0, 1, e);
    free(orders.texts);
    return rc;
}

/* Reads the description from the start file. */
static int read_report(int fd, const ds_plugin_file *f, const ds_module **out, ds_error *e)
{
    off_t end = lseek(fd, 0, SEEK_END);
    size_t size = end < 0 || end > DS_REPORT_MAX ? 0 : (size_t)end;
    void *bytes = malloc(size + 1);
    if (bytes == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    ssize_t got = pread(fd, bytes, size, 0);
    int rc = ds_loader_receive(bytes, got < 0 ? 0 : (size_t)got, f, out, e);
    free(bytes);
    return rc;
}

/* Lets a process describe the plugin, and keeps it in *p; ends the process on failure. */
static int describe_in_process(ds_described_process *p, const ds_plugin_file *f, const ds_describe_config *c,
                               const ds_module **out, ds_error *e)
{
    *p = (ds_described_process){.share_fd = ds_memory_file("diffsim-share"),
                                .scene_fd = ds_memory_file("diffsim-scene")};
    int rc = start(p, f, c, e);
    rc = rc != 0 ? rc : wait_described(p, f, c, e);
    rc = rc != 0 ? rc : read_report(p->process.start, f, out, e);
    if (rc != 0) {
        drop(p);
    }
    return rc;
}

static int describe(const ds_plugin_file *f, const ds_describe_config *c, const ds_module **out, ds_error *e)
{
    ds_described_process p;
    int rc = describe_in_process(&p, f, c, out, e);
    if (rc != 0) {
        return rc;
    }
    p.module = *out;
    p.starter = pthread_self();
    p.process.log.source = (*out)->id;
    pthread_mutex_lock(&lock);
    end(place_of(*out));
    *place_of(*out) = p;
    pthread_mutex_unlock(&lock);
    return 0;
}

int ds_describe_open(const char *name, uint32_t kind, const ds_describe_config *config, const ds_module **out,
                     ds_error *e)
{
    ds_plugin_file f;
    int rc = ds_plugin_find(name, kind, &f, e);
    const ds_module *m = rc == 0 ? ds_loader_known(f.path) : NULL;
    if (rc == 0 && m == NULL) {
        rc = describe(&f, config, &m, e);
    }
    return rc != 0 ? rc : ds_loader_of_kind(name, m, kind, out, e);
}

int ds_describe_file(const ds_plugin_file *f, const ds_describe_config *config, const ds_module **out,
                     ds_error *e)
{
    ds_described_process p;
    if ((*out = ds_loader_known(f->path)) != NULL) {
        return 0;
    }
    if (ds_plugin_is_own(f)) {
        return ds_loader_load(f, out, e);
    }
    int rc = describe_in_process(&p, f, config, out, e);
    if (rc == 0) {
        drop(&p);
    }
    return rc;
}

static int look_for(const char *name, uint32_t kind, const ds_describe_config *config, ds_plugin_file *f,
                    const ds_module **out, ds_error *e)
{
    const ds_module *m = NULL;
    int rc = ds_plugin_find(name, kind, f, e);
    rc = rc != 0 ? rc : ds_describe_file(f, config, &m, e);
    return rc != 0 ? rc : ds_loader_of_kind(name, m, kind, out, e);
}

int ds_describe_name(const char *name, uint32_t kind, const ds_describe_config *config, const ds_module **out,
                     ds_error *e)
{
    ds_plugin_file f;
    return look_for(name, kind, config, &f, out, e);
}

/* The start-up code succeeded in another process, but may fail here. */
static int load_third_party(const ds_plugin_file *f, const ds_module **out, ds_error *e)
{
    static char text[PATH_MAX + 80];
    int watched = ds_crash_watched();
    if (!watched) {
        snprintf(text, sizeof text, "the start-up code of %s, which was loaded into this process", f->path);
        ds_crash_watch(text, NULL, NULL);
    }
    ds_process_state *before = ds_process_state_save();
    ds_crash_end_at_once();
    int rc = ds_loader_load(f, out, e);
    ds_process_state_restore(before);
    if (!watched) {
        ds_crash_unwatch();
    }
    return rc;
}

int ds_describe_and_load(const char *name, uint32_t kind, const ds_describe_config *config,
                         const ds_module **out, ds_error *e)
{
    ds_plugin_file f;
    int rc = look_for(name, kind, config, &f, out, e);
    return rc != 0 ? rc : ds_plugin_is_own(&f) ? ds_loader_load(&f, out, e) : load_third_party(&f, out, e);
}
