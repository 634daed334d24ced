/* SPDX-License-Identifier: Apache-2.0 */
/* test_asked.c - questions about channels between a batch and the record: rows are packed and handed out in
 * place, what was recorded is read as it was asked, residuals alone as the first versions wrote them, and a
 * damaged record is refused or harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <diffsim/helper/random.h>

#include "run/asked.h"

enum { N = 3, RESIDUALS = 4, PIXELS = 5, ROWS = 3, ROOM = 100 };
enum { ERROR, PHOTO, LOSS, CHANNELS };
enum {
    VALUE = DS_CAN(DS_ASK_VALUE),
    JV = DS_CAN(DS_ASK_JV),
    JTV = DS_CAN(DS_ASK_JTV),
    HV = DS_CAN(DS_ASK_HV)
};

static ds_channels channels;

static int make_channels(void **state)
{
    static const ds_channel all[CHANNELS] = {
        {.role = DS_CHANNEL_RESIDUAL,
         .type = DS_TYPE_F64,
         .ops = VALUE | JV | JTV,
         .ndim = 1,
         .shape = {RESIDUALS}},
        {.role = DS_CHANNEL_IMAGE, .type = DS_TYPE_F32, .ops = VALUE, .ndim = 1, .shape = {PIXELS}},
        {.role = DS_CHANNEL_LOSS, .type = DS_TYPE_F64, .ops = VALUE | HV}};
    ds_channel_entry *entry = calloc(CHANNELS, sizeof *entry);
    ds_error e;
    (void)state;
    for (int i = 0; i < CHANNELS; i++) {
        entry[i].c = all[i];
        entry[i].c.lower = -INFINITY;
        entry[i].c.upper = INFINITY;
        snprintf(entry[i].name, sizeof entry[i].name, "c%d", i);
    }
    return ds_channels_take("toy", entry, CHANNELS, &channels, &e);
}

static int clear_channels(void **state)
{
    (void)state;
    ds_channels_clear(&channels);
    return 0;
}

/* A batch that asks for pixels, H v of the loss with weights, and residuals. */
typedef struct questions {
    ds_batch batch;
    ds_ask ask[3], *list[3];
    double v[ROWS * N], w[ROWS], hv[ROWS * N], residuals[ROWS * RESIDUALS];
    float pixels[ROWS * PIXELS];
} questions;

static void make_questions(questions *q)
{
    memset(q, 0, sizeof *q);
    for (int i = 0; i < ROWS * N; i++) {
        q->v[i] = 10 + i;
    }
    for (int i = 0; i < ROWS; i++) {
        q->w[i] = 100 + i;
    }
    const ds_ask all[] = {
        {.op = DS_ASK_VALUE, .channel = PHOTO, .out = q->pixels, .out_bytes = sizeof q->pixels},
        {.op = DS_ASK_HV, .channel = LOSS, .v = q->v, .w = q->w, .out = q->hv, .out_bytes = sizeof q->hv},
        {.op = DS_ASK_VALUE, .channel = ERROR, .out = q->residuals, .out_bytes = sizeof q->residuals}};
    for (int i = 0; i < 3; i++) {
        q->ask[i] = all[i];
        q->ask[i].struct_size = sizeof(ds_ask);
        q->list[i] = &q->ask[i];
    }
    q->batch = (ds_batch){.struct_size = sizeof q->batch, .count = ROWS, .asks = 3, .ask = q->list};
}

static void packs_and_hands_out(void **state)
{
    questions q;
    ds_asked_rows rows;
    char text[DS_ASKS_TEXT];
    (void)state;
    make_questions(&q);
    assert_int_equal(ds_asked_open(&rows, &q.batch, &channels, N, text), 0);
    assert_true(rows.asks.count == 3 && rows.asks.in == N + 1 && rows.asks.product == 1);
    assert_true(rows.asks.values == 3 + RESIDUALS && rows.asks.out == 3 + RESIDUALS + N);
    for (int r = 0; r < ROWS; r++) {
        const double *in = rows.in + r * (N + 1);
        assert_true(in[0] == 10 + r * N && in[N - 1] == 10 + r * N + N - 1 && in[N] == 100 + r);
        unsigned char *out = (unsigned char *)(rows.out + r * rows.asks.out);
        float pixel = (float)(7 + r);
        memset(out, 0, rows.asks.out * 8);
        memcpy(out + (PIXELS - 1) * sizeof pixel, &pixel, sizeof pixel);
        double *residual = (double *)(void *)(out + 8 * rows.asks.ask[1].out), *hv = residual + RESIDUALS;
        residual[RESIDUALS - 1] = 50 + r;
        hv[1] = 60 + r;
    }
    ds_asked_answer(&rows, &q.batch, ROWS - 1, DS_GRAD_FORWARD);
    for (int r = 0; r < ROWS; r++) {
        int there = r < ROWS - 1; /* the last row has no answer, and is left alone */
        assert_true(q.pixels[r * PIXELS + PIXELS - 1] == (there ? (float)(7 + r) : 0));
        assert_true(q.residuals[r * RESIDUALS + RESIDUALS - 1] == (there ? 50 + r : 0));
        assert_true(q.hv[r * N + 1] == (there ? 60 + r : 0));
    }
    assert_true(q.ask[0].kind == DS_GRAD_NONE && q.ask[1].kind == DS_GRAD_FORWARD);
    ds_asked_close(&rows);
}

static void refused(questions *q, const char *text)
{
    ds_asked_rows rows;
    char why[DS_ASKS_TEXT] = "";
    int rc = ds_asked_open(&rows, &q->batch, &channels, N, why);
    if (rc != -1 || strstr(why, text) == NULL) {
        fail_msg("%d: '%s' without '%s'", rc, why, text);
    }
    ds_asked_close(&rows);
    make_questions(q);
}

static void refuses_batches(void **state)
{
    questions q;
    (void)state;
    make_questions(&q);
    q.batch.asks = DS_MAX_ASKS + 1;
    refused(&q, "too many");
    q.batch.ask = NULL;
    refused(&q, "ask is NULL");
    q.list[1] = NULL;
    refused(&q, "question 1 is NULL");
    q.ask[2].struct_size = DS_ASK_SIZE_1_0 - 1;
    refused(&q, "question 2 is NULL or its struct_size is too small");
    q.ask[0].w = q.w;
    refused(&q, "question 0 has weights");
    q.ask[0].v = q.v;
    refused(&q, "question 0 has no v, or one where there is none to give");
    q.ask[1].v = NULL;
    refused(&q, "question 1 has no v");
    q.ask[2].out = NULL;
    refused(&q, "no out");
    q.ask[2].out_bytes -= 8;
    refused(&q, "question 2 has out_bytes");
    q.ask[0].out_bytes += 4;
    refused(&q, "question 0 has out_bytes");
    q.v[4] = NAN;
    refused(&q, "question 1 has a number in v or w that is not finite");
    q.w[2] = INFINITY;
    refused(&q, "question 1 has a number in v or w that is not finite");
    q.ask[1].channel = PHOTO;
    refused(&q, "operation 4 of channel 1 c1: it does not offer that");
}

static void asks_nothing(void **state)
{
    ds_asked_rows rows;
    ds_batch b = {.struct_size = sizeof b, .count = 2};
    char text[DS_ASKS_TEXT];
    double room[ROOM];
    (void)state;
    assert_int_equal(ds_asked_open(&rows, &b, &channels, N, text), 0);
    assert_true(rows.asks.count == 0 && rows.in == NULL && rows.out == NULL);
    ds_asked_answer(&rows, &b, 2, DS_GRAD_NONE);
    ds_asked_close(&rows);
    ds_extra extra = ds_asked_extra(&channels, NULL, NULL, NULL, 0, room);
    assert_true(extra.kind == 0 && extra.asked == NULL && extra.asked_count == 0 &&
                extra.answered_count == 0);
}

/* Writes questions and reads them again. */
static ds_extra round_trip(const ds_asks *asks, const double *in, const double *out, uint64_t noise,
                           double *room)
{
    ds_asks again;
    const double *read;
    uint64_t group;
    ds_extra extra = ds_asked_extra(&channels, asks, in, out, noise, room);
    assert_true(extra.asked_count + extra.answered_count <= ds_asked_room(&channels, N));
    assert_int_equal(ds_asked_read(&extra, &channels, N, &again, &read, &group), 0);
    assert_true(group == noise && ds_asked_noise(&extra) == noise);
    assert_true(again.count == asks->count && again.in == asks->in && again.out == asks->out &&
                again.values == asks->values);
    assert_memory_equal(again.ask, asks->ask, asks->count * sizeof asks->ask[0]);
    if (asks->in > 0) {
        assert_memory_equal(read, in, asks->in * sizeof *in);
    }
    return extra;
}

static void is_read_as_written(void **state)
{
    const uint64_t groups[] = {0, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX, 0x123456789abcdef0};
    double room[ROOM], out[ROOM] = {0}, in[ROOM];
    char text[DS_ASKS_TEXT];
    (void)state;
    for (int i = 0; i < ROOM; i++) {
        in[i] = 0.5 + i;
    }
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++) {
        ds_asks mixed = {.count = 3,
                         .ask = {{.op = DS_ASK_VALUE, .channel = PHOTO},
                                 {.op = DS_ASK_HV, .channel = LOSS, .weighted = 1},
                                 {.op = DS_ASK_VALUE, .channel = ERROR}}};
        assert_int_equal(ds_asks_make(&mixed, &channels, N, NULL, text), 0);
        ds_extra e = round_trip(&mixed, in, out, groups[k], room);
        assert_true(e.kind == DS_ASKED_LIST && e.answered == out && e.answered_count == mixed.values &&
                    e.head == 3 + 3 * 3);
        ds_asks loss = {.count = 1, .ask = {{.op = DS_ASK_VALUE, .channel = LOSS}}};
        assert_int_equal(ds_asks_make(&loss, &channels, N, NULL, text), 0);
        e = round_trip(&loss, NULL, out, groups[k], room);
        assert_true(e.kind == DS_ASKED_LIST && e.answered_count == 1);
        ds_asks none = {.count = 0};
        e = round_trip(&none, NULL, NULL, groups[k], room);
        assert_true(e.kind == (groups[k] != 0 ? DS_ASKED_LIST : 0) && e.answered == NULL);
    }
}

/* One question about the residuals, without a noise group, is what the first versions wrote. */
static void writes_residuals_as_ever(void **state)
{
    double room[ROOM], out[ROOM] = {0};
    const double in[] = {1, 2, 3, 4};
    const uint64_t numbers[] = {0, 0, N, RESIDUALS};
    char text[DS_ASKS_TEXT];
    (void)state;
    for (uint32_t op = DS_ASK_VALUE; op <= DS_ASK_JTV; op++) {
        ds_asks a = {.count = 1, .ask = {{.op = op, .channel = ERROR}}};
        assert_int_equal(ds_asks_make(&a, &channels, N, NULL, text), 0);
        ds_extra e = round_trip(&a, in, out, 0, room);
        assert_true(e.kind == op && e.asked_count == numbers[op] && e.head == 0);
        assert_true(e.asked == (op == DS_ASK_VALUE ? NULL : in));
        assert_true(e.answered_count == (op == DS_ASK_VALUE ? RESIDUALS : 0));
        assert_true((e.answered != NULL) == (op == DS_ASK_VALUE));
        e = round_trip(&a, in, out, 7, room);
        assert_int_equal(e.kind, DS_ASKED_LIST);
    }
}

/* Records of other environments, and damaged ones. */
static void survives_records(void **state)
{
    static const double odd[] = {0,   1,       2, 3, 4, 16, 17, 255, 256, -1, 0.5, 1e300, 9007199254740993.0,
                                 NAN, INFINITY};
    ds_asks asks;
    const double *in;
    uint64_t noise;
    ds_random r = ds_random_open(1, "records", 0);
    unsigned taken = 0;
    (void)state;
    double two[] = {0, 0, 1, DS_ASK_JV, PHOTO, 0, 1, 2, 3};
    ds_extra other = {.kind = DS_ASKED_LIST, .asked = two, .asked_count = 9};
    assert_int_equal(ds_asked_read(&other, &channels, N, &asks, &in, &noise), -1); /* no J v of pixels */
    two[4] = ERROR;
    assert_int_equal(ds_asked_read(&other, &channels, N, &asks, &in, &noise), 0);
    assert_true(in == two + 6 && asks.in == N);
    assert_int_equal(ds_asked_read(&other, &channels, N + 1, &asks, &in, &noise),
                     -1); /* v of another length */
    ds_channels none = {0};
    assert_int_equal(ds_asked_read(&other, &none, N, &asks, &in, &noise), -1);
    ds_extra plain = {.kind = DS_ASK_VALUE};
    assert_int_equal(ds_asked_read(&plain, &none, N, &asks, &in, &noise), -1);
    for (int k = 0; k < 200000; k++) {
        double asked[12];
        uint64_t count = ds_random_below(&r, 13);
        for (uint64_t i = 0; i < count; i++) {
            asked[i] = odd[ds_random_below(&r, ds_random_below(&r, 2) ? 5 : sizeof odd / sizeof odd[0])];
        }
        double *exact = malloc(count * sizeof *exact + 1); /* a tool for memory sees what is read behind it */
        memcpy(exact, asked, count * sizeof *exact);
        ds_extra e = {.kind = (uint32_t)odd[ds_random_below(&r, 9)], .asked = exact, .asked_count = count};
        if (ds_asked_read(&e, &channels, N, &asks, &in, &noise) == 0) {
            taken++;
            assert_true(asks.count <= DS_MAX_ASKS && asks.in <= count);
            assert_true(e.kind == 0 || in == exact + (count - asks.in));
        }
        free(exact);
    }
    assert_true(taken > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_and_hands_out),
        cmocka_unit_test(refuses_batches),
        cmocka_unit_test(asks_nothing),
        cmocka_unit_test(is_read_as_written),
        cmocka_unit_test(writes_residuals_as_ever),
        cmocka_unit_test(survives_records),
    };
    return cmocka_run_group_tests(tests, make_channels, clear_channels);
}
