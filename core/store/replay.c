/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - compares the requests of a resumed run with its record, and answers them from the store. */
#include "config.h"

#include "store/replay.h"

#include <diffsim/env.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

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
