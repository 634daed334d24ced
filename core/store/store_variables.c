/* SPDX-License-Identifier: Apache-2.0 */
/* store_variables.c - the names of the variables in a store: a table that is there where they have some. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "store/store_internal.h"

static int insert(ds_store *s, sqlite3_stmt *q, const ds_named_variable *v, uint64_t n, ds_error *e)
{
    int rc = 0;
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        sqlite3_bind_int64(q, 1, (sqlite3_int64)i);
        sqlite3_bind_text(q, 2, v[i].name, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 3, v[i].unit, -1, SQLITE_STATIC);
        sqlite3_bind_text(q, 4, v[i].group, -1, SQLITE_STATIC);
        sqlite3_bind_int64(q, 5, v[i].flags);
        errno = 0;
        rc = sqlite3_step(q) != SQLITE_DONE ? ds_store_fail(s, e, "writing") : 0;
        sqlite3_reset(q);
    }
    return rc;
}

int ds_store_put_variables(ds_store *s, const ds_named_variable *v, uint64_t n, ds_error *e)
{
    static const char create[] =
        "CREATE TABLE variable(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT "
        "NULL, grp TEXT NOT NULL, flags INTEGER NOT NULL)";
    sqlite3_stmt *q = NULL;
    int rc = ds_store_execute(s, create, "writing", e);
    rc = rc != 0 ? rc
                 : ds_store_select(
                       s, "INSERT INTO variable(id, name, unit, grp, flags) VALUES(?1,?2,?3,?4,?5)", &q, e);
    rc = rc != 0 ? rc : insert(s, q, v, n, e);
    sqlite3_finalize(q);
    return rc;
}

static int damaged(const ds_store *s, ds_error *e)
{
    return ds_fail(e, DS_EXIT_IO, "%s: damaged: the names of its variables", s->path);
}

static int read_rows(ds_store *s, sqlite3_stmt *q, ds_named_variable *v, uint64_t n, ds_error *e)
{
    char why[DS_VARIABLE_WHY];
    uint64_t i = 0;
    int step, rc = 0;
    while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0) {
        rc = i >= n || (uint64_t)sqlite3_column_int64(q, 0) != i ||
                     ds_variable_set(&v[i], (const char *)sqlite3_column_text(q, 1),
                                     (const char *)sqlite3_column_text(q, 2),
                                     (const char *)sqlite3_column_text(q, 3),
                                     (uint32_t)sqlite3_column_int64(q, 4), why) != 0
                 ? damaged(s, e)
                 : 0;
        i++;
    }
    rc = rc == 0 && step == SQLITE_DONE && i != n ? damaged(s, e) : rc;
    return ds_store_end(s, q, step, rc, e);
}

int ds_store_get_variables(ds_store *s, ds_named_variable **out, uint64_t *count, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int64_t n = 0;
    *out = NULL;
    *count = 0;
    int rc = ds_store_query(s, "SELECT count(*) FROM sqlite_master WHERE type='table' AND name='variable'",
                            &n, NULL, e);
    if (rc != 0 || n == 0) {
        return rc;
    }
    rc = ds_store_query(s, "SELECT count(*) FROM variable", &n, NULL, e);
    rc = rc == 0 && (n < 1 || n > DS_MAX_NAMED) ? damaged(s, e) : rc;
    ds_named_variable *v = rc == 0 ? calloc((size_t)n, sizeof *v) : NULL;
    rc = rc == 0 && v == NULL ? ds_no_memory(e) : rc;
    rc = rc != 0 ? rc
                 : ds_store_select(s, "SELECT id, name, unit, grp, flags FROM variable ORDER BY id", &q, e);
    rc = rc != 0 ? rc : read_rows(s, q, v, (uint64_t)n, e);
    if (rc != 0) {
        free(v);
        return rc;
    }
    *out = v;
    *count = (uint64_t)n;
    return 0;
}
