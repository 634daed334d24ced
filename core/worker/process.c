/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - starts worker processes, with default signals and seven descriptors, and collects them. */
#include "config.h"

#include "worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/program.h"

enum { LINES_PER_SECOND = 20 /* of their output that are shown */ };

/* Moves a descriptor above those that the worker is to have, so that dup2() overwrites none that is still
 * needed. */
static int move_up(int *fd)
{
    int low = *fd;
    *fd = fcntl(low, F_DUPFD_CLOEXEC, DS_WORKER_FDS + 3);
    close(low);
    return *fd < 0 ? -1 : 0;
}

int ds_memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    return fd >= 0 && move_up(&fd) == 0 ? fd : -1;
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

/* A worker's own messages arrive as "dshost: LEVEL: text" (log.h); everything else was printed by the plugin.
 */
static void show_line(ds_childlog *log)
{
    static const char own[] = "dshost: ";
    static const char *const prefix[] = {"debug: ", "", "warning: ", "error: "};
    const char *text = log->line;
    log->line[log->used] = '\0';
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
            ds_log(level, NULL, "%s", text + len);
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

int ds_orders_write(ds_orders *o, const char *path, const char *id, const ds_params *p, ds_error *e)
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

static ds_worker_start head_of(const ds_orders *o, uint32_t index, int describe)
{
    return (ds_worker_start){.magic = DS_WORKER_MAGIC,
                             .seed = o->seed,
                             .memory = o->memory,
                             .threads = o->threads,
                             .index = index,
                             .settings = o->settings,
                             .describe = describe != 0,
                             .texts = o->bytes,
                             .parent = getpid()};
}

static void close_channels(ds_process *p)
{
    int *fds[] = {&p->socket, &p->output, &p->start};
    for (int i = 0; i < 3; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
    p->pid = 0;
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
    p->start = ds_memory_file("diffsim-start");
    if (rc == 0 &&
        (null < 0 || p->start < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
         pipe2(pipes, O_CLOEXEC) != 0 || move_up(&null) != 0 || move_up(&pair[1]) != 0 ||
         move_up(&pipes[1]) != 0)) {
        rc = ds_fail(e, DS_EXIT_IO, "cannot make the channels of a worker process: %s", strerror(errno));
    }
    rc = rc != 0 ? rc : write_start(p->start, head, texts, e);
    if (rc == 0) {
        const int source[DS_WORKER_FDS] = {null,     pipes[1],        pipes[1],       pair[1],
                                           p->start, place->share_fd, place->scene_fd};
        char name[] = "dshost-worker", *argv[] = {name, NULL};
        int code = ds_program_start(program, argv, source, DS_WORKER_FDS, 0, &p->pid);
        if (code != 0) {
            rc = ds_fail(e, code == ENOMEM ? DS_EXIT_MEMORY : DS_EXIT_IO,
                         "cannot start a worker process (%s): %s", program, strerror(code));
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

int ds_process_start(ds_process *p, const ds_process_place *place, const ds_orders *o, uint32_t index,
                     int describe, ds_error *e)
{
    ds_worker_start head = head_of(o, index, describe);
    int rc = spawn(p, place, &head, o->texts, e);
    p->state = rc == 0 ? DS_PROCESS_STARTING : DS_PROCESS_NONE;
    p->timed_out = 0;
    p->born = ds_clock_ns();
    memset(&p->log, 0, sizeof(p->log));
    p->log.source = place->source;
    return rc;
}

int ds_process_instruct(ds_process *p, const ds_orders *o)
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
    /* Bounded: one that prints without end must not keep us from its time limit. */
    for (int i = 0; i < 16 && (got = read(p->output, bytes, sizeof(bytes))) > 0; i++) {
        feed(&p->log, bytes, (size_t)got);
    }
}

/* Collects a process whose socket has ended; that happens a moment before it is gone. */
static void reap(pid_t pid, int *status)
{
    struct timespec nap = {0, 1000000};
    for (int i = 0; i < 30; i++) {
        if (waitpid(pid, status, WNOHANG) != 0) {
            return;
        }
        nanosleep(&nap, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
}

int ds_process_bury(ds_process *p, int now)
{
    int status = 0;
    if (now) {
        kill(p->pid, SIGKILL);
    }
    reap(p->pid, &status);
    ds_process_read_output(p);
    if (p->log.used > 0) {
        show_line(&p->log);
    }
    note_suppressed(&p->log);
    close_channels(p);
    p->state = DS_PROCESS_NONE;
    return status;
}

void ds_process_say_how(const ds_process *p, const char *who, int status, double timeout, char *text,
                        size_t size)
{
    if (p->timed_out) {
        snprintf(text, size, "no answer within %g s (timeout_s)", timeout);
    } else if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        const char *name = sigabbrev_np(sig);
        snprintf(text, size, "%s died of SIG%s (%s)%s", who, name != NULL ? name : "?", strsignal(sig),
                 sig == SIGKILL ? ": killed from outside, perhaps for want of memory" : "");
    } else {
        snprintf(text, size, "%s ended by itself with exit status %d", who, WEXITSTATUS(status));
    }
}
