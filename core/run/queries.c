/* SPDX-License-Identifier: Apache-2.0 */
/* queries.c - packs the queries of a request, copies their results to the replies, and writes them for the
 * record. */
#include "config.h"

#include "run/queries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { HEAD = 3, PER_QUERY = 3 }; /* numbers of a list: noise and count; op, channel, weighted */

/* ---- a request ---- */

static int wrong(char text[DS_QUERY_TEXT], uint64_t i, const char *why)
{
    snprintf(text, DS_QUERY_TEXT, "query %llu %s", (unsigned long long)i, why);
    return -1;
}

/* Copies `count` rows of `width` numbers into the rows of `in`. Returns -1 where a number is not finite. */
static int pack(ds_packed_queries *r, const double *from, uint64_t stride, uint64_t count, uint64_t width,
                uint64_t at)
{
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < width; i++) {
            if (!isfinite(from[k * stride + i])) {
                return -1;
            }
            r->in[k * r->queries.in + at + i] = from[k * stride + i];
        }
    }
    return 0;
}

/* Checks and packs the vectors of query i. */
static int take(ds_packed_queries *r, const ds_request *q, uint32_t i, char text[DS_QUERY_TEXT])
{
    const ds_query *query = &q->query[i];
    const ds_reply *reply = &q->reply[i];
    const ds_placed_query *a = &r->queries.query[r->place[i]];
    const uint64_t count = q->rows.count;
    if ((a->v_count > 0) != (query->v != NULL) || reply->out == NULL) {
        return wrong(text, i, "has no v, or one where there is none to give, or no out");
    }
    if (reply->bytes != a->bytes || (count > 1 && (reply->stride < a->bytes || reply->stride % 8 != 0))) {
        return wrong(text, i,
                     "has a reply whose bytes are not what an answer takes, or a stride that is less or no "
                     "multiple of 8");
    }
    if (count > 1 && ((query->v != NULL && query->v_stride < a->v_count) ||
                      (query->w != NULL && query->w_stride < a->w_count))) {
        return wrong(text, i, "has a v_stride or w_stride that is less than a row");
    }
    if ((query->v != NULL && pack(r, query->v, query->v_stride, count, a->v_count, a->v) != 0) ||
        (query->w != NULL && pack(r, query->w, query->w_stride, count, a->w_count, a->w) != 0)) {
        return wrong(text, i, "has a number in v or w that is not finite");
    }
    return 0;
}

static int read_list(ds_packed_queries *r, const ds_request *q, char text[DS_QUERY_TEXT])
{
    for (uint32_t i = 0; i < q->rows.queries; i++) {
        const ds_query *query = &q->query[i];
        if (query->w != NULL && query->op != DS_QUERY_HV) {
            return wrong(text, i, "has weights, which are for DS_QUERY_HV");
        }
        r->queries.query[i] =
            (ds_placed_query){.op = query->op, .channel = query->channel, .weighted = query->w != NULL};
    }
    r->queries.count = (uint32_t)q->rows.queries;
    return 0;
}

int ds_queries_pack(ds_packed_queries *r, const ds_request *q, const ds_channels *channels, uint64_t n,
                    char text[DS_QUERY_TEXT])
{
    const uint64_t count = q->rows.count;
    memset(r, 0, sizeof(*r));
    if (q->rows.queries == 0) {
        return 0;
    }
    if (read_list(r, q, text) != 0 || ds_query_layout_make(&r->queries, channels, n, r->place, text) != 0) {
        return -1;
    }
    r->in = malloc((count * r->queries.in + 1) * sizeof(double));
    r->out = malloc(count * r->queries.out * sizeof(double));
    r->kind = calloc(count, sizeof *r->kind);
    if (r->in == NULL || r->out == NULL || r->kind == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint32_t i = 0; i < r->queries.count; i++) {
        if (take(r, q, i, text) != 0) {
            return -1;
        }
    }
    return 0;
}

void ds_queries_reply(const ds_packed_queries *r, const ds_request *q, uint64_t done)
{
    for (uint32_t i = 0; i < q->rows.queries; i++) {
        const ds_reply *reply = &q->reply[i];
        const ds_placed_query *a = &r->queries.query[r->place[i]];
        for (uint64_t k = 0; k < done; k++) {
            memcpy((unsigned char *)reply->out + k * reply->stride, r->out + k * r->queries.out + a->out,
                   a->bytes);
            if (reply->kind != NULL) {
                reply->kind[k] = a->op == DS_QUERY_VALUE ? (uint32_t)DS_GRAD_NONE : r->kind[k];
            }
        }
    }
}

void ds_queries_free(ds_packed_queries *r)
{
    free(r->in);
    free(r->out);
    free(r->kind);
}

/* ---- the record ---- */

uint64_t ds_queries_record_room(const ds_channels *channels, uint64_t n)
{
    uint64_t in, out;
    ds_query_layout_room(channels, n, &in, &out);
    return HEAD + PER_QUERY * DS_MAX_QUERIES + in + out;
}

/* Is it one query about the residuals? */
static int is_plain(const ds_channels *channels, const ds_query_layout *a, uint64_t noise)
{
    return noise == 0 && a->count == 1 && a->query[0].op <= DS_QUERY_JTV &&
           channels->entry[a->query[0].channel].c.role == DS_CHANNEL_RESIDUAL;
}

ds_extra ds_queries_record(const ds_channels *channels, const ds_query_layout *a, const double *in,
                           const void *out, uint64_t noise, double *room)
{
    static const ds_query_layout none;
    a = a != NULL ? a : &none;
    if (a->count == 0 && noise == 0) {
        return (ds_extra){0};
    }
    ds_extra extra = {.kind = DS_QUERIES_LIST, .asked = room, .answered = a->values > 0 ? out : NULL};
    extra.answered_count = a->values;
    if (is_plain(channels, a, noise)) {
        extra.kind = a->query[0].op;
        extra.asked = a->in > 0 ? in : NULL;
        extra.asked_count = a->in;
        return extra;
    }
    room[0] = (double)(noise >> 32);
    room[1] = (double)(noise & UINT32_MAX);
    room[2] = a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        double *to = room + HEAD + PER_QUERY * i;
        to[0] = a->query[i].op;
        to[1] = a->query[i].channel;
        to[2] = a->query[i].weighted;
    }
    extra.head = HEAD + PER_QUERY * a->count;
    extra.asked_count = extra.head + a->in;
    if (a->in > 0) {
        memcpy(room + extra.head, in, a->in * sizeof(double));
    }
    return extra;
}

/* Reads the queries of a list of `count` numbers. Returns how many numbers they take, 0 where the list is
 * invalid. */
static uint64_t read_recorded_list(const double *at, uint64_t count, ds_query_layout *queries)
{
    if (count < HEAD || !(at[2] >= 0 && at[2] <= DS_MAX_QUERIES) ||
        count < HEAD + PER_QUERY * (uint64_t)at[2]) {
        return 0;
    }
    queries->count = (uint32_t)at[2];
    for (uint32_t i = 0; i < queries->count; i++) {
        const double *q = at + HEAD + PER_QUERY * i;
        for (int k = 0; k < PER_QUERY; k++) {
            if (!(q[k] >= 0 && q[k] <= DS_MAX_CHANNELS)) {
                return 0;
            }
        }
        queries->query[i] =
            (ds_placed_query){.op = (uint32_t)q[0], .channel = (uint32_t)q[1], .weighted = (uint32_t)q[2]};
    }
    return HEAD + PER_QUERY * queries->count;
}

static uint64_t half(double v)
{
    return v >= 0 && v <= UINT32_MAX ? (uint64_t)v : 0;
}

uint64_t ds_queries_noise(const ds_extra *extra)
{
    int there = extra->kind == DS_QUERIES_LIST && extra->asked_count >= HEAD;
    return there ? half(extra->asked[0]) << 32 | half(extra->asked[1]) : 0;
}

int ds_queries_read(const ds_extra *extra, const ds_channels *channels, uint64_t n, ds_query_layout *queries,
                    const double **in, uint64_t *noise)
{
    char text[DS_QUERY_TEXT];
    uint64_t head = 0;
    memset(queries, 0, sizeof(*queries));
    *noise = ds_queries_noise(extra);
    *in = NULL;
    if (extra->kind == 0) {
        return 0;
    }
    if (extra->kind == DS_QUERIES_LIST) {
        head = read_recorded_list(extra->asked, extra->asked_count, queries);
        if (head == 0) {
            return -1;
        }
    } else {
        queries->count = 1;
        queries->query[0] = (ds_placed_query){
            .op = extra->kind, .channel = (uint32_t)ds_channels_find(channels, DS_CHANNEL_RESIDUAL)};
    }
    *in = extra->asked != NULL ? extra->asked + head : NULL;
    return ds_query_layout_make(queries, channels, n, NULL, text) != 0 ||
                   extra->asked_count != head + queries->in
               ? -1
               : 0;
}
