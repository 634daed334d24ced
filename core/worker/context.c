/* SPDX-License-Identifier: Apache-2.0 */
/* duty.c - the start file of a worker process: which plugin, and which settings; and the bytes to and from
 * its host. */
#include "config.h"

#include "worker/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/blas_room.h"
#include "worker/life.h"

int ds_worker_read_start(ds_worker_context *w, ds_error *e)
{
    ds_worker_start *s = &w->start;
    if (pread(DS_WORKER_START, s, sizeof(*s), 0) != (ssize_t)sizeof(*s) || s->magic != DS_WORKER_MAGIC) {
        return ds_fail(e, DS_EXIT_USAGE, "dshost-worker is for dshost itself");
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
void ds_worker_limit_memory(const ds_worker_context *w)
{
    if (w->start.memory > 0) {
        ds_blas_reserve_for(w->texts);
    }
    ds_worker_limit_address_space(w->start.memory);
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
        const ds_place place = {w->start.threads, w->start.worker, w->start.workers};
        rc = ds_env_open_at(module, &settings, w->start.seed, &place, NULL, out, e);
        ds_worker_after_call("create()");
    }
    ds_settings_clear(&settings);
    return rc;
}
