/* SPDX-License-Identifier: Apache-2.0 */
/* check_rows.c - conformance of evaluate() with many rows: they have the numbers of single rows. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_items.h"
#include "check/check_tests.h"
#include "harness/check_process.h"

/* Points, and rows of the longest call. */
enum { MANY = 64, GAP = 3 };
/* Time for all calls of one test, seconds; and numbers stored per request. */
static const double BATCH_SECONDS = 4;
static const uint64_t KEPT_NUMBERS = 8000000;

typedef struct batch {
    ds_check *c;
    ds_check_env *env;
    ds_check_items items;
    ds_check_player player;
    ds_check_row row[MANY];
    uint64_t rows; /* open ones */
    double *alone, *together;
    int answered; /* some call succeeded */
    uint64_t sizes, wanted;
} batch;

/* Order of the sizes if there is not enough time for all: the longest call, then all remainders of vector
 * lengths, then the rest. */
static uint64_t size_at(uint64_t k)
{
    static const uint64_t first[] = {MANY, 7, 1, 5, 33, 2, 3, 4, 6, 9, 16, 63};
    const uint64_t count = sizeof first / sizeof first[0];
    if (k < count) {
        return first[k];
    }
    uint64_t left = k - count, size = 1;
    for (;; size++) {
        uint64_t i = 0;
        while (i < count && first[i] != size) {
            i++;
        }
        if (i == count && left-- == 0) {
            return size;
        }
    }
}

/* Rows with gaps between them: x, gradients, and inputs and outputs of queries. */
typedef struct table {
    uint64_t count, n;
    double *x, *grad, *loss;
    uint64_t *key, *cost;
    int64_t *bad;
    uint32_t *outcome, *kind, *made; /* made: `count` rows per query */
    ds_query query[DS_MAX_QUERIES];
    const ds_query *queries[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_reply *replies[DS_MAX_QUERIES];
    void *room[3 * DS_MAX_QUERIES + 9];
    size_t rooms;
} table;

static void *room(table *t, uint64_t count, size_t size)
{
    void *p = calloc(count + 1, size);
    t->room[t->rooms++] = p;
    return p;
}

/* Copies rows of `count` numbers into one array with gaps; NULL if there are none. */
static double *gather(table *t, uint64_t count, uint64_t rows,
                      const double *(*from)(const ds_eval *, uint64_t), ds_eval *const *io, uint64_t i)
{
    if (from(io[0], i) == NULL) {
        return NULL;
    }
    double *to = room(t, rows * (count + GAP), sizeof *to);
    for (uint64_t k = 0; to != NULL && k < rows; k++) {
        memcpy(to + k * (count + GAP), from(io[k], i), count * sizeof *to);
    }
    return to;
}

static const double *x_of(const ds_eval *io, uint64_t i)
{
    (void)i;
    return io->x;
}

static const double *v_of(const ds_eval *io, uint64_t i)
{
    return io->query[i]->v;
}

static const double *w_of(const ds_eval *io, uint64_t i)
{
    return io->query[i]->w;
}

static int gather_queries(table *t, const ds_channels *channels, ds_eval *const *io, uint64_t count)
{
    int whole = 1;
    for (uint64_t i = 0; i < io[0]->queries; i++) {
        const ds_eval_query *q = io[0]->query[i];
        const uint64_t m = ds_channel_elements(channels->list[q->channel]);
        const uint64_t in = q->op == DS_QUERY_JTV ? m : t->n, words = (q->bytes + 7) / 8 + GAP;
        t->query[i] = (ds_query){.struct_size = sizeof t->query[i],
                                 .op = q->op,
                                 .channel = q->channel,
                                 .v = gather(t, in, count, v_of, io, i),
                                 .w = gather(t, m, count, w_of, io, i),
                                 .v_stride = in + GAP,
                                 .w_stride = m + GAP};
        t->reply[i] = (ds_reply){.struct_size = sizeof t->reply[i],
                                 .out = room(t, count * words, 8),
                                 .stride = words * 8,
                                 .bytes = q->bytes,
                                 .kind = t->made + i * count};
        whole = whole && t->reply[i].out != NULL && (q->v == NULL || t->query[i].v != NULL) &&
                (q->w == NULL || t->query[i].w != NULL);
        memset(t->reply[i].out != NULL ? t->reply[i].out : &whole, 0xff,
               t->reply[i].out != NULL ? count * words * 8 : 0);
        t->queries[i] = &t->query[i];
        t->replies[i] = &t->reply[i];
    }
    return whole;
}

static int table_open(table *t, const ds_channels *channels, ds_eval *const *io, uint64_t count)
{
    memset(t, 0, sizeof *t);
    t->count = count;
    t->n = io[0]->n;
    t->x = gather(t, t->n, count, x_of, io, 0);
    t->grad = room(t, count * (t->n + GAP), sizeof *t->grad);
    t->loss = room(t, count, sizeof *t->loss);
    t->key = room(t, count, sizeof *t->key);
    t->cost = room(t, count, sizeof *t->cost);
    t->bad = room(t, count, sizeof *t->bad);
    t->outcome = room(t, count, sizeof *t->outcome);
    t->kind = room(t, count, sizeof *t->kind);
    t->made = room(t, count * DS_MAX_QUERIES, sizeof *t->made);
    int whole = 1;
    for (size_t i = 0; i < t->rooms; i++) {
        whole = whole && t->room[i] != NULL;
    }
    for (uint64_t k = 0; whole && k < count; k++) {
        t->key[k] = io[k]->noise_key;
        t->loss[k] = ds_check_poison();
        t->bad[k] = -1;
        for (uint64_t i = 0; i < t->n; i++) {
            t->grad[k * (t->n + GAP) + i] = ds_check_poison();
        }
    }
    return whole && gather_queries(t, channels, io, count);
}

static void table_close(table *t)
{
    while (t->rooms > 0) {
        free(t->room[--t->rooms]);
    }
}

/* Copies the results to the rows. */
static void scatter(const table *t, ds_eval *const *io)
{
    for (uint64_t k = 0; k < t->count; k++) {
        ds_eval *e = io[k];
        e->loss = t->loss[k];
        e->outcome = t->outcome[k];
        e->grad_kind = t->kind[k];
        e->bad_step = t->bad[k];
        e->cost_steps = t->cost[k];
        if (e->grad != NULL) {
            memcpy(e->grad, t->grad + k * (t->n + GAP), t->n * sizeof *e->grad);
        }
        for (uint64_t i = 0; i < e->queries; i++) {
            e->query[i]->kind = t->reply[i].kind[k];
            memcpy(e->query[i]->out, (const unsigned char *)t->reply[i].out + k * t->reply[i].stride,
                   e->query[i]->bytes);
        }
    }
}

/* Are the gaps between the gradients unchanged? */
static int gaps_whole(const table *t)
{
    int whole = 1;
    for (uint64_t k = 0; k < t->count; k++) {
        for (uint64_t i = t->n; i < t->n + GAP; i++) {
            whole = whole && t->grad[k * (t->n + GAP) + i] == 0;
        }
    }
    return whole;
}

/* Evaluates rows with the same request in one call. 0 = it returned an error status, which tells the host to
 * evaluate the rows one by one, or something was wrong (recorded). */
static int evaluate_rows(batch *t, ds_eval *const *io, uint64_t count)
{
    table b;
    ds_status status = DS_E_NOMEM;
    if (table_open(&b, &t->items.channels, io, count)) {
        const ds_rows rows = {.struct_size = sizeof rows,
                              .want = io[0]->want,
                              .count = count,
                              .n = b.n,
                              .stride = b.n + GAP,
                              .x = b.x,
                              .noise_key = b.key,
                              .queries = io[0]->queries,
                              .query = io[0]->queries > 0 ? b.queries : NULL};
        const ds_results results = {.struct_size = sizeof results,
                                    .stride = b.n + GAP,
                                    .loss = b.loss,
                                    .grad = io[0]->grad != NULL ? b.grad : NULL,
                                    .outcome = b.outcome,
                                    .grad_kind = b.kind,
                                    .bad_step = b.bad,
                                    .cost_steps = b.cost,
                                    .reply = io[0]->queries > 0 ? b.replies : NULL};
        t->env->h.error_text[0] = '\0';
        ds_flight_begin(io[0]->x, b.n, io[0]->want, io[0]->noise_key, (uint32_t)count);
        status = t->env->vt->evaluate(t->env->self, &rows, &results);
        ds_flight_end();
        scatter(&b, io);
        if (!gaps_whole(&b)) {
            ds_check_fail(t->c, "a call with %llu rows wrote between the rows of the gradients",
                          (unsigned long long)count);
            ds_check_hint(t->c, "row r of grad begins at grad + r * stride and has n numbers");
        }
    }
    table_close(&b);
    return status == DS_OK;
}

/* One call with the requests of the items in `pick`. 0 = the environment does not support such a call, which
 * any error status may say (diffsim/env.h). */
static int call_rows(batch *t, const ds_check_item *item, uint64_t count, const uint64_t *pick)
{
    ds_check *c = t->c;
    ds_eval *list[MANY];
    const uint64_t size = item->size;
    for (uint64_t k = 0; k < count; k++) {
        ds_check_row_request(&t->items, &item[pick[k]], &t->row[k]);
        list[k] = &t->row[k].io;
    }
    if (!evaluate_rows(t, list, count)) {
        return 0;
    }
    for (uint64_t k = 0; k < count && c->failed == 0; k++) {
        const double *alone = t->alone + pick[k] * size;
        char where[80];
        snprintf(where, sizeof where, "alone, and as row %llu of %llu in one call", (unsigned long long)k,
                 (unsigned long long)count);
        ds_check_row_results(&t->items, &item[pick[k]], &t->row[k], DS_OK, NULL, t->together);
        ds_check_row_same(c, &t->items, &item[pick[k]], alone, t->together, where);
    }
    return 1;
}

/* Calls of many sizes with one request: distinct points in shuffled order, and some with repetitions. */
static void try_sizes(batch *t, const ds_check_item *item)
{
    ds_check *c = t->c;
    uint64_t points = t->items.points, pick[MANY];
    for (uint64_t k = 0; k < points; k++) {
        ds_check_item_play(&t->player, &item[k], t->alone + k * item->size);
    }
    for (uint64_t k = 0; k < t->sizes && c->failed == 0; k++) {
        const uint64_t size = size_at(k), most = t->env->max_rows;
        const uint64_t count = size < most ? size : most, from = ds_random_u32(&c->random) % points;
        for (uint64_t i = 0; i < count; i++) {
            pick[i] = (from + i * (k % 3 == 1 ? points - 1 : 1)) % points;
            if (k % 4 == 3 && i % 3 == 2) {
                pick[i] = pick[i - 1]; /* the same point twice */
            }
        }
        t->answered |= call_rows(t, item, count, pick);
    }
}

static void try_requests(batch *t)
{
    const ds_check_items *s = &t->items;
    for (uint64_t q = 0; q < s->requests && t->c->failed == 0; q++) {
        try_sizes(t, &s->item[q * s->points]);
    }
    if (t->sizes < t->wanted) {
        ds_check_note(t->c,
                      "%llu of %llu sizes of a call, because evaluations take too long for all (set smaller "
                      "parameters with --set for all)",
                      (unsigned long long)t->sizes, (unsigned long long)t->wanted);
    }
    if (!t->answered) {
        ds_check_skip(t->c, "it refuses calls with several points: the host evaluates them one by one");
    }
    if (t->c->failed > 0) {
        ds_check_hint(t->c, "the result of a row must not depend on the other rows or their number: check "
                            "the loop over the remainder of a vector, state that carries over to the next "
                            "row, and sums in another order than for a single row");
    }
}

/* Rows of the longest call have distinct points if time and memory allow it; otherwise the time goes to more
 * sizes. */
static void batch_with(batch *t)
{
    ds_check *c = t->c;
    const ds_check_options *o = c->options;
    const double each = t->env->has_gradient ? o->cost_gradient : o->cost;
    uint64_t points = each * 16 * MANY > BATCH_SECONDS ? 5 : MANY, largest = 1;
    if (!ds_check_items_open(c, t->env, points, 0, &t->items)) {
        return;
    }
    for (uint64_t q = 0; q < t->items.requests; q++) {
        const uint64_t size = t->items.item[q * points].size;
        largest = size > largest ? size : largest;
    }
    if (largest * points > KEPT_NUMBERS) {
        ds_check_items_close(&t->items);
        points = 5;
        if (!ds_check_items_open(c, t->env, points, 0, &t->items)) {
            return;
        }
    }
    /* A call has 33 rows on average. */
    const double size_seconds = 33 * t->items.seconds / (double)points;
    t->wanted = MANY;
    t->sizes = size_seconds * MANY > BATCH_SECONDS ? (uint64_t)fmax(3, BATCH_SECONDS / size_seconds) : MANY;
    t->alone = malloc((points + 1) * largest * sizeof *t->alone);
    t->together = t->alone + points * largest;
    int room = t->alone != NULL && ds_check_player_open(&t->items, t->env, &t->player);
    while (room && t->rows < MANY && ds_check_row_open(&t->items, &t->row[t->rows])) {
        t->rows++;
    }
    if (t->rows == MANY) {
        try_requests(t);
    } else if (c->failed == 0) {
        ds_check_fail(c, "out of memory");
    }
    while (t->rows > 0) {
        ds_check_row_close(&t->row[--t->rows]);
    }
    ds_check_player_close(&t->player);
    free(t->alone);
    ds_check_items_close(&t->items);
}

static void tables(ds_check *c)
{
    if (c->env->max_rows < 2) {
        ds_check_skip(c, "it takes one row at a time");
        return;
    }
    batch *t = ds_check_room(c, 1, sizeof *t);
    if (t != NULL) {
        t->c = c;
        t->env = c->env;
        batch_with(t);
    }
    free(t);
}

const ds_check_test ds_check_rows_tests[] = {
    {"rows.same", "many rows in one call give the bits of single rows", DS_CHECK_ENV, 8, 4, tables},
    {NULL, NULL, 0, 0, 0, NULL}};
