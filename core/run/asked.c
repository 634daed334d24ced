/* SPDX-License-Identifier: Apache-2.0 */
/* asked.c - packs the questions of a batch, hands out their answers, and writes them for the record. */
#include "config.h"

#include "run/asked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { HEAD = 3, PER_ASK = 3 }; /* numbers of a list: noise and count; op, channel, weighted */

/* ---- a batch ---- */

static int wrong(char text[DS_ASKS_TEXT], uint64_t i, const char *why)
{
    snprintf(text, DS_ASKS_TEXT, "question %llu %s", (unsigned long long)i, why);
    return -1;
}

/* Copies `count` rows of `width` numbers to their place in the rows of `in`. */
static int pack(ds_asked_rows *r, const double *from, uint64_t count, uint64_t width, uint64_t at)
{
    for (uint64_t k = 0; k < count * width; k++) {
        if (!isfinite(from[k])) {
            return -1;
        }
        r->in[k / width * r->asks.in + at + k % width] = from[k];
    }
    return 0;
}

/* Takes the numbers of question i of the batch. */
static int take(ds_asked_rows *r, const ds_batch *b, uint32_t i, char text[DS_ASKS_TEXT])
{
    const ds_ask *q = b->ask[i];
    const ds_asked *a = &r->asks.ask[r->place[i]];
    if ((a->v_count > 0) != (q->v != NULL) || q->out == NULL) {
        return wrong(text, i, "has no v, or one where there is none to give, or no out");
    }
    if (q->out_bytes != b->count * a->bytes) {
        return wrong(text, i, "has out_bytes that are not what the answers of all rows take");
    }
    if ((q->v != NULL && pack(r, q->v, b->count, a->v_count, a->v) != 0) ||
        (q->w != NULL && pack(r, q->w, b->count, a->w_count, a->w) != 0)) {
        return wrong(text, i, "has a number in v or w that is not finite");
    }
    return 0;
}

static int read_list(ds_asked_rows *r, const ds_batch *b, char text[DS_ASKS_TEXT])
{
    if (b->asks > DS_MAX_ASKS || b->ask == NULL) {
        return wrong(text, b->asks, "is too many, or ask is NULL");
    }
    for (uint32_t i = 0; i < b->asks; i++) {
        const ds_ask *q = b->ask[i];
        if (q == NULL || q->struct_size < DS_ASK_SIZE_1_0) {
            return wrong(text, i, "is NULL or its struct_size is too small");
        }
        if (q->w != NULL && q->op != DS_ASK_HV) {
            return wrong(text, i, "has weights, which are for DS_ASK_HV");
        }
        r->asks.ask[i] = (ds_asked){.op = q->op, .channel = q->channel, .weighted = q->w != NULL};
    }
    r->asks.count = (uint32_t)b->asks;
    return 0;
}

int ds_asked_open(ds_asked_rows *r, const ds_batch *b, const ds_channels *channels, uint64_t n,
                  char text[DS_ASKS_TEXT])
{
    memset(r, 0, sizeof(*r));
    if (b->asks == 0) {
        return 0;
    }
    if (read_list(r, b, text) != 0 || ds_asks_make(&r->asks, channels, n, r->place, text) != 0) {
        return -1;
    }
    if (r->asks.product && (b->want & DS_WANT_GRAD) != 0) {
        return wrong(text, r->asks.count,
                     "is a product beside the gradient: two derivatives at one point are two rows");
    }
    r->in = malloc((b->count * r->asks.in + 1) * sizeof(double));
    r->out = malloc(b->count * r->asks.out * sizeof(double));
    if (r->in == NULL || r->out == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint32_t i = 0; i < b->asks; i++) {
        if (take(r, b, i, text) != 0) {
            return -1;
        }
    }
    return 0;
}

void ds_asked_answer(const ds_asked_rows *r, const ds_batch *b, uint64_t done, uint32_t kind)
{
    for (uint32_t i = 0; i < b->asks; i++) {
        ds_ask *q = b->ask[i];
        const ds_asked *a = &r->asks.ask[r->place[i]];
        q->kind = a->op == DS_ASK_VALUE ? DS_GRAD_NONE : kind;
        for (uint64_t k = 0; k < done; k++) {
            memcpy((unsigned char *)q->out + k * a->bytes, r->out + k * r->asks.out + a->out, a->bytes);
        }
    }
}

void ds_asked_close(ds_asked_rows *r)
{
    free(r->in);
    free(r->out);
}

/* ---- the record ---- */

uint64_t ds_asked_room(const ds_channels *channels, uint64_t n)
{
    uint64_t in, out;
    ds_asks_room(channels, n, &in, &out);
    return HEAD + PER_ASK * DS_MAX_ASKS + in + out;
}

/* One question about the residuals. */
static int is_plain(const ds_channels *channels, const ds_asks *a, uint64_t noise)
{
    return noise == 0 && a->count == 1 && a->ask[0].op <= DS_ASK_JTV &&
           channels->entry[a->ask[0].channel].c.role == DS_CHANNEL_RESIDUAL;
}

ds_extra ds_asked_extra(const ds_channels *channels, const ds_asks *a, const double *in, const void *out,
                        uint64_t noise, double *room)
{
    static const ds_asks none;
    a = a != NULL ? a : &none;
    if (a->count == 0 && noise == 0) {
        return (ds_extra){0};
    }
    ds_extra extra = {.kind = DS_ASKED_LIST, .asked = room, .answered = a->values > 0 ? out : NULL};
    extra.answered_count = a->values;
    if (is_plain(channels, a, noise)) {
        extra.kind = a->ask[0].op;
        extra.asked = a->in > 0 ? in : NULL;
        extra.asked_count = a->in;
        return extra;
    }
    room[0] = (double)(noise >> 32);
    room[1] = (double)(noise & UINT32_MAX);
    room[2] = a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        double *to = room + HEAD + PER_ASK * i;
        to[0] = a->ask[i].op;
        to[1] = a->ask[i].channel;
        to[2] = a->ask[i].weighted;
    }
    extra.head = HEAD + PER_ASK * a->count;
    extra.asked_count = extra.head + a->in;
    if (a->in > 0) {
        memcpy(room + extra.head, in, a->in * sizeof(double));
    }
    return extra;
}

/* The questions of a list of `count` numbers; the number that they take, or 0 where it is none. */
static uint64_t read_questions(const double *at, uint64_t count, ds_asks *asks)
{
    if (count < HEAD || !(at[2] >= 0 && at[2] <= DS_MAX_ASKS) || count < HEAD + PER_ASK * (uint64_t)at[2]) {
        return 0;
    }
    asks->count = (uint32_t)at[2];
    for (uint32_t i = 0; i < asks->count; i++) {
        const double *q = at + HEAD + PER_ASK * i;
        for (int k = 0; k < PER_ASK; k++) {
            if (!(q[k] >= 0 && q[k] <= DS_MAX_CHANNELS)) {
                return 0;
            }
        }
        asks->ask[i] =
            (ds_asked){.op = (uint32_t)q[0], .channel = (uint32_t)q[1], .weighted = (uint32_t)q[2]};
    }
    return HEAD + PER_ASK * asks->count;
}

static uint64_t half(double v)
{
    return v >= 0 && v <= UINT32_MAX ? (uint64_t)v : 0;
}

uint64_t ds_asked_noise(const ds_extra *extra)
{
    int there = extra->kind == DS_ASKED_LIST && extra->asked_count >= HEAD;
    return there ? half(extra->asked[0]) << 32 | half(extra->asked[1]) : 0;
}

int ds_asked_read(const ds_extra *extra, const ds_channels *channels, uint64_t n, ds_asks *asks,
                  const double **in, uint64_t *noise)
{
    char text[DS_ASKS_TEXT];
    uint64_t head = 0;
    memset(asks, 0, sizeof(*asks));
    *noise = ds_asked_noise(extra);
    *in = NULL;
    if (extra->kind == 0) {
        return 0;
    }
    if (extra->kind == DS_ASKED_LIST) {
        head = read_questions(extra->asked, extra->asked_count, asks);
        if (head == 0) {
            return -1;
        }
    } else {
        asks->count = 1;
        asks->ask[0] = (ds_asked){.op = extra->kind,
                                  .channel = (uint32_t)ds_channels_find(channels, DS_CHANNEL_RESIDUAL)};
    }
    *in = extra->asked != NULL ? extra->asked + head : NULL;
    return ds_asks_make(asks, channels, n, NULL, text) != 0 || extra->asked_count != head + asks->in ? -1 : 0;
}
