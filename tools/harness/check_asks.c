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
        describe(&entry[POINT], "point", DS_CHANNEL_STATE, w->s->n, DS_CAN(DS_ASK_VALUE));
        describe(&entry[RESIDUAL], "residual", DS_CHANNEL_RESIDUAL, m,
                 DS_CAN(DS_ASK_VALUE) | DS_CAN(DS_ASK_JV) | DS_CAN(DS_ASK_JTV));
    }
    if (entry == NULL || ds_channels_take("the kit", entry, CHANNELS, &w->channels, &e) != 0) {
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
    ds_check_breach(w, "question %llu of a batch %s", (unsigned long long)i, what);
    return 0;
}

static int finite_rows(ds_check_watch *w, uint64_t i, const char *name, const double *v, uint64_t rows,
                       uint64_t width)
{
    for (uint64_t k = 0; v != NULL && k < rows * width; k++) {
        if (!isfinite(v[k])) {
            ds_check_breach(w, "question %llu of a batch, row %llu: component %llu of %s is %g",
                            (unsigned long long)i, (unsigned long long)(k / width),
                            (unsigned long long)(k % width), name, v[k]);
            ds_check_advise(w, "test with isfinite() before asking: a product with NaN says nothing");
            return 0;
        }
    }
    return 1;
}

/* The numbers of question i, whose channel and operation are sound. */
static int sound_numbers(ds_check_watch *w, const ds_batch *b, uint64_t i, const ds_asked *a)
{
    const ds_ask *q = b->ask[i];
    if ((q->v != NULL) != (a->v_count > 0)) {
        breach(w, i, a->v_count > 0 ? "is a product without v" : "asks for values with a v");
        ds_check_advise(w, "v: NULL for DS_ASK_VALUE, n doubles for DS_ASK_JV and DS_ASK_HV, one per element "
                           "for DS_ASK_JTV");
        return 0;
    }
    if (q->out == NULL || q->out_bytes != b->count * a->bytes) {
        ds_check_breach(
            w, "question %llu of a batch has %s of %llu bytes; %llu rows of %llu bytes are wanted",
            (unsigned long long)i, q->out == NULL ? "no out, and says it is one" : "an out",
            (unsigned long long)q->out_bytes, (unsigned long long)b->count, (unsigned long long)a->bytes);
        ds_check_advise(w, ".out_bytes = batch.count * ds_channel_bytes(channel, op, n)");
        return 0;
    }
    return finite_rows(w, i, "v", q->v, b->count, a->v_count) &&
           finite_rows(w, i, "w", q->w, b->count, a->w_count);
}

/* Takes over what is asked of which channel. */
static int take_list(ds_check_watch *w, const ds_batch *b)
{
    if (b->asks > DS_MAX_ASKS || b->ask == NULL) {
        ds_check_breach(w, "a batch with %llu questions and ask %s; %u are possible",
                        (unsigned long long)b->asks, b->ask == NULL ? "NULL" : "set", DS_MAX_ASKS);
        return 0;
    }
    for (uint64_t i = 0; i < b->asks; i++) {
        const ds_ask *q = b->ask[i];
        if (q == NULL || q->struct_size < sizeof *q) {
            breach(w, i, "is NULL, or its struct_size is too small");
            ds_check_advise(w, "ds_ask ask = {.struct_size = sizeof ask, .op = DS_ASK_..., .channel = ...};");
            return 0;
        }
        if (q->w != NULL && q->op != DS_ASK_HV) {
            return breach(w, i, "has weights w, which are for DS_ASK_HV alone");
        }
        w->asks.ask[i] = (ds_asked){.op = q->op, .channel = q->channel, .weighted = q->w != NULL};
    }
    w->asks.count = (uint32_t)b->asks;
    return 1;
}

int ds_check_asks_sound(ds_check_watch *w, const ds_batch *b)
{
    char text[DS_ASKS_TEXT];
    uint32_t place[DS_MAX_ASKS];
    memset(&w->asks, 0, sizeof w->asks);
    if (b->asks == 0) {
        return 1;
    }
    if (!take_list(w, b)) {
        return 0;
    }
    if (ds_asks_make(&w->asks, &w->channels, w->s->n, place, text) != 0) {
        ds_check_breach(w, "a batch asks for what it cannot get: %s", text);
        ds_check_advise(w,
                        "ask for what DS_CAN(op) in ds_channel.ops lists, once in a batch; another product "
                        "at the same point is another row");
        return 0;
    }
    if (w->asks.product && (b->want & DS_WANT_GRAD) != 0) {
        ds_check_breach(w, "a batch wants the gradient beside a product");
        ds_check_advise(w, "two derivatives at one point are two rows, in two batches");
        return 0;
    }
    for (uint64_t i = 0; i < b->asks; i++) {
        if (!sound_numbers(w, b, i, &w->asks.ask[place[i]])) {
            return 0;
        }
    }
    return 1;
}

/* ---- answers ---- */

void ds_check_asks_answer(ds_check_watch *w, const ds_batch *b, uint64_t r, uint32_t outcome)
{
    ds_check_search *s = w->s;
    const double *x = b->x + r * s->n;
    for (uint64_t i = 0; i < b->asks; i++) {
        ds_ask *q = b->ask[i];
        int product = q->op != DS_ASK_VALUE;
        uint64_t bytes = q->out_bytes / b->count;
        uint64_t in = q->op == DS_ASK_JV ? s->n : ds_channel_elements(w->channels.list[q->channel]);
        void *out = (unsigned char *)q->out + r * bytes;
        q->kind = product ? DS_GRAD_FORWARD : DS_GRAD_NONE;
        if (outcome > (product ? DS_EVAL_OK : DS_EVAL_BAD_GRAD)) {
            memset(out, 0, bytes);
        } else if (q->channel == POINT) {
            memcpy(out, x, bytes);
        } else {
            ds_check_problem_product(s->function, s->n, q->op, x, product ? q->v + r * in : NULL, out);
        }
        s->wanted_residuals += q->channel == RESIDUAL && !product;
        s->wanted_products += product != 0;
    }
}
