/* SPDX-License-Identifier: Apache-2.0 */
/* store_variables.c - the names of the variables in a store: a table that is there where they have some. */
#include "config.h"

#include <stdlib.h>

#include "store/store_internal.h"

int ds_store_put_variables(ds_store *s, const ds_named_variable *v, uint64_t n, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = ds_store_inserting(s, DS_STORE_VARIABLE, &q, e);
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        ds_sum sum;
        ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_VARIABLE].letter);
        ds_sum_whole(&sum, (int64_t)i);
        ds_sum_text(&sum, v[i].name);
        ds_sum_text(&sum, v[i].unit);
        ds_sum_text(&sum, v[i].group);
        ds_sum_whole(&sum, v[i].flags);
        ds_sum_end(&sum);
        rc = ds_store_inserted(s, DS_STORE_VARIABLE, q, e);
    }
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
    int has = 0, rc = ds_store_has_table(s, "variable", &has, e);
    if (rc != 0 || !has) {
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
