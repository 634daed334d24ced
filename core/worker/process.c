/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - starts worker processes, reads what they print and collects them. */
#include "config.h"

#include "worker/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

int ds_orders_write(ds_orders *o, const char *path, const char *id, const ds_params *p, ds_error *e)
{
    size_t size = 0;
    FILE *f = open_memstream(&o->texts, &size);
    if (f == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    fprintf(f, "%s%c%s%c", path, 0, id, 0);
    for (size_t i = 0; p != NULL && i < ds_params_count(p); i++) {
        if (ds_params_given(p, i)) {
            fprintf(f, "%s%c%s%c", ds_params_info(p, i)->name, 0, ds_params_value_text(p, i), 0);
            o->settings++;
        }
    }
    if (fclose(f) != 0) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
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

int ds_process_start(ds_process *p, const ds_process_place *place, const ds_orders *o, uint32_t index,
                     int describe, ds_error *e)
{
    ds_worker_start head = head_of(o, index, describe);
    int rc = ds_spawn_worker(place->program, &head, o->texts, place->share_fd, place->scene_fd, &p->child, e);
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
    p->born = ds_clock_ns();
    return ds_child_tell(&p->child, &head, o->texts);
}

void ds_process_read_output(ds_process *p)
{
    char bytes[4096];
    ssize_t got;
    /* Bounded: one that prints without end must not keep us from its time limit. */
    for (int i = 0; i < 16 && (got = read(p->child.output, bytes, sizeof(bytes))) > 0; i++) {
        ds_childlog_feed(&p->log, bytes, (size_t)got);
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
        kill(p->child.pid, SIGKILL);
    }
    reap(p->child.pid, &status);
    ds_process_read_output(p);
    ds_childlog_end(&p->log);
    ds_child_close(&p->child);
    p->state = DS_PROCESS_NONE;
    return status;
}

void ds_process_say_how(const ds_process *p, int status, double timeout, char *text, size_t size)
{
    if (p->timed_out) {
        snprintf(text, size, "no answer within %g s (timeout_s)", timeout);
    } else if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        const char *name = sigabbrev_np(sig);
        snprintf(text, size, "the worker died of SIG%s (%s)%s", name != NULL ? name : "?", strsignal(sig),
                 sig == SIGKILL ? ": killed from outside, perhaps for want of memory" : "");
    } else {
        snprintf(text, size, "the worker ended by itself with exit status %d", WEXITSTATUS(status));
    }
}
