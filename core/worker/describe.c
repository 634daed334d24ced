/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - starts a worker process that describes a plugin, and keeps it for the pool that opens next. */
#include "config.h"

#include "worker/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "protect/crash.h"
#include "protect/call_state.h"

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
            const int mute = ds_process_was_mute(f->path, status, e);
            return mute != 0 ? mute : ds_loader_died(f->path, status, e);
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
