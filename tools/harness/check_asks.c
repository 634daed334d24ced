/* SPDX-License-Identifier: Apache-2.0 */
/* check_asks.c - looks at the questions of an optimizer about channels, and answers them. */
#include "config.h"

#include "harness/check_asks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINT, RESIDUAL, CHANNELS };

static void describe(ds_channel_entry *entry, const char *name, uint32_t role, uint64_t elements,
                     uint32_t ops)
{
    entry->c = (ds_channel){.struct_size = sizeof entry->c,
                            .role = role,
                            .type = DS_TYPE_F64,
                            .ops = ops,
                            .ndim = 1,
                            .shape = {elements},
                            .lower = -INFINITY,
                            .upper = INFINITY};
    snprintf(entry->name, sizeof entry->name, "%s", name);
}

int ds_check_asks_offer(ds_check_watch *w)
{
    uint64_t m = w->s->residuals ? ds_check_problem_residuals(w->s->function, w->s->n) : 0;
    ds_error e = {0};
    if (m == 0) {
        return 1;
    }
    ds_channel_entry *entry = calloc(CHANNELS, sizeof *entry);
    if (entry != NULL) {
        describe(&entry[POINT], "point", DS_CHANNEL_STATE, w->s->n, DS_CAN(DS_QUERY_VALUE));
        describe(&entry[RESIDUAL], "residual", DS_CHANNEL_RESIDUAL, m,
                 DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV));
    }
    if (entry == NULL || ds_channels_receive("the kit", entry, CHANNELS, &w->channels, &e) != 0) {
        ds_check_fail(w->c, "out of memory");
        ds_channels_clear(&w->channels);
        return 0;
    }
    w->table = (ds_objective_channels){
        .struct_size = sizeof w->table, .count = w->channels.count, .channel = w->channels.list};
    return 1;
}

/* ---- the contract ---- */

static int breach(ds_check_watch *w, uint64_t i, const char *what)
{
    ds_check_breach(w, "query %llu of a request %s", (unsigned long long)i, what);
    return 0;
}

static int finite_rows(ds_check_watch *w, uint64_t i, const char *name, const double *v, uint64_t stride,
                       uint64_t rows, uint64_t width)
{
    for (uint64_t k = 0; v != NULL && k < rows * width; k++) {
        const double number = v[k / width * stride + k % width];
        if (!isfinite(number)) {
            ds_check_breach(w, "query %llu of a request, row %llu: component %llu of %s is %g",
                            (unsigned long long)i, (unsigned long long)(k / width),
                            (unsigned long long)(k % width), name, number);
            ds_check_advise(w, "test with isfinite() before asking: a product with NaN says nothing");
            return 0;
        }
    }
    return 1;
}

/* The strides of query i, which matter where there are several rows. */
static int sound_strides(ds_check_watch *w, const ds_request *b, uint64_t i, const ds_placed_query *a)
{
    const ds_query *q = &b->query[i];
    const ds_reply *r = &b->reply[i];
    if (b->rows.count > 1 &&
        ((q->v != NULL && q->v_stride < a->v_count) || (q->w != NULL && q->w_stride < a->w_count) ||
         r->stride < a->bytes || r->stride % 8 != 0)) {
        breach(w, i, "has a stride that is less than a row, or no multiple of 8 bytes");
        ds_check_advise(w, "v_stride and w_stride count doubles from row to row, ds_reply.stride bytes");
        return 0;
    }
    return 1;
}

/* The numbers of query i, whose channel and operation are sound. */
static int sound_numbers(ds_check_watch *w, const ds_request *b, uint64_t i, const ds_placed_query *a)
{
    const ds_query *q = &b->query[i];
    const ds_reply *r = &b->reply[i];
    if ((q->v != NULL) != (a->v_count > 0)) {
        breach(w, i, a->v_count > 0 ? "is a product without v" : "asks for values with a v");
        ds_check_advise(w, "v: NULL for DS_QUERY_VALUE, n doubles for DS_QUERY_JV and DS_QUERY_HV, one per "
                           "element for DS_QUERY_JTV");
        return 0;
    }
    if (r->out == NULL || r->bytes != a->bytes) {
        ds_check_breach(w, "query %llu of a request has %s of %llu bytes; %llu bytes are wanted",
                        (unsigned long long)i, r->out == NULL ? "no out, and says it is one" : "an out",
                        (unsigned long long)r->bytes, (unsigned long long)a->bytes);
        ds_check_advise(w, "ds_reply.bytes = ds_channel_bytes(channel, op, n)");
        return 0;
    }
    return sound_strides(w, b, i, a) &&
           finite_rows(w, i, "v", q->v, q->v_stride, b->rows.count, a->v_count) &&
           finite_rows(w, i, "w", q->w, q->w_stride, b->rows.count, a->w_count);
}

/* Takes over what is asked of which channel. */
static int take_list(ds_check_watch *w, const ds_request *b)
{
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        const ds_query *q = &b->query[i];
        if (q->w != NULL && q->op != DS_QUERY_HV) {
            return breach(w, i, "has weights w, which are for DS_QUERY_HV alone");
        }
        w->queries.query[i] = (ds_placed_query){.op = q->op, .channel = q->channel, .weighted = q->w != NULL};
    }
    w->queries.count = (uint32_t)b->rows.queries;
    return 1;
}

int ds_check_asks_sound(ds_check_watch *w, const ds_request *b)
{
    char text[DS_QUERY_TEXT];
    uint32_t place[DS_MAX_QUERIES];
    memset(&w->queries, 0, sizeof w->queries);
    if (b->rows.queries == 0) {
        return 1;
    }
    if (!take_list(w, b)) {
        return 0;
    }
    if (ds_query_layout_make(&w->queries, &w->channels, w->s->n, place, text) != 0) {
        ds_check_breach(w, "a request asks for what it cannot get: %s", text);
        ds_check_advise(w,
                        "ask for what DS_CAN(op) in ds_channel.ops lists, once in a request; another product "
                        "at the same point is another row");
        return 0;
    }
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        if (!sound_numbers(w, b, i, &w->queries.query[place[i]])) {
            return 0;
        }
    }
    return 1;
}

/* ---- answers ---- */

void ds_check_asks_answer(ds_check_watch *w, const ds_request *b, uint64_t r, uint32_t outcome)
{
    ds_check_search *s = w->s;
    const double *x = b->rows.x + r * b->rows.stride;
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        const ds_query *q = &b->query[i];
        const ds_reply *reply = &b->reply[i];
        int product = q->op != DS_QUERY_VALUE;
        void *out = (unsigned char *)reply->out + r * reply->stride;
        if (reply->kind != NULL) {
            reply->kind[r] = product ? DS_GRAD_FORWARD : DS_GRAD_NONE;
        }
        if (outcome > (product ? DS_EVAL_OK : DS_EVAL_BAD_GRAD)) {
            memset(out, 0, reply->bytes);
        } else if (q->channel == POINT) {
            memcpy(out, x, reply->bytes);
        } else {
            ds_check_problem_product(s->function, s->n, q->op, x, product ? q->v + r * q->v_stride : NULL,
                                     out);
        }
        s->wanted_residuals += q->channel == RESIDUAL && !product;
        s->wanted_products += product != 0;
    }
}
