/* SPDX-License-Identifier: Apache-2.0 */
/* store_repair.c - a new store with the evaluations before the first damaged one; the old file is kept. */
#include "config.h"

#include "store/store_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "PATH.damaged", with -2, -3, ... where that name is taken; to be freed. */
static char *name_for(const char *path)
{
    size_t size = strlen(path) + 40;
    char *name = malloc(size);
    for (unsigned k = 1; name != NULL && k < 100000; k++) {
        snprintf(name, size, k == 1 ? "%s.damaged" : "%s.damaged-%u", path, k);
        if (access(name, F_OK) != 0) {
            return name;
        }
    }
    free(name);
    return NULL;
}

/* The columns of a table in the format of the file; episodes of the first versions lack one. */
static int columns_of(ds_store *from, int table, char out[300], ds_error *e)
{
    const ds_store_table *t = &ds_store_table_of[table];
    int64_t has = 1;
    int rc = 0;
    if (table == DS_STORE_EPISODE && from->format == 1) {
        rc = ds_store_query(from, "SELECT count(*) FROM pragma_table_info('episode') WHERE name='ended'",
                            &has, NULL, e);
    }
    out[0] = '\0';
    for (const char *at = t->columns; *at != '\0';) {
        const size_t n = strcspn(at, ",");
        const int only_now =
            (n == 3 && strncmp(at, "sum", n) == 0) || (n == 5 && strncmp(at, "parts", n) == 0);
        if (from->format > 1 || !only_now) {
            const int missing = n == 5 && strncmp(at, "ended", n) == 0 && !has;
            const size_t used = strlen(out);
            snprintf(out + used, 300 - used, "%s%.*s", used > 0 ? ", " : "", missing ? 4 : (int)n,
                     missing ? "NULL" : at);
        }
        at += n;
        at += strspn(at, ", ");
    }
    return rc;
}

/* Copies rows value by value. */
static int copy_rows(ds_store *from, ds_store *to, const char *select, const char *insert, ds_error *e)
{
    sqlite3_stmt *q = NULL, *put = NULL;
    int step = SQLITE_DONE, rc = ds_store_select(from, select, &q, e);
    rc = rc != 0 ? rc : ds_store_select(to, insert, &put, e);
    while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        for (int k = 0; k < sqlite3_column_count(q); k++) {
            sqlite3_bind_value(put, k + 1, sqlite3_column_value(q, k));
        }
        rc = sqlite3_step(put) != SQLITE_DONE ? ds_store_fail(to, e, "copying") : 0;
        sqlite3_reset(put);
    }
    sqlite3_finalize(put);
    return ds_store_end(from, q, step, rc, e);
}

/* Copies a table: its rows before evaluation `first`, or all rows of a table without evaluations. The new
 * table is made from our text, never from the text in the file. */
static int copy_table(ds_store *from, ds_store *to, int table, uint64_t first, ds_error *e)
{
    const ds_store_table *t = &ds_store_table_of[table];
    const int of_evaluations = table == DS_STORE_EVAL || table == DS_STORE_EXTRA ||
                               table == DS_STORE_EPISODE || table == DS_STORE_PROGRESS;
    const char *create = ds_store_create_text(table, from->format);
    char columns[300], values[80] = "?";
    int has = 0, rc = ds_store_has_table(from, t->name, &has, e);
    if (rc != 0 || !has || create == NULL) {
        return rc;
    }
    rc = columns_of(from, table, columns, e);
    for (const char *c = columns; (c = strchr(c, ',')) != NULL; c++) {
        strcat(values, ",?");
    }
    char *select =
        sqlite3_mprintf(of_evaluations ? "SELECT %s FROM %s WHERE id<%lld ORDER BY id" : "SELECT %s FROM %s",
                        columns, t->name, first > INT64_MAX ? INT64_MAX : (long long)first);
    char *insert = sqlite3_mprintf("INSERT INTO %s VALUES(%s)", t->name, values);
    rc = rc != 0 ? rc : select == NULL || insert == NULL ? ds_no_memory(e) : 0;
    rc = rc != 0 ? rc : ds_store_execute(to, create, "copying", e);
    rc = rc != 0 ? rc : copy_rows(from, to, select, insert, e);
    sqlite3_free(select);
    sqlite3_free(insert);
    return rc;
}

/* A row of eval less needs a smaller count. */
static int put_count(ds_store *to, uint64_t rows, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    int rc = ds_store_select(to, "INSERT OR REPLACE INTO total(name, rows, sum) VALUES(?1,?2,?3)", &q, e);
    if (rc != 0) {
        return rc;
    }
    ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_TOTAL].letter);
    ds_sum_text(&sum, ds_store_table_of[DS_STORE_EVAL].name);
    ds_sum_whole(&sum, (int64_t)rows);
    ds_sum_end(&sum);
    rc = sqlite3_step(q) != SQLITE_DONE ? ds_store_fail(to, e, "copying") : 0;
    sqlite3_finalize(q);
    return rc;
}

static int copy_before(ds_store *from, const char *draft, uint64_t first, ds_error *e)
{
    char head[160];
    ds_store *to = NULL;
    sqlite3_snprintf(sizeof(head), head,
                     "PRAGMA page_size=8192; BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d",
                     DS_STORE_APPLICATION, from->format);
    int rc = ds_store_connect_new(draft, &to, e);
    rc = rc != 0 ? rc : ds_store_execute(to, head, "copying", e);
    for (int k = 0; k < DS_STORE_TABLES && rc == 0; k++) {
        rc = copy_table(from, to, k, first, e);
    }
    rc = rc == 0 && from->format > 1 ? put_count(to, first - 1, e) : rc;
    rc = rc != 0 ? rc : ds_store_execute(to, "COMMIT", "copying", e);
    ds_store_discard(to);
    return rc;
}

/* Gives the damaged file a second name, so that a record exists at every moment; its log moves with it. Where
 * the file system has no links the file is moved. */
static int move_aside(const char *path, const char *kept, ds_error *e)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-rows"};
    for (size_t k = 0; k < sizeof(endings) / sizeof(endings[0]); k++) {
        char *from = NULL, *to = NULL;
        if (asprintf(&from, "%s%s", path, endings[k]) < 0 || asprintf(&to, "%s%s", kept, endings[k]) < 0) {
            return ds_no_memory(e);
        }
        const int is_file = endings[k][0] == '\0';
        int bad = !(is_file && link(from, to) == 0) && rename(from, to) != 0 && (errno != ENOENT || is_file);
        int why = errno;
        free(from);
        free(to);
        if (bad) {
            return ds_fail(e, DS_EXIT_IO, "%s: cannot be renamed: %s", path, strerror(why));
        }
    }
    return 0;
}

static int replace(ds_store **s, const ds_store_damage *d, const char *path, char **kept, ds_error *e)
{
    char *draft = NULL, *name = name_for(path);
    int rc = name == NULL || asprintf(&draft, "%s.new", path) < 0 ? ds_no_memory(e) : 0;
    if (rc == 0) {
        rc = ds_store_clear_place(draft, e);
        rc = rc != 0 ? rc : copy_before(*s, draft, d->first, e);
    }
    ds_store_discard(*s);
    *s = NULL;
    rc = rc != 0 ? rc : move_aside(path, name, e);
    if (rc == 0 && rename(draft, path) != 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be renamed: %s", draft, strerror(errno));
    }
    if (rc != 0 && draft != NULL) {
        unlink(draft);
    }
    free(draft);
    if (rc == 0) {
        *kept = name;
    } else {
        free(name);
    }
    return rc;
}

int ds_store_repair(const char *path, char **kept, uint64_t *rows, ds_error *e)
{
    ds_store *s = NULL;
    ds_store_damage d = {.text = ""};
    char *n = NULL;
    *kept = NULL;
    int rc = ds_store_open_raw(path, DS_STORE_WRITE, &s, e);
    rc = rc != 0 ? rc : ds_store_get(s, "n", &n, e);
    if (rc == 0) {
        s->n = n != NULL ? strtoull(n, NULL, 10) : 0;
        rc = ds_store_examine(s, &d, e);
    }
    free(n);
    *rows = d.first == UINT64_MAX ? d.evaluations : d.first - 1;
    if (rc == 0 && d.head) {
        rc = ds_fail(e, DS_EXIT_IO,
                     "%s: cannot be repaired: %s; restore it from a copy, or start again with the .ini file "
                     "next to it",
                     path, d.text);
    } else if (rc == 0 && d.text[0] != '\0') {
        rc = replace(&s, &d, path, kept, e);
    }
    ds_store_discard(s);
    return rc;
}
