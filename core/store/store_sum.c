/* SPDX-License-Identifier: Apache-2.0 */
/* store_sum.c - see store_sum.h; the hash is XXH3, which costs little beside the insertion of a row. */
#include "config.h"

#include "store/store_sum.h"

#include <math.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* A row that is longer than its room is hashed in pieces, each with the hash so far as its seed. */
static void flush(ds_sum *s)
{
    s->hash = XXH3_64bits_withSeed(s->room, s->used, s->hash);
    s->used = 0;
}

static void add(ds_sum *s, const void *data, size_t size)
{
    if (size > sizeof(s->room) - s->used) {
        flush(s);
    }
    if (size > sizeof(s->room)) {
        s->hash = XXH3_64bits_withSeed(data, size, s->hash);
    } else if (size > 0) {
        memcpy(s->room + s->used, data, size);
        s->used += size;
    }
}

static void add_scalar(ds_sum *s, char type, const void *value)
{
    unsigned char word[9] = {(unsigned char)type};
    memcpy(word + 1, value, 8);
    add(s, word, sizeof(word));
}

static void add_null(ds_sum *s)
{
    const uint64_t nothing = 0;
    add_scalar(s, 'n', &nothing);
}

static void add_real(ds_sum *s, double value)
{
    value = value == 0 ? 0.0 : value; /* SQLite keeps no sign of a zero */
    add_scalar(s, 'r', &value);
}

static void add_text(ds_sum *s, const char *text, uint64_t size)
{
    add_scalar(s, 't', &size);
    add(s, text, (size_t)size);
}

/* The next blob's hash has that of the last one as its seed; none at all is another thing than an empty one.
 */
static void add_blob(ds_sum *s, const void *blob, uint64_t size)
{
    const uint64_t seed = s->blobs + (blob != NULL ? 1 : 2);
    s->blobs =
        (uint32_t)XXH3_64bits_withSeed(blob != NULL ? blob : "", blob != NULL ? (size_t)size : 0, seed);
}

static uint64_t result(ds_sum *s)
{
    add(s, &s->blobs, sizeof(s->blobs));
    flush(s);
    return (uint64_t)s->blobs << 32 | (uint32_t)s->hash;
}

/* ---- writing ---- */

void ds_sum_begin(ds_sum *s, sqlite3_stmt *q, char table)
{
    s->q = q;
    s->column = s->behind = 0;
    s->blobs = 0;
    s->hash = 0;
    s->used = 0;
    add(s, &table, 1);
}

void ds_sum_whole(ds_sum *s, int64_t value)
{
    add_scalar(s, 'i', &value);
    sqlite3_bind_int64(s->q, ++s->column, value);
}

void ds_sum_real(ds_sum *s, double value)
{
    if (isfinite(value)) {
        add_real(s, value);
        sqlite3_bind_double(s->q, ++s->column, value);
    } else {
        add_null(s);
        sqlite3_bind_null(s->q, ++s->column);
    }
}

void ds_sum_text(ds_sum *s, const char *text)
{
    if (text != NULL) {
        add_text(s, text, strlen(text));
        sqlite3_bind_text(s->q, ++s->column, text, -1, SQLITE_STATIC);
    } else {
        add_null(s);
        sqlite3_bind_null(s->q, ++s->column);
    }
}

void ds_sum_numbers(ds_sum *s, const double *numbers, uint64_t count)
{
    const int column = s->column + 2 + s->behind++;
    add_blob(s, numbers, numbers != NULL ? count * sizeof(double) : 0);
    if (numbers != NULL) { /* an empty list is one, not NULL */
        sqlite3_bind_blob64(s->q, column, numbers, count * sizeof(double), SQLITE_STATIC);
    } else {
        sqlite3_bind_null(s->q, column);
    }
}

void ds_sum_end(ds_sum *s)
{
    sqlite3_bind_int64(s->q, s->column + 1, (sqlite3_int64)result(s));
}

/* ---- reading ---- */

static void add_column(ds_sum *s, sqlite3_stmt *q, int column)
{
    int64_t whole;
    switch (sqlite3_column_type(q, column)) {
    case SQLITE_INTEGER:
        whole = sqlite3_column_int64(q, column);
        add_scalar(s, 'i', &whole);
        break;
    case SQLITE_FLOAT:
        add_real(s, sqlite3_column_double(q, column));
        break;
    case SQLITE_NULL:
        add_null(s);
        break;
    default: {
        const char *text = (const char *)sqlite3_column_text(q, column);
        add_text(s, text != NULL ? text : "",
                 text != NULL ? (uint64_t)sqlite3_column_bytes(q, column) : UINT64_MAX);
    }
    }
}

int ds_sum_check(sqlite3_stmt *q, char table, int first, int scalars, int blobs)
{
    ds_sum s;
    uint64_t stored = (uint64_t)sqlite3_column_int64(q, first + scalars);
    int whole = sqlite3_column_type(q, first + scalars) == SQLITE_INTEGER;
    ds_sum_begin(&s, NULL, table);
    for (int k = 0; k < scalars; k++) {
        add_column(&s, q, first + k);
    }
    s.blobs = (uint32_t)(stored >> 32);
    if (!whole || result(&s) != stored) {
        return DS_SUM_SCALARS;
    }
    s.blobs = 0;
    for (int k = 0; k < blobs; k++) {
        const int column = first + scalars + 1 + k;
        const int none = sqlite3_column_type(q, column) == SQLITE_NULL;
        const void *blob = none ? NULL : sqlite3_column_blob(q, column);
        add_blob(&s, none || blob != NULL ? blob : "", none ? 0 : (uint64_t)sqlite3_column_bytes(q, column));
    }
    return blobs > 0 && s.blobs != (uint32_t)(stored >> 32) ? DS_SUM_BLOBS : DS_SUM_WHOLE;
}
