/* SPDX-License-Identifier: Apache-2.0 */
/* store_check.c - finds damage in a store, and the line that reports the damaged rows. */
#include "config.h"

#include "base/text.h"
#include "store/store_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Collects the damage: adjacent rows of a table with the same damage become one entry. */
typedef struct finding {
    ds_store_damage *d;
    size_t used;
    const char *table, *what;
    uint64_t from, to; /* 0 = none is open */
    uint64_t left;     /* rows that did not fit into the text */
} finding;

static void print(finding *f, uint64_t rows, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void print(finding *f, uint64_t rows, const char *format, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, format);
    int size = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    size = size >= (int)sizeof(text) ? (int)sizeof(text) - 1 : size;
    f->d->rows += rows;
    if (f->used + (size_t)size + 32 > sizeof(f->d->text)) {
        f->left += rows > 0 ? rows : 1;
        return;
    }
    f->used += (size_t)snprintf(f->d->text + f->used, sizeof(f->d->text) - f->used, "%s%s",
                                f->used > 0 ? ", " : "", text);
}

static void close_range(finding *f)
{
    if (f->from == 0) {
        return;
    }
    if (f->from == f->to) {
        print(f, 1, "%s %" PRIu64 " (%s)", f->table, f->from, f->what);
    } else {
        print(f, f->to - f->from + 1, "%s %" PRIu64 "..%" PRIu64 " (%s)", f->table, f->from, f->to, f->what);
    }
    f->from = 0;
}

/* Rows `from` to `to` of an evaluation's table are damaged. */
static void note(finding *f, const char *table, uint64_t from, uint64_t to, const char *what)
{
    f->d->first = from < f->d->first ? from : f->d->first;
    if (f->from != 0 && strcmp(f->table, table) == 0 && strcmp(f->what, what) == 0 && f->to + 1 == from) {
        f->to = to;
        return;
    }
    close_range(f);
    f->table = table;
    f->what = what;
    f->from = from;
    f->to = to;
}

/* The rest of a table cannot be read. */
static void note_unreadable(finding *f, const ds_store *s, const char *table, uint64_t from)
{
    close_range(f);
    f->d->first = from < f->d->first ? from : f->d->first;
    print(f, 1, "%s from %" PRIu64 " on cannot be read (%s)", table, from, sqlite3_errmsg(s->db));
}

static void note_head(finding *f, const char *table, const char *what)
{
    close_range(f);
    f->d->head = 1;
    print(f, 1, "%s %s", table, what);
}

/* ---- checked at every opening ---- */

static sqlite3_stmt *rows_of(ds_store *s, int table)
{
    const ds_store_table *t = &ds_store_table_of[table];
    char sql[300];
    sqlite3_stmt *q = NULL;
    sqlite3_snprintf(sizeof(sql), sql, "SELECT %s FROM %s ORDER BY %s", t->columns, t->name, t->order);
    return sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK ? q : NULL;
}

static const char *text_at(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text != NULL ? text : "";
}

/* Existing tables must have our schema. */
static void check_schema(ds_store *s, finding *f)
{
    for (int k = 0; k < DS_STORE_TABLES; k++) {
        const ds_store_table *t = &ds_store_table_of[k];
        sqlite3_stmt *q = NULL;
        int made = 0, same = 0;
        if (sqlite3_prepare_v2(s->db, "SELECT type, sql FROM sqlite_master WHERE name=?1", -1, &q, NULL) ==
            SQLITE_OK) {
            sqlite3_bind_text(q, 1, t->name, -1, SQLITE_STATIC);
            made = sqlite3_step(q) == SQLITE_ROW;
            same = made && strcmp(text_at(q, 0), "table") == 0 && strcmp(text_at(q, 1), t->create) == 0;
        }
        sqlite3_finalize(q);
        const int always =
            k == DS_STORE_META || k == DS_STORE_SETTING || k == DS_STORE_EVAL || k == DS_STORE_TOTAL;
        if (made ? !same : always) {
            note_head(f, "the schema of", t->name);
        }
        if (k < DS_STORE_TOTALS) {
            s->has[k] = made;
        }
    }
}

/* ---- what a schema may contain ---- */

/* Is `word` one of the words of a text? */
static int is_word_of(const char *text, const char *word, size_t length)
{
    static const char between[] = " ,()";
    while (text[0] != '\0') {
        const size_t n = strcspn(text, between);
        if (n == length && strncmp(text, word, n) == 0) {
            return 1;
        }
        text += n;
        text += strspn(text, between);
    }
    return 0;
}

/* Does a statement create a table with these columns and nothing that SQLite would run: no default, generated
 * column, condition or module? */
static int is_plain(const char *sql, const char *name, const char *columns)
{
    static const char words[] =
        "CREATE TABLE INTEGER INT NUM REAL TEXT BLOB NOT NULL PRIMARY KEY WITHOUT ROWID",
                      between[] = " ,()\"\n\t";
    while (sql[0] != '\0') {
        const size_t n = strcspn(sql, between);
        if (n > 0 && !is_word_of(words, sql, n) && !is_word_of(columns, sql, n) &&
            !(strlen(name) == n && strncmp(name, sql, n) == 0)) {
            return 0;
        }
        sql += n;
        sql += strspn(sql, between);
    }
    return 1;
}

/* The columns of one of our tables, or of the statistics that a user made with ANALYZE. */
static const char *columns_of(const char *name)
{
    int k = 0;
    while (k < DS_STORE_TABLES && strcmp(ds_store_table_of[k].name, name) != 0) {
        k++;
    }
    return k < DS_STORE_TABLES                     ? ds_store_table_of[k].columns
           : strncmp(name, "sqlite_stat", 11) == 0 ? "tbl, idx, stat, neq, nlt, ndlt, sample"
                                                   : NULL;
}

int ds_store_check_objects(ds_store *s, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = ds_store_select(s, "SELECT type, name, tbl_name, sql FROM sqlite_master", &q, e);
    int step = SQLITE_DONE;
    while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        const char *type = text_at(q, 0), *name = text_at(q, 1), *columns = columns_of(name);
        const int is_table = strcmp(type, "table") == 0;
        if (is_table && columns != NULL && !is_plain(text_at(q, 3), name, columns)) {
            rc =
                ds_fail(e, DS_EXIT_IO,
                        "%s: damaged: the schema of %s is not one that dshost writes; restore it from a copy",
                        s->path, name);
        } else if (!(is_table && columns != NULL) &&
                   !(strcmp(type, "index") == 0 && sqlite3_column_type(q, 3) == SQLITE_NULL)) {
            char clean[80];
            snprintf(clean, sizeof(clean), "%.70s", name);
            ds_text_clean(clean);
            rc = ds_fail(e, DS_EXIT_IO,
                         "%s: refused: it contains %s '%s', which dshost does not write; restore it from a "
                         "copy, or remove that with sqlite3",
                         s->path,
                         is_table                     ? "a table"
                         : strcmp(type, "index") == 0 ? "an index"
                                                      : type,
                         clean);
        }
    }
    return ds_store_end(s, q, step, rc, e);
}

static void check_totals(ds_store *s, finding *f)
{
    sqlite3_stmt *q = rows_of(s, DS_STORE_TOTAL);
    int found[DS_STORE_TOTALS] = {0};
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        int whole = ds_sum_check(q, ds_store_table_of[DS_STORE_TOTAL].letter, 0, 2, 0) == DS_SUM_WHOLE, k = 0;
        while (k < DS_STORE_TOTALS && strcmp(text_at(q, 0), ds_store_table_of[k].name) != 0) {
            k++;
        }
        if (whole && k < DS_STORE_TOTALS) {
            found[k] = 1;
            s->rows[k] = s->committed[k] = (uint64_t)sqlite3_column_int64(q, 1);
        }
    }
    sqlite3_finalize(q);
    for (int k = 0; k < DS_STORE_TOTALS; k++) {
        if (s->has[k] != found[k]) {
            note_head(f, "the count of", ds_store_table_of[k].name);
        }
    }
}

/* Checks all rows of a small table. They must be in ascending order, so that a search by key finds every row.
 */
static void check_small(ds_store *s, int table, finding *f)
{
    const ds_store_table *t = &ds_store_table_of[table];
    sqlite3_stmt *q = rows_of(s, table);
    char before[256] = "";
    uint64_t count = 0;
    int step = SQLITE_ERROR;
    while (q != NULL && (step = sqlite3_step(q)) == SQLITE_ROW) {
        char key[256];
        if (table == DS_STORE_VARIABLE) {
            snprintf(key, sizeof(key), "%020lld", (long long)sqlite3_column_int64(q, 0));
        } else {
            snprintf(key, sizeof(key), t->scalars > 2 ? "%.100s.%.120s" : "%.100s", text_at(q, 0),
                     text_at(q, 1));
        }
        /* '.' sorts before every letter of a section, so keys sort as their texts */
        if (ds_sum_check(q, t->letter, 0, t->scalars, 0) != DS_SUM_WHOLE ||
            (count > 0 && strcmp(before, key) >= 0)) {
            note_head(f, t->name, key);
        }
        snprintf(before, sizeof(before), "%s", key);
        count++;
    }
    char text[160];
    if (step != SQLITE_DONE) {
        snprintf(text, sizeof(text), "(cannot be read: %.120s)", sqlite3_errmsg(s->db));
        note_head(f, t->name, text);
    } else if (count != s->committed[table]) {
        snprintf(text, sizeof(text), "(%" PRIu64 " of %" PRIu64 " rows are there)", count,
                 s->committed[table]);
        note_head(f, t->name, text);
    }
    sqlite3_finalize(q);
}

static void check_head(ds_store *s, finding *f)
{
    static const int small[] = {DS_STORE_META, DS_STORE_SETTING, DS_STORE_VARIABLE};
    int own;
    ds_store_view(s, &own);
    check_schema(s, f);
    check_totals(s, f);
    for (size_t k = 0; k < sizeof(small) / sizeof(small[0]); k++) {
        if (s->has[small[k]]) {
            check_small(s, small[k], f);
        }
    }
    ds_store_view_end(s, own);
}

int ds_store_check_head(ds_store *s, ds_error *e)
{
    ds_store_damage d = {.first = UINT64_MAX};
    finding f = {.d = &d};
    if (s->format == 1) {
        return 0;
    }
    check_head(s, &f);
    return d.head ? ds_store_damaged(s, e, "its settings") : 0;
}

/* ---- checked by verify ---- */

/* The damage of a row; NULL = none. */
static const char *row_fault(const ds_store *s, sqlite3_stmt *q, const ds_store_table *t)
{
    static const char *const fault[] = {NULL, "numbers or texts", "x or gradient"};
    if (s->format > 1) {
        const int k = ds_sum_check(q, t->letter, 0, t->scalars, t->blobs);
        return k == DS_SUM_BLOBS && t->letter != 'e' ? "its lists" : fault[k];
    }
    const size_t bytes = s->n * sizeof(double);
    return (size_t)sqlite3_column_bytes(q, 13) != bytes ||
                   (sqlite3_column_type(q, 14) != SQLITE_NULL && (size_t)sqlite3_column_bytes(q, 14) != bytes)
               ? "x or gradient"
               : NULL;
}

static void check_eval(ds_store *s, finding *f)
{
    const ds_store_table *t = &ds_store_table_of[DS_STORE_EVAL];
    sqlite3_stmt *q = NULL;
    int step = SQLITE_ERROR;
    uint64_t expected = 1;
    if (s->format > 1) {
        q = rows_of(s, DS_STORE_EVAL);
    } else {
        ds_store_select(
            s,
            "SELECT id, loss, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall, at, 0, "
            "0, x, grad FROM eval ORDER BY id",
            &q, NULL);
    }
    while (q != NULL && (step = sqlite3_step(q)) == SQLITE_ROW) {
        const uint64_t id = (uint64_t)sqlite3_column_int64(q, 0);
        const char *fault = row_fault(s, q, t);
        if (fault == NULL && id > expected) {
            note(f, t->name, expected, id - 1, "missing");
            expected = id;
        } else if (fault == NULL && id < expected) {
            close_range(f);
            f->d->first = expected < f->d->first ? expected : f->d->first;
            print(f, 1, "eval after %" PRIu64 " (the order of its rows)", expected - 1);
            expected = s->committed[DS_STORE_EVAL] + 1;
            step = SQLITE_DONE;
            break;
        } else if (fault != NULL) {
            note(f, t->name, expected, expected, fault);
        }
        expected++;
    }
    if (step != SQLITE_DONE) {
        note_unreadable(f, s, t->name, expected);
    } else if (expected <= s->committed[DS_STORE_EVAL]) {
        note(f, t->name, expected, s->committed[DS_STORE_EVAL], "missing");
    }
    f->d->evaluations = expected - 1;
    close_range(f);
    sqlite3_finalize(q);
}

/* Checks the rows of another table that evaluations refer to. */
static void check_part(ds_store *s, int table, int part, finding *f)
{
    const ds_store_table *t = &ds_store_table_of[table];
    sqlite3_stmt *q = NULL, *list = NULL;
    int has = 0, step = SQLITE_DONE, next;
    char sql[120];
    sqlite3_snprintf(sizeof(sql), sql, "SELECT id FROM eval WHERE (parts & %d) != 0 ORDER BY id", part);
    if (ds_store_has_table(s, t->name, &has, NULL) != 0 ||
        sqlite3_prepare_v2(s->db, sql, -1, &list, NULL) != SQLITE_OK) {
        return; /* eval could not be read, which was reported */
    }
    q = has ? rows_of(s, table) : NULL;
    uint64_t last = 0;
    if (q != NULL) {
        step = sqlite3_step(q);
    } else if (has) {
        step = SQLITE_ERROR;
    }
    while ((next = sqlite3_step(list)) == SQLITE_ROW) {
        const uint64_t id = (uint64_t)sqlite3_column_int64(list, 0);
        const char *fault = step == SQLITE_ROW ? row_fault(s, q, t) : "missing";
        if (step != SQLITE_ROW && step != SQLITE_DONE) {
            break;
        }
        if (fault == NULL && (uint64_t)sqlite3_column_int64(q, 0) != id) {
            fault = "missing, or another one";
        }
        if (fault != NULL) {
            note(f, t->name, id, id, fault);
        }
        step = step == SQLITE_ROW ? sqlite3_step(q) : step;
        last = id;
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE) {
        note_unreadable(f, s, t->name, last + 1);
    }
    close_range(f);
    sqlite3_finalize(q);
    sqlite3_finalize(list);
}

int ds_store_examine(ds_store *s, ds_store_damage *d, ds_error *e)
{
    finding f = {.d = d};
    int own;
    (void)e;
    *d = (ds_store_damage){.first = UINT64_MAX};
    ds_store_view(s, &own);
    if (s->format > 1) {
        check_head(s, &f);
    }
    check_eval(s, &f);
    if (s->format > 1) {
        check_part(s, DS_STORE_EXTRA, DS_PART_EXTRA, &f);
        check_part(s, DS_STORE_EPISODE, DS_PART_EPISODE, &f);
        check_part(s, DS_STORE_PROGRESS, DS_PART_PROGRESS, &f);
    }
    ds_store_view_end(s, own);
    if (f.left > 0) {
        snprintf(d->text + f.used, sizeof(d->text) - f.used, " and %" PRIu64 " more", f.left);
    }
    return 0;
}

/* ---- the message ---- */

/* What the user can do. */
static void advice(const ds_store *s, const ds_store_damage *d, char *text, size_t size)
{
    const char *slash = strrchr(s->path, '/'), *name = slash != NULL ? slash + 1 : s->path;
    const int folder = slash != NULL ? (int)(slash - s->path) : 1;
    const int is_run = strcmp(name, "run.sqlite") == 0 || strcmp(name, "landscape.sqlite") == 0;
    if (!is_run || d->head || d->first == UINT64_MAX) {
        snprintf(text, size, "restore it from a copy%s",
                 is_run ? ", or start again with the .ini file next to it" : "");
    } else {
        snprintf(text, size,
                 "restore it from a copy, or continue from the %" PRIu64
                 " evaluations before with: dshost resume %.*s --repair",
                 d->first - 1, folder, slash != NULL ? s->path : ".");
    }
}

static int tell(const ds_store *s, const ds_store_damage *d, ds_error *e)
{
    char what_to_do[600];
    advice(s, d, what_to_do, sizeof(what_to_do));
    return ds_fail(e, DS_EXIT_IO, "%s: damaged: %s; %s", s->path, d->text, what_to_do);
}

int ds_store_damaged(ds_store *s, ds_error *e, const char *what, ...)
{
    ds_store_damage d;
    int rc = ds_store_examine(s, &d, e);
    if (rc != 0) {
        return rc;
    }
    if (d.text[0] == '\0') {
        va_list ap;
        va_start(ap, what);
        vsnprintf(d.text, sizeof(d.text), what, ap);
        va_end(ap);
    }
    return tell(s, &d, e);
}

int ds_store_verify(ds_store *s, ds_error *e)
{
    ds_store_damage d;
    int rc = ds_store_examine(s, &d, e);
    return rc != 0 || d.text[0] == '\0' ? rc : tell(s, &d, e);
}
