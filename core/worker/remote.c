/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c - the memory shared with an optimizer in a process of its own: sizes, offsets and turns. */
#include "config.h"

#include "worker/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    SPIN_NS = 40000,
    SIDES =
        3, /* host, optimizer and a worker: a spinning side must not take the processor that another needs */
    ROWS_LEAST = 1 << 16,
    ALIGNMENT = 64
};
static const uint64_t ROWS_MOST = (uint64_t)1 << 42;

_Static_assert(sizeof(ds_remote) <= DS_REMOTE_HEAD, "the head has room for the struct");

/* ---- memory ---- */

static int map(ds_remote_view *v, int fd)
{
    void *head = mmap(NULL, DS_REMOTE_HEAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    v->head = head != MAP_FAILED ? head : NULL;
    v->fd = fd;
    return v->head != NULL ? 0 : -1;
}

/* The rows do not count against the plugin's memory limit. */
static void raise_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        const rlim_t wanted = limit.rlim_cur + (rlim_t)bytes;
        const int fits =
            wanted > limit.rlim_cur && (limit.rlim_max == RLIM_INFINITY || wanted <= limit.rlim_max);
        limit.rlim_cur = fits ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
}

static int map_rows(ds_remote_view *v, uint64_t bytes)
{
    void *rows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, DS_REMOTE_HEAD);
    if (rows == MAP_FAILED) {
        return -1;
    }
    if (v->rows != NULL) {
        munmap(v->rows, v->mapped);
    }
    v->rows = rows;
    v->mapped = bytes;
    return 0;
}

int ds_remote_follow(ds_remote_view *v)
{
    uint64_t bytes = v->head->rows;
    if (bytes == v->mapped) {
        return 0;
    }
    raise_limit(bytes);
    return map_rows(v, bytes);
}

int ds_remote_grow(ds_remote_view *v, uint64_t bytes)
{
    if (bytes <= v->mapped) {
        return 0;
    }
    uint64_t least = 2 * v->mapped > ROWS_LEAST ? 2 * v->mapped : ROWS_LEAST;
    bytes = bytes > least ? (bytes + ROWS_LEAST - 1) / ROWS_LEAST * ROWS_LEAST : least;
    if (bytes > ROWS_MOST || ftruncate(v->fd, (off_t)(DS_REMOTE_HEAD + bytes)) != 0 ||
        map_rows(v, bytes) != 0) {
        return -1;
    }
    v->head->rows = bytes; /* for the other side; never read here */
    return 0;
}

int ds_remote_make(ds_remote_view *v, int fd, const ds_problem *problem, ds_error *e)
{
    size_t bytes = problem->n * sizeof(double);
    v->side = DS_REMOTE_HOST;
    /* Sealed: access to a file that was truncated would end the process with SIGBUS. */
    if (ftruncate(fd, DS_REMOTE_HEAD) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
        map(v, fd) != 0 || ds_remote_grow(v, 3 * bytes) != 0) {
        return ds_fail(e, errno == EFBIG ? DS_EXIT_IO : DS_EXIT_MEMORY,
                       "no shared memory for the optimizer's process: %s%s", strerror(errno),
                       errno == EFBIG ? "; the file size limit (ulimit -f) is too small" : "");
    }
    ds_remote *r = v->head;
    memcpy(v->rows, problem->lower, bytes);
    memcpy(v->rows + bytes, problem->upper, bytes);
    memcpy(v->rows + 2 * bytes, problem->x0, bytes);
    r->problem = *problem;
    r->spin_ns = ds_processors() > SIDES ? SPIN_NS : 0;
    r->magic = DS_REMOTE_MAGIC;
    atomic_store(&r->turn, DS_REMOTE_OPTIMIZER);
    v->spin = (ds_spin){r->spin_ns, r->spin_ns};
    return 0;
}

int ds_remote_join(ds_remote_view *v, int fd)
{
    v->side = DS_REMOTE_OPTIMIZER;
    if (map(v, fd) != 0 || v->head->magic != DS_REMOTE_MAGIC || ds_remote_follow(v) != 0) {
        return -1;
    }
    v->spin = (ds_spin){v->head->spin_ns, v->head->spin_ns};
    return 0;
}

void ds_remote_leave(ds_remote_view *v)
{
    if (v->rows != NULL) {
        munmap(v->rows, v->mapped);
    }
    if (v->head != NULL) {
        munmap(v->head, DS_REMOTE_HEAD);
    }
    v->rows = NULL;
    v->head = NULL;
}

/* ---- turns ---- */

static int is_mine(const void *ctx)
{
    const ds_remote_view *v = ctx;
    return atomic_load(&v->head->turn) == v->side;
}

void ds_remote_pass(ds_remote_view *v)
{
    uint32_t other = v->side ^ 1u;
    atomic_store(&v->head->turn, other);
    if (atomic_exchange(&v->head->asleep[other], 0) != 0) {
        char byte = 0;
        send(v->socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* a dead process needs none */
    }
}

int ds_remote_await(ds_remote_view *v)
{
    if (ds_spin_until(&v->spin, is_mine, v)) {
        return 1;
    }
    atomic_store(&v->head->asleep[v->side], 1);
    if (is_mine(v)) {
        /* a byte may be on its way: the sleeper then checks again */
        atomic_store(&v->head->asleep[v->side], 0);
        return 1;
    }
    return 0;
}

/* ---- offsets ---- */

static void size_of_queries(const ds_remote_shape *s, const ds_remote_call *c, ds_remote_array *array)
{
    for (uint64_t i = 0; i < c->queries && i < DS_MAX_QUERIES; i++) {
        const ds_remote_query *a = &c->query[i];
        ds_remote_array *v = &array[DS_REMOTE_QUERIES + 3 * i], *w = v + 1, *out = v + 2;
        const ds_channel *channel = a->channel < s->channels ? s->channel[a->channel] : NULL;
        if (channel != NULL && a->op <= DS_QUERY_HV &&
            (channel->ops & DS_CAN(a->op)) != 0) { /* anything else is refused */
            uint64_t elements = ds_channel_elements(channel) * sizeof(double), row = s->n * sizeof(double);
            v->each = a->op == DS_QUERY_JTV                          ? elements
                      : a->op == DS_QUERY_JV || a->op == DS_QUERY_HV ? row
                                                                     : 0;
            w->each = a->op == DS_QUERY_HV ? elements : 0;
            out->each = (ds_channel_bytes(channel, a->op, s->n) + 7) / 8 * 8;
        }
    }
}

static void size_of_arrays(const ds_remote_shape *s, const ds_remote_call *c, ds_remote_array *array)
{
    if (c->what == DS_REMOTE_SAVE || c->what == DS_REMOTE_REPORT) {
        array[DS_REMOTE_DATA].each = 1;
        return;
    }
    if (c->what == DS_REMOTE_BEGIN || c->what == DS_REMOTE_STEP) {
        array[DS_REMOTE_LANE].each = sizeof(uint64_t);
        array[DS_REMOTE_ACTION].each = s->n_act * sizeof(double);
        array[DS_REMOTE_OBS].each = s->n_obs * sizeof(double);
        array[DS_REMOTE_REWARD].each = array[DS_REMOTE_EPISODE_LOSS].each = sizeof(double);
        array[DS_REMOTE_ENDED].each = array[DS_REMOTE_EPISODE_OUTCOME].each = sizeof(uint32_t);
        array[DS_REMOTE_EPISODE_COST].each = sizeof(uint64_t);
        return;
    }
    if (c->what == DS_REMOTE_BACK) {
        array[DS_REMOTE_BACK_LANE].each = array[DS_REMOTE_BACK_STEP].each = sizeof(uint64_t);
        array[DS_REMOTE_BACK_COST].each = sizeof(uint64_t);
        array[DS_REMOTE_BACK_REWARD].each = sizeof(double);
        array[DS_REMOTE_BACK_OBS].each = s->n_obs * sizeof(double);
        array[DS_REMOTE_BACK_ACTION].each = s->n_act * sizeof(double);
        array[DS_REMOTE_BACK_OUTCOME].each = sizeof(uint32_t);
        return;
    }
    array[DS_REMOTE_X].each = s->n * sizeof(double);
    array[DS_REMOTE_LOSS].each = sizeof(double);
    array[DS_REMOTE_OUTCOME].each = sizeof(uint32_t);
    array[DS_REMOTE_GRAD].each = s->n * sizeof(double);
    array[DS_REMOTE_NOISE].each = array[DS_REMOTE_COST].each = sizeof(uint64_t);
    array[DS_REMOTE_KIND].each = array[DS_REMOTE_PRODUCT_KIND].each = sizeof(uint32_t);
    array[DS_REMOTE_BAD_STEP].each = sizeof(int64_t);
    size_of_queries(s, c, array);
}

uint64_t ds_remote_lay_out(const ds_remote_shape *s, const ds_remote_call *c,
                           ds_remote_array array[DS_REMOTE_ARRAYS])
{
    uint64_t at = 0, bytes = 0;
    for (int k = 0; k < DS_REMOTE_ARRAYS; k++) {
        array[k].each = array[k].at = 0;
    }
    if (c->what < DS_REMOTE_EVALUATE || c->what > DS_REMOTE_REPORT) {
        return 0;
    }
    size_of_arrays(s, c, array);
    for (int k = 0; k < DS_REMOTE_ARRAYS; k++) {
        array[k].each = (c->given >> k & 1u) != 0 ? array[k].each : 0;
        array[k].at = at;
        if (__builtin_mul_overflow(array[k].each, c->count, &bytes) || bytes > ROWS_MOST) {
            return UINT64_MAX;
        }
        at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return at;
}
