/* SPDX-License-Identifier: Apache-2.0 */
/* check_extensions.c - conformance of the extension batch: the same numbers as from evaluate(). */
#include "config.h"

#include <diffsim/ext/batch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "check/check_items.h"
#include "check/check_tests.h"
#include "harness/check_flight.h"

/* Points, and rows of the longest call. */
enum { MANY = DS_MAX_ROWS };
/* Seconds of all calls of one test, and numbers that are kept of one question. */
static const double BATCH_SECONDS = 4;
static const uint64_t KEPT_NUMBERS = 8000000;

typedef struct company {
    ds_check *c;
    ds_check_env *env;
    const ds_env_batch *ext;
    ds_check_items items;
    ds_check_player player;
    ds_check_row row[MANY];
    uint64_t rows; /* opened */
    double *alone, *together;
    int answered; /* some call had an answer */
    uint64_t sizes, wanted;
} company;

/* The order in which sizes are tried where there is no time for all of them: the longest call, those with a
 * remainder of every length, and then the others. */
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

/* One call with the questions of the items in `pick`. 0 = the environment does not answer such a call, which
 * any error status may say (diffsim/ext/batch.h): the host asks for the points one by one then. */
static int call_rows(company *t, const ds_check_item *item, uint64_t count, const uint64_t *pick)
{
    ds_check *c = t->c;
    ds_eval *list[MANY];
    const uint64_t size = item->size;
    for (uint64_t k = 0; k < count; k++) {
        ds_check_row_ask(&t->items, &item[pick[k]], &t->row[k]);
        list[k] = &t->row[k].io;
    }
    const ds_eval *first = list[0];
    t->env->h.error_text[0] = '\0';
    ds_flight_begin(first->x, first->n, first->want, first->noise_key, (uint32_t)count);
    const ds_status status = t->ext->evaluate(t->env->self, count, list);
    ds_flight_end();
    if (status != DS_OK) {
        return 0;
    }
    for (uint64_t k = 0; k < count && c->failed == 0; k++) {
        const double *alone = t->alone + pick[k] * size;
        char where[80];
        snprintf(where, sizeof where, "alone, and as row %llu of %llu in one call", (unsigned long long)k,
                 (unsigned long long)count);
        ds_check_row_take(&t->items, &item[pick[k]], &t->row[k], DS_OK, NULL, t->together);
        ds_check_row_same(c, &t->items, &item[pick[k]], alone, t->together, where);
    }
    return 1;
}

/* Calls of many sizes with one question: distinct points in the order of a shuffle, and some that repeat. */
static void try_sizes(company *t, const ds_check_item *item)
{
    ds_check *c = t->c;
    uint64_t points = t->items.points, pick[MANY];
    for (uint64_t k = 0; k < points; k++) {
        ds_check_item_play(&t->player, &item[k], t->alone + k * item->size);
    }
    for (uint64_t k = 0; k < t->sizes && c->failed == 0; k++) {
        const uint64_t count = size_at(k), from = ds_random_u32(&c->random) % points;
        for (uint64_t i = 0; i < count; i++) {
            pick[i] = (from + i * (k % 3 == 1 ? points - 1 : 1)) % points;
            if (k % 4 == 3 && i % 3 == 2) {
                pick[i] = pick[i - 1]; /* the same point twice */
            }
        }
        t->answered |= call_rows(t, item, count, pick);
    }
}

static void try_questions(company *t)
{
    const ds_check_items *s = &t->items;
    for (uint64_t q = 0; q < s->questions && t->c->failed == 0; q++) {
        try_sizes(t, &s->item[q * s->points]);
    }
    if (t->sizes < t->wanted) {
        ds_check_note(t->c,
                      "%llu of %llu sizes of a call, because evaluations take too long for all (smaller "
                      "parameters, given with --set, make it complete)",
                      (unsigned long long)t->sizes, (unsigned long long)t->wanted);
    }
    if (!t->answered) {
        ds_check_skip(t->c, "it answers no call with several points: the host asks for them one by one");
    }
    if (t->c->failed > 0) {
        ds_check_hint(
            t->c, "a point's answer must not depend on its company, nor on how many there are: look at the "
                  "loop over what is left of a vector, at state that goes from one point to the next, at "
                  "sums in another order than for a point alone");
    }
}

/* Rows of the longest call have points of their own where there is time and memory for them; the time goes to
 * sizes otherwise. */
static void batch_with(company *t)
{
    ds_check *c = t->c;
    const ds_check_options *o = c->options;
    const double each = t->env->has_gradient ? o->cost_gradient : o->cost;
    uint64_t points = each * 16 * MANY > BATCH_SECONDS ? 5 : MANY, largest = 1;
    if (!ds_check_items_open(c, t->env, points, 0, &t->items)) {
        return;
    }
    for (uint64_t q = 0; q < t->items.questions; q++) {
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
    /* A call has 33 rows in the mean. */
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
        try_questions(t);
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

static void extension_batch(ds_check *c)
{
    const ds_env_vtable *vt = c->env->vt;
    const ds_env_batch *theirs =
        vt->get_extension != NULL ? vt->get_extension(c->env->self, DS_EXT_BATCH) : NULL;
    ds_env_batch own;
    ds_error e;
    company *t = calloc(1, sizeof *t);
    if (theirs == NULL) {
        ds_check_skip(c, "this environment does not offer it");
    } else if (DS_SIZED_READ(&own, theirs, DS_ENV_BATCH_SIZE_1_0, "", "the table of " DS_EXT_BATCH, &e) !=
               0) {
        ds_check_fail(c, "%s", e.text);
        ds_check_hint(c, "static const ds_env_batch table = {.struct_size = sizeof table, ...};");
    } else if (own.evaluate == NULL) {
        ds_check_fail(c, "evaluate() is missing in the table of " DS_EXT_BATCH);
    } else if (t == NULL) {
        ds_check_fail(c, "out of memory");
    } else {
        t->c = c;
        t->env = c->env;
        t->ext = &own;
        batch_with(t);
    }
    free(t);
}

const ds_check_test ds_check_extension_tests[] = {{"ext.batch",
                                                   "many points in one call give the bits of single calls",
                                                   DS_CHECK_ENV, 8, 4, extension_batch},
                                                  {NULL, NULL, 0, 0, 0, NULL}};
