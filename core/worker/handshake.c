/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.c - the host reads and tests what a worker reports. */
#include "config.h"

#include "worker/handshake.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "worker/remote.h"
#include "worker/ring.h"

uint64_t ds_worker_layout(void)
{
    const uint64_t shared[] = {
        DS_RING_MAGIC,           DS_REMOTE_MAGIC,           sizeof(ds_worker_start),
        sizeof(ds_worker_hello), sizeof(ds_named_variable), sizeof(ds_channel_entry),
        sizeof(ds_ring_head),    sizeof(ds_ring_layout),    sizeof(ds_ring_worker),
        sizeof(ds_slot),         sizeof(ds_slot_request),   sizeof(ds_remote),
        sizeof(ds_remote_call),  sizeof(ds_remote_query),   offsetof(ds_slot, answer),
    };
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        hash = (hash ^ shared[i]) * 0x100000001b3u;
    }
    for (const char *p = PACKAGE_VERSION; *p != '\0'; p++) {
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    }
    return hash;
}

static int damaged(const char *id, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's reply is damaged", id);
}

static int incomplete(const char *id, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: the worker's reply is incomplete", id);
}

static int read_head(const char *id, int fd, ds_worker_hello *hello, ds_error *e)
{
    if (pread(fd, hello, sizeof(*hello), 0) != (ssize_t)sizeof(*hello) || hello->magic != DS_WORKER_MAGIC) {
        return incomplete(id, e);
    }
    if (hello->error.status == 0) {
        return 0;
    }
    int known = hello->error.status > 0 && hello->error.status < 77;
    hello->error.text[sizeof(hello->error.text) - 1] = '\0';
    ds_text_clean(hello->error.text);
    return ds_fail(e, known ? hello->error.status : DS_EXIT_PLUGIN, "%s", hello->error.text);
}

/* Reads the channels of a reply from offset `at`. */
static int read_channels(const char *id, const ds_worker_hello *hello, int fd, size_t at, ds_channels *out,
                         ds_error *e)
{
    if (hello->channels > DS_MAX_CHANNELS) {
        return damaged(id, e);
    }
    size_t bytes = hello->channels * sizeof(ds_channel_entry);
    ds_channel_entry *entry = malloc(bytes > 0 ? bytes : 1);
    if (entry == NULL) {
        return ds_no_memory(e);
    }
    if (pread(fd, entry, bytes, (off_t)at) != (ssize_t)bytes) {
        free(entry);
        return incomplete(id, e);
    }
    return ds_channels_receive(id, entry, hello->channels, out, e);
}

/* Could these numbers belong to an environment that plugin/env.c accepted? */
static int credible(const ds_env_facts *f)
{
    const ds_steps_info *rl = &f->steps;
    int steps = rl->horizon == 0 ||
                (rl->horizon <= f->info.n && rl->n_act >= 1 && rl->n_act <= f->info.n &&
                 rl->horizon * rl->n_act == f->info.n && rl->n_obs >= 1 && rl->n_obs <= DS_MAX_OBSERVED);
    return f->info.n >= 1 && f->info.n <= DS_MAX_VARIABLES && f->max_rows >= 1 && f->episodes >= 1 && steps &&
           isfinite(f->info.tolerance) && f->info.tolerance >= 0.0 && ds_score_credible(&f->score);
}

/* Ends the names of variables, and makes them printable. */
static void tidy_names(ds_named_variable *v, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        v[i].name[DS_MAX_NAME] = v[i].unit[DS_MAX_NAME] = v[i].group[DS_MAX_NAME] = '\0';
        ds_text_clean(v[i].name);
        ds_text_clean(v[i].unit);
        ds_text_clean(v[i].group);
    }
}

int ds_handshake_read(const char *id, int fd, ds_handshake *out, ds_error *e)
{
    ds_worker_hello hello;
    memset(out, 0, sizeof(*out));
    if (read_head(id, fd, &hello, e) != 0) {
        return e->status;
    }
    if (!credible(&hello.env)) {
        return damaged(id, e);
    }
    /* The names follow the bounds; their size is a multiple of 4. */
    uint64_t n = hello.env.info.n;
    size_t bytes = 3 * n * sizeof(double),
           names = hello.env.variables != NULL ? n * sizeof(ds_named_variable) : 0;
    out->bounds = malloc(bytes + names);
    if (out->bounds == NULL) {
        return ds_no_memory(e);
    }
    if (pread(fd, out->bounds, bytes + names, sizeof(hello)) != (ssize_t)(bytes + names)) {
        return incomplete(id, e);
    }
    out->facts = hello.env;
    out->facts.lower = out->bounds;
    out->facts.upper = out->bounds + n;
    out->facts.x0 = out->bounds + 2 * n;
    out->facts.params = NULL;
    ds_hooks_tidy(&out->facts.hooks);
    out->facts.variables = names > 0 ? (void *)(out->bounds + 3 * n) : NULL;
    tidy_names((void *)(out->bounds + 3 * n), names > 0 ? n : 0);
    out->facts.channels = &out->channels;
    int rc = ds_bounds_check(id, n, out->facts.lower, out->facts.upper, out->facts.x0, DS_EXIT_PLUGIN, e);
    return rc != 0 ? rc : read_channels(id, &hello, fd, sizeof(hello) + bytes + names, &out->channels, e);
}

void ds_handshake_clear(ds_handshake *g)
{
    free(g->bounds);
    ds_channels_clear(&g->channels);
    g->bounds = NULL;
}

int ds_handshake_compare(const char *id, int fd, const ds_handshake *first, ds_error *e)
{
    ds_worker_hello hello;
    ds_channels channels = {0};
    uint64_t n = first->facts.info.n;
    if (read_head(id, fd, &hello, e) != 0) {
        return e->status;
    }
    if (hello.env.info.n != n) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: info() returned %llu variables in one process and %llu in another", id,
                       (unsigned long long)n, (unsigned long long)hello.env.info.n);
    }
    if (hello.env.score.noise != first->facts.score.noise) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: noise on actions differs between two processes", id);
    }
    size_t names = hello.env.variables != NULL ? sizeof(ds_named_variable) : 0;
    size_t at = sizeof(hello) + n * (3 * sizeof(double) + names);
    int rc = read_channels(id, &hello, fd, at, &channels, e);
    if (rc == 0 && !ds_channels_equal(&first->channels, &channels)) {
        rc = ds_fail(e, DS_EXIT_PLUGIN, "%s: channels differ between two processes", id);
    }
    ds_channels_clear(&channels);
    return rc;
}
