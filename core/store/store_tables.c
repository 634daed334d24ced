/* SPDX-License-Identifier: Apache-2.0 */
/* store_tables.c - the tables of a store in its present format and in format 1, and the checksums of rows. */
#define XXH_INLINE_ALL
#include "config.h"

#include "store/store_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Blobs come last: a pass over the losses skips what does not fit into a page. */
const ds_store_table ds_store_table_of[DS_STORE_TABLES] = {
    [DS_STORE_META] = {.name = "meta",
                       .letter = 'm',
                       .scalars = 2,
                       .columns = "key, value, sum",
                       .order = "key",
                       .create =
                           "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT "
                           "NULL) WITHOUT ROWID"},
    [DS_STORE_SETTING] = {.name = "setting",
                          .letter = 's',
                          .scalars = 3,
                          .columns = "section, key, value, sum",
                          .order = "section, key",
                          .create = "CREATE TABLE setting(section TEXT, key TEXT, value TEXT NOT NULL, sum "
                                    "INTEGER NOT NULL, PRIMARY KEY(section, key)) WITHOUT ROWID"},
    [DS_STORE_VARIABLE] = {.name = "variable",
                           .letter = 'v',
                           .scalars = 5,
                           .columns = "id, name, unit, grp, flags, sum",
                           .order = "id",
                           .create = "CREATE TABLE variable(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit "
                                     "TEXT NOT NULL, grp TEXT NOT NULL, flags INTEGER NOT NULL, sum INTEGER "
                                     "NOT NULL)"},
    [DS_STORE_EVAL] = {.name = "eval",
                       .letter = 'e',
                       .scalars = 12,
                       .blobs = 2,
                       .columns =
                           "id, loss, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall, "
                           "at, parts, sum, x, grad",
                       .order = "id",
                       .create =
                           "CREATE TABLE eval(id INTEGER PRIMARY KEY, loss REAL, grad_kind INTEGER NOT "
                           "NULL, outcome INTEGER NOT NULL, tag TEXT, grp INTEGER NOT NULL, cost_steps "
                           "INTEGER NOT NULL, bad_step INTEGER NOT NULL, message TEXT, wall REAL NOT NULL, "
                           "at REAL NOT NULL, parts INTEGER NOT NULL, sum INTEGER NOT NULL, x BLOB NOT "
                           "NULL, grad BLOB)"},
    [DS_STORE_EXTRA] = {.name = "extra",
                        .letter = 'x',
                        .scalars = 2,
                        .blobs = 2,
                        .columns = "id, kind, sum, asked, answered",
                        .order = "id",
                        .create =
                            "CREATE TABLE extra(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, sum INTEGER "
                            "NOT NULL, asked BLOB, answered BLOB)"},
    [DS_STORE_EPISODE] = {.name = "episode",
                          .letter = 'p',
                          .scalars = 4,
                          .blobs = 2,
                          .columns = "id, key, steps, ended, sum, obs, reward",
                          .order = "id",
                          .create =
                              "CREATE TABLE episode(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, steps "
                              "INTEGER NOT NULL, ended INTEGER, sum INTEGER NOT NULL, obs BLOB NOT NULL, "
                              "reward BLOB NOT NULL)"},
    [DS_STORE_PROGRESS] = {.name = "progress",
                           .letter = 'r',
                           .scalars = 2,
                           .blobs = 2,
                           .columns = "id, names, sum, value, x",
                           .order = "id",
                           .create = "CREATE TABLE progress(id INTEGER PRIMARY KEY, names TEXT NOT NULL, sum "
                                     "INTEGER NOT NULL, value BLOB NOT NULL, x BLOB)"},
    [DS_STORE_TOTAL] = {.name = "total",
                        .letter = 't',
                        .scalars = 2,
                        .columns = "name, rows, sum",
                        .order = "name",
                        .create =
                            "CREATE TABLE total(name TEXT PRIMARY KEY, rows INTEGER NOT NULL, sum INTEGER "
                            "NOT NULL) WITHOUT ROWID"},
};

/* Parameters are numbered in the order of binding: scalars, sum, blobs. */
static const char *const insert_now[DS_STORE_TABLES] = {
    [DS_STORE_META] = "INSERT OR REPLACE INTO meta(key, value, sum) VALUES(?1,?2,?3)",
    [DS_STORE_SETTING] = "INSERT OR REPLACE INTO setting(section, key, value, sum) VALUES(?1,?2,?3,?4)",
    [DS_STORE_VARIABLE] = "INSERT INTO variable(id, name, unit, grp, flags, sum) VALUES(?1,?2,?3,?4,?5,?6)",
    [DS_STORE_EVAL] =
        "INSERT INTO eval(id, loss, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, "
        "wall, at, parts, sum, x, grad) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
    [DS_STORE_EXTRA] = "INSERT INTO extra(id, kind, sum, asked, answered) VALUES(?1,?2,?3,?4,?5)",
    [DS_STORE_EPISODE] =
        "INSERT INTO episode(id, key, steps, ended, sum, obs, reward) VALUES(?1,?2,?3,?4,?5,?6,?7)",
    [DS_STORE_PROGRESS] = "INSERT INTO progress(id, names, sum, value, x) VALUES(?1,?2,?3,?4,?5)",
    [DS_STORE_TOTAL] = "INSERT OR REPLACE INTO total(name, rows, sum) VALUES(?1,?2,?3)",
};

/* Format 1 has no sums, no parts and no totals. */
static const char *const insert_then[DS_STORE_TABLES] = {
    [DS_STORE_META] = "INSERT OR REPLACE INTO meta(key, value) SELECT ?1,?2 WHERE ?3 IS NOT NULL",
    [DS_STORE_SETTING] =
        "INSERT OR REPLACE INTO setting(section, key, value) SELECT ?1,?2,?3 WHERE ?4 IS NOT NULL",
    [DS_STORE_VARIABLE] =
        "INSERT INTO variable(id, name, unit, grp, flags) SELECT ?1,?2,?3,?4,?5 WHERE ?6 IS "
        "NOT NULL",
    [DS_STORE_EVAL] =
        "INSERT INTO eval(id, loss, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, "
        "wall, at, x, grad) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?14,?15)",
    [DS_STORE_EXTRA] = "INSERT INTO extra(id, kind, asked, answered) VALUES(?1,?2,?4,?5)",
    [DS_STORE_EPISODE] = "INSERT INTO episode(id, key, steps, ended, obs, reward) VALUES(?1,?2,?3,?4,?6,?7)",
    [DS_STORE_TOTAL] = "SELECT ?1, ?2, ?3",
};
static const char *const create_then[DS_STORE_TABLES] = {
    [DS_STORE_META] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    [DS_STORE_SETTING] = "CREATE TABLE setting(section TEXT, key TEXT, value TEXT NOT NULL, PRIMARY "
                         "KEY(section, key)) WITHOUT ROWID",
    [DS_STORE_VARIABLE] =
        "CREATE TABLE variable(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, "
        "grp TEXT NOT NULL, flags INTEGER NOT NULL)",
    [DS_STORE_EVAL] =
        "CREATE TABLE eval(id INTEGER PRIMARY KEY, loss REAL, grad_kind INTEGER NOT NULL, outcome "
        "INTEGER NOT NULL, tag TEXT, grp INTEGER NOT NULL, cost_steps INTEGER NOT NULL, bad_step "
        "INTEGER NOT NULL, message TEXT, wall REAL NOT NULL, at REAL NOT NULL, x BLOB NOT NULL, grad "
        "BLOB)",
    [DS_STORE_EXTRA] =
        "CREATE TABLE extra(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, asked BLOB, answered BLOB)",
    [DS_STORE_EPISODE] =
        "CREATE TABLE episode(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, steps INTEGER NOT "
        "NULL, ended INTEGER, obs BLOB NOT NULL, reward BLOB NOT NULL)",
};

const char *ds_store_create_text(int table, int format)
{
    return format > 1 ? ds_store_table_of[table].create : create_then[table];
}

int ds_store_has_table(ds_store *s, const char *name, int *has, ds_error *e)
{
    char sql[120];
    int64_t count = 0;
    sqlite3_snprintf(sizeof(sql), sql, "SELECT count(*) FROM sqlite_master WHERE type='table' AND name='%q'",
                     name);
    int rc = ds_store_query(s, sql, &count, NULL, e);
    *has = count > 0;
    return rc;
}

/* Adds the column that tables of dshost before 0.2 lack, and which that dshost ignores. */
static int add_end_column(ds_store *s, ds_error *e)
{
    int64_t has = 1;
    int rc = ds_store_query(s, "SELECT count(*) FROM pragma_table_info('episode') WHERE name='ended'", &has,
                            NULL, e);
    return rc != 0 || has ? rc
                          : ds_store_execute(s, "ALTER TABLE episode ADD COLUMN ended INTEGER", "writing", e);
}

/* Tables that few runs need are made with their first row. */
static int make_table(ds_store *s, int table, ds_error *e)
{
    const ds_store_table *t = &ds_store_table_of[table];
    const char *create = ds_store_create_text(table, s->format);
    int has = 1;
    int rc = create != NULL ? ds_store_has_table(s, t->name, &has, e) : 0;
    rc = rc != 0 || has ? rc : ds_store_execute(s, create, "writing", e);
    if (rc == 0 && table < DS_STORE_TOTALS) {
        s->has[table] = 1;
    }
    /* an older host refuses the file with a clear message */
    if (rc == 0 && !has && table == DS_STORE_PROGRESS) {
        char sql[40];
        sqlite3_snprintf(sizeof(sql), sql, "PRAGMA user_version=%d", DS_STORE_FORMAT);
        rc = ds_store_execute(s, sql, "writing", e);
    }
    return rc == 0 && s->format == 1 && table == DS_STORE_EPISODE ? add_end_column(s, e) : rc;
}

int ds_store_inserting(ds_store *s, int table, sqlite3_stmt **out, ds_error *e)
{
    sqlite3_stmt **q = &s->insert[table];
    int rc = 0;
    if (*q == NULL) {
        const char *sql = s->format > 1 ? insert_now[table] : insert_then[table];
        rc = make_table(s, table, e);
        if (rc == 0 && sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, q, NULL) != SQLITE_OK) {
            rc = ds_store_fail(s, e, "writing");
        }
    }
    *out = *q;
    return rc;
}

int ds_store_inserted(ds_store *s, int table, sqlite3_stmt *q, ds_error *e)
{
    errno = 0;
    int step = sqlite3_step(q), rc = 0;
    if (step != SQLITE_DONE && step != SQLITE_ROW) {
        rc = ds_store_fail(s, e, "writing");
    } else if (table < DS_STORE_TOTALS) {
        s->rows[table]++;
    }
    sqlite3_reset(q);
    return rc;
}

/* ---- checksums: XXH3, which costs little compared with the insertion of a row ---- */

/* A row longer than its room is hashed in pieces, each seeded with the hash so far. */
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
    value = value == 0 ? 0.0 : value; /* SQLite drops the sign of zero */
    add_scalar(s, 'r', &value);
}

static void add_text(ds_sum *s, const char *text, uint64_t size)
{
    add_scalar(s, 't', &size);
    add(s, text, (size_t)size);
}

/* The hash of a blob is seeded with that of the one before. NULL and an empty blob differ. */
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
