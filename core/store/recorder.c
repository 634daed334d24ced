/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.c - a bounded queue of rows with one producer and one consumer, the writer thread. */
#include "config.h"

#include "store/recorder.h"

#include "base/log.h"
#include "base/clock.h"
#include "protect/call_state.h"
#include "protect/crash.h"

#include <diffsim/env.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    QUEUE_BYTES = 8 << 20, /* memory of the queue, unless single rows are larger */
    QUEUE_ROWS_MAX = 1 << 15,
    QUEUE_ROWS_MIN = 4,
    GROUP_ROWS_MAX = 1000,   /* lost where a group does not fit on the disk */
    GATHER_NS = 25 * 1000000 /* gathering time of a group; commits are less than 50 ms apart */
};

static const double DRAIN_SECONDS = 3.0; /* limit of the crash handler */

struct ds_recorder {
    ds_store *store;
    uint64_t n;
    uint64_t capacity; /* rows in the queue */
    size_t stride;     /* bytes per row: ds_row, x, grad, extension values */
    unsigned char *queue;
    pthread_t thread;
    sem_t wake;            /* posted, also from a signal handler, to make the writer look now */
    sem_t room;            /* posted after every group while the producer waits */
    atomic_ullong pushed;  /* rows handed over, by the producer */
    atomic_ullong written; /* rows committed, by the writer */
    atomic_int hurry;      /* skip gathering */
    atomic_int idle;       /* the writer sleeps until it is woken */
    atomic_int waiting;    /* the producer sleeps until there is room or everything is written */
    atomic_int quit;
    atomic_int failed;
    ds_error error; /* valid once `failed` is set */
};

static unsigned char *row_at(const ds_recorder *r, uint64_t index)
{
    return r->queue + (size_t)(index % r->capacity) * r->stride;
}

/* Writes rows from..to-1 as one group. */
static int write_rows(ds_recorder *r, uint64_t from, uint64_t to)
{
    int rc = ds_store_begin(r->store, &r->error);
    for (uint64_t i = from; i < to && rc == 0; i++) {
        unsigned char *slot = row_at(r, i);
        ds_row row;
        memcpy(&row, slot, sizeof(row));
        row.x = (const double *)(const void *)(slot + sizeof(ds_row));
        row.grad = row.grad != NULL ? row.x + r->n : NULL;
        row.extra.asked = row.extra.asked != NULL ? row.x + 2 * r->n : NULL;
        row.extra.answered = row.extra.answered != NULL ? row.x + 2 * r->n + row.extra.asked_count : NULL;
        rc = ds_store_insert(r->store, &row, &r->error);
    }
    return rc != 0 ? rc : ds_store_commit(r->store, &r->error);
}

/* Writes as many rows as fit on a full disk. */
static void write_what_fits(ds_recorder *r, uint64_t from, uint64_t to)
{
    const ds_error first = r->error;
    for (uint64_t rows = (to - from) / 2; rows > 0 && ds_store_is_full(r->store); rows /= 2) {
        from += write_rows(r, from, from + rows) == 0 ? rows : 0;
    }
    r->error = first;
}

/* Writes rows as a group unless an earlier group failed, and frees what the rows own outside their slot. */
static int write_group(ds_recorder *r, uint64_t from, uint64_t to)
{
    int rc = atomic_load(&r->failed) ? DS_EXIT_IO : write_rows(r, from, to);
    if (rc != 0 && !atomic_load(&r->failed)) {
        write_what_fits(r, from, to);
    }
    for (uint64_t i = from; i < to; i++) {
        ds_row row;
        memcpy(&row, row_at(r, i), sizeof(row));
        free(row.episode);
        free(row.progress);
    }
    return rc;
}

/* Wakes the writer, which then skips gathering. */
static void wake_now(ds_recorder *r)
{
    atomic_store(&r->hurry, 1);
    sem_post(&r->wake);
}

static void wait_for(sem_t *s)
{
    while (sem_wait(s) != 0 && errno == EINTR) {
    }
}

/* Sleeps for GATHER_NS, or until `hurry` is set. */
static void gather(ds_recorder *r)
{
    const uint64_t until = ds_clock_ns() + GATHER_NS;
    while (!atomic_load(&r->hurry) && ds_sem_wait_until(&r->wake, until) == 0) {
    }
}

static void *writer(void *arg)
{
    ds_locale_use_c();
    ds_recorder *r = arg;
    for (;;) {
        uint64_t from = atomic_load(&r->written);
        if (atomic_load(&r->pushed) == from) {
            if (atomic_load(&r->quit)) {
                return NULL;
            }
            atomic_store(&r->idle, 1);
            if (atomic_load(&r->pushed) == from && !atomic_load(&r->quit)) {
                wait_for(&r->wake);
            }
            atomic_store(&r->idle, 0);
            continue;
        }
        if (!atomic_load(&r->hurry) && !atomic_load(&r->quit)) {
            gather(r);
        }
        atomic_store(&r->hurry, 0);
        uint64_t to = atomic_load(&r->pushed);
        to = to - from > GROUP_ROWS_MAX ? from + GROUP_ROWS_MAX : to;
        if (to < atomic_load(&r->pushed)) {
            atomic_store(&r->hurry, 1);
        }
        if (write_group(r, from, to) != 0) {
            atomic_store(&r->failed, 1);
        }
        /* after a failure the queue is emptied, so that no thread waits for ever */
        atomic_store(&r->written, to);
        if (atomic_exchange(&r->waiting, 0)) {
            sem_post(&r->room);
        }
    }
}

static void discard(ds_recorder *r)
{
    sem_destroy(&r->wake);
    sem_destroy(&r->room);
    free(r->queue);
    free(r);
}

int ds_recorder_open(ds_store *store, uint64_t extra, ds_recorder **out, ds_error *e)
{
    size_t stride = sizeof(ds_row) + (2 * ds_store_n(store) + extra) * sizeof(double);
    uint64_t rows = QUEUE_BYTES / stride;
    rows = rows > QUEUE_ROWS_MAX ? QUEUE_ROWS_MAX : rows < QUEUE_ROWS_MIN ? QUEUE_ROWS_MIN : rows;
    ds_recorder *r = calloc(1, sizeof(*r));
    if (r == NULL || (r->queue = malloc(rows * stride)) == NULL) {
        free(r);
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory for the queue of the store");
    }
    r->store = store;
    r->n = ds_store_n(store);
    r->stride = stride;
    r->capacity = rows;
    sem_init(&r->wake, 0, 0);
    sem_init(&r->room, 0, 0);
    /* Signals belong to the thread that runs the optimizer. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&r->thread, NULL, writer, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        discard(r);
        return ds_no_thread("of the store", code, e);
    }
    *out = r;
    return 0;
}

static int report(const ds_recorder *r, ds_error *e)
{
    return atomic_load(&r->failed) ? ds_fail(e, r->error.status, "%s", r->error.text) : 0;
}

static void copy_numbers(double *to, const double *from, uint64_t count)
{
    if (from != NULL) {
        memcpy(to, from, count * sizeof(double));
    }
}

/* Waits until at most `rows` rows are in the queue. */
static void wait_until_below(ds_recorder *r, uint64_t rows)
{
    while (atomic_load(&r->pushed) - atomic_load(&r->written) > rows) {
        atomic_store(&r->waiting, 1);
        if (atomic_load(&r->pushed) - atomic_load(&r->written) <= rows) {
            break;
        }
        wake_now(r);
        wait_for(&r->room);
    }
}

int ds_recorder_append(ds_recorder *r, const ds_row *row, int urgent, ds_error *e)
{
    if (atomic_load_explicit(&r->failed, memory_order_acquire)) {
        free(row->episode);
        free(row->progress);
        return report(r, e);
    }
    uint64_t pushed = atomic_load_explicit(&r->pushed, memory_order_relaxed);
    uint64_t fill = pushed - atomic_load_explicit(&r->written, memory_order_acquire);
    if (fill >= r->capacity) {
        wait_until_below(r, r->capacity / 2);
        fill = pushed - atomic_load(&r->written);
    }
    unsigned char *slot = row_at(r, pushed);
    double *x = (double *)(void *)(slot + sizeof(ds_row));
    memcpy(slot, row, sizeof(*row));
    copy_numbers(x, row->x, r->n);
    copy_numbers(x + r->n, row->grad, r->n);
    copy_numbers(x + 2 * r->n, row->extra.asked, row->extra.asked_count);
    copy_numbers(x + 2 * r->n + row->extra.asked_count, row->extra.answered, row->extra.answered_count);
    atomic_store(&r->pushed, pushed + 1);
    if (urgent || fill == r->capacity / 2) {
        wake_now(r);
    } else if (atomic_load(&r->idle) && atomic_exchange(&r->idle, 0)) {
        sem_post(&r->wake);
    }
    return 0;
}

int ds_recorder_drain(ds_recorder *r, ds_error *e)
{
    wait_until_below(r, 0);
    return report(r, e);
}

/* Runs in a signal handler, so it is async-signal-safe; the writer continues in its own thread. Returns 1
 * when everything is committed. */
static int drain_in_handler(void *recorder)
{
    ds_recorder *r = recorder;
    struct timespec nap = {0, 1000000};
    if (r == NULL) {
        return 1;
    }
    wake_now(r);
    for (double waited = 0.0; atomic_load(&r->written) != atomic_load(&r->pushed); waited += 1e-3) {
        if (waited > DRAIN_SECONDS) {
            return 0;
        }
        nanosleep(&nap, NULL);
    }
    return !atomic_load(&r->failed);
}

void ds_recorder_watch_crash(const char *text, ds_recorder *recorder)
{
    ds_crash_watch(text, drain_in_handler, recorder);
}

int ds_recorder_close(ds_recorder *r, ds_error *e)
{
    if (r == NULL) {
        return 0;
    }
    atomic_store(&r->quit, 1);
    wake_now(r);
    pthread_join(r->thread, NULL);
    int rc = report(r, e);
    discard(r);
    return rc;
}

/* ---- replay ---- */

/* Relative to the width of the bounds, or to the value where it is larger. */
static const double TOLERANCE = 1e-9;

struct ds_replay {
    ds_store *store;
    ds_cursor *cursor;
    const double *width;
    uint64_t n, left;
    int warned;
};

int ds_replay_open(ds_store *store, const double *width, ds_replay **out, ds_error *e)
{
    ds_replay *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return ds_no_memory(e);
    }
    r->store = store;
    r->width = width;
    r->n = ds_store_n(store);
    int rc = ds_store_count(store, &r->left, e);
    rc = rc != 0 ? rc : ds_cursor_open(store, 1, &r->cursor, e);
    if (rc != 0) {
        ds_replay_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void ds_replay_close(ds_replay *r)
{
    if (r != NULL) {
        ds_cursor_close(r->cursor);
        free(r);
    }
}

uint64_t ds_replay_left(const ds_replay *r)
{
    return r->left;
}

int ds_replay_compare(const char *path, const double *width, uint64_t id, uint64_t first, uint64_t count,
                      const double *x, const double *stored, int *warned, ds_error *e)
{
    double worst = 0.0;
    uint64_t where = first;
    if (memcmp(x, stored + first, count * sizeof(double)) == 0) {
        return 0;
    }
    for (uint64_t k = 0; k < count; k++) {
        uint64_t i = first + k;
        double scale = fabs(stored[i]) > width[i] ? fabs(stored[i]) : width[i];
        double difference = fabs(x[k] - stored[i]), d = difference > 0 ? difference / scale : difference;
        if (!(d <= worst)) {
            worst = d;
            where = i;
        }
    }
    if (!(worst < TOLERANCE)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: at evaluation %llu the optimizer now requests another point (variable %llu: "
                       "%.17g, recorded %.17g): it is not deterministic, or not the version or machine that "
                       "made this run; nothing was changed",
                       path, (unsigned long long)id, (unsigned long long)where, x[where - first],
                       stored[where]);
    }
    if (worst > 0.0 && !*warned) {
        *warned = 1;
        ds_log(DS_LOG_WARNING, NULL,
               "from evaluation %llu on the optimizer requests points that differ in the last digits from "
               "the record (by %.1e relative): another machine; answered from the record",
               (unsigned long long)id, worst);
    }
    return 0;
}

int ds_replay_take(ds_replay *r, ds_row *row, ds_error *e)
{
    int step = ds_cursor_next(r->cursor, row, e);
    r->left -= step > 0;
    return step > 0 ? 0
           : step < 0
               ? e->status
               : ds_fail(e, DS_EXIT_IO, "%s: damaged: evaluations are missing", ds_store_path(r->store));
}

int ds_replay_next(ds_replay *r, const double *x, uint32_t want, ds_row *row, ds_error *e)
{
    const char *path = ds_store_path(r->store);
    int rc = ds_replay_take(r, row, e);
    if (rc != 0) {
        return rc;
    }
    int same_kind = ((want & DS_WANT_GRAD) != 0) == (row->grad != NULL);
    if (r->width == NULL) {
        return same_kind && memcmp(x, row->x, r->n * sizeof(double)) == 0
                   ? 0
                   : ds_fail(e, DS_EXIT_PLUGIN,
                             "%s: at evaluation %llu the record has another point than the one requested "
                             "now: another version or machine made this landscape; nothing was changed",
                             path, (unsigned long long)row->id);
    }
    return same_kind ? ds_replay_compare(path, r->width, row->id, 0, r->n, x, row->x, &r->warned, e)
                     : ds_fail(e, DS_EXIT_PLUGIN,
                               "%s: at evaluation %llu the optimizer now requests %s gradient: it is not "
                               "deterministic, or not the version that made this run; nothing was changed",
                               path, (unsigned long long)row->id, (want & DS_WANT_GRAD) != 0 ? "a" : "no");
}

int ds_replay_compare_extra(const ds_replay *r, const ds_row *row, const ds_extra *now, ds_error *e)
{
    const ds_extra *then = &row->extra;
    double largest = 0.0, worst = 0.0;
    int same = then->kind == now->kind && then->asked_count == now->asked_count &&
               (row->answer.outcome > DS_EVAL_BAD_GRAD || then->answered_count == now->answered_count);
    same = same && (now->head == 0 || memcmp(then->asked, now->asked, now->head * sizeof(double)) == 0);
    for (uint64_t i = now->head; same && i < now->asked_count; i++) {
        largest = fmax(largest, fabs(then->asked[i]));
        worst = fmax(worst, fabs(then->asked[i] - now->asked[i]));
    }
    if (same && !(worst > TOLERANCE * largest)) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_PLUGIN,
                   "%s: at evaluation %llu the optimizer now sends another query (%s): it is not "
                   "deterministic, or not the version that made this run; nothing was changed",
                   ds_store_path(r->store), (unsigned long long)row->id,
                   same              ? "a product with another vector"
                   : then->kind == 0 ? "channels in addition to the loss"
                   : now->kind == 0  ? "a loss without channels"
                                     : "other channels or noise");
}
