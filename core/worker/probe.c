/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - starts the worker process that describes a plugin, and keeps it for the pool that comes next. */
#include "config.h"

#include "worker/probe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { POLL_MS = 50 /* between two looks at the stop flag */ };

/* At most one waits of each kind, of the last module that was described: module NULL = none. */
static ds_probe waiting[2];

static ds_probe *place_of(const ds_module *module)
{
    return &waiting[module->plugin->desc->kind == DS_KIND_OPTIMIZER];
}

static void drop(ds_probe *p)
{
    if (p->process.state != DS_PROCESS_NONE) {
        ds_process_bury(&p->process, 1);
    }
    if (p->share_fd >= 0) {
        close(p->share_fd);
    }
    if (p->scene_fd >= 0) {
        close(p->scene_fd);
    }
}

static void end(ds_probe *p)
{
    if (p->module != NULL) {
        drop(p);
        p->module = NULL;
    }
}

void ds_probe_end(void)
{
    end(&waiting[0]);
    end(&waiting[1]);
}

int ds_probe_take(const ds_module *module, ds_probe *out)
{
    ds_probe *p = place_of(module);
    if (p->module != module) {
        return 0;
    }
    *out = *p;
    p->module = NULL;
    return 1;
}

static int overdue(const ds_probe *p, const ds_probe_config *c, double *limit)
{
    *limit = c->timeout > DS_START_SECONDS ? c->timeout : DS_START_SECONDS;
    return c->timeout > 0.0 && 1e-9 * (double)(ds_clock_ns() - p->process.born) > *limit;
}

/* Waits until the process has described the plugin, which is to be found in its start file. */
static int wait_described(ds_probe *p, const ds_plugin_file *f, const ds_probe_config *c, ds_error *e)
{
    ds_process *m = &p->process;
    double limit;
    for (;;) {
        struct pollfd fds[] = {{m->socket, POLLIN, 0}, {m->output, POLLIN, 0}};
        char byte = 0;
        if (poll(fds, 2, POLL_MS) > 0 && fds[1].revents != 0) {
            ds_process_read_output(m);
        }
        ssize_t got = recv(m->socket, &byte, 1, MSG_DONTWAIT);
        if (got == 1 && byte == DS_WORKER_DESCRIBED) {
            return 0;
        }
        if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
            return ds_loader_died(f->path, ds_process_bury(m, 0), e);
        }
        if (c->stop != NULL && atomic_load(c->stop) != 0) {
            return ds_fail(e, DS_EXIT_SIGINT, "stopped before the first evaluation");
        }
        if (overdue(p, c, &limit)) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: its start-up code has not ended within %g s (timeout_s)",
                           f->path, limit);
        }
    }
}

static int start(ds_probe *p, const ds_plugin_file *f, const ds_probe_config *c, ds_error *e)
{
    ds_orders orders = {.threads = 1};
    ds_process_place place = {c->program, p->share_fd, p->scene_fd, f->id};
    if (p->share_fd < 0 || p->scene_fd < 0) {
        return ds_fail(e, DS_EXIT_IO, "cannot make the shared memory of the workers: %s", strerror(errno));
    }
    int rc = ds_orders_write(&orders, f->path, f->id, NULL, e);
    rc = rc != 0 ? rc : ds_process_start(&p->process, &place, &orders, 0, 1, e);
    free(orders.texts);
    return rc;
}

/* Reads the report from the start file. */
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

static int describe(const ds_plugin_file *f, const ds_probe_config *c, const ds_module **out, ds_error *e)
{
    ds_probe p = {.share_fd = ds_memory_file("diffsim-share"), .scene_fd = ds_memory_file("diffsim-scene")};
    int rc = start(&p, f, c, e);
    rc = rc != 0 ? rc : wait_described(&p, f, c, e);
    rc = rc != 0 ? rc : read_report(p.process.start, f, out, e);
    if (rc != 0) {
        drop(&p);
        return rc;
    }
    p.module = *out;
    p.process.log.source = (*out)->id;
    end(place_of(*out));
    *place_of(*out) = p;
    return 0;
}

int ds_probe_open(const char *name, uint32_t kind, const ds_probe_config *config, const ds_module **out,
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
