/* SPDX-License-Identifier: Apache-2.0 */
/* store_internal.h - what store.c and store_rows.c share: the open file. */
#ifndef DS_STORE_STORE_INTERNAL_H
#define DS_STORE_STORE_INTERNAL_H

#include <sqlite3.h>

#include "store/store.h"

enum { DS_STORE_EVAL = 0, DS_STORE_EXTRA = 1, DS_STORE_EPISODE = 2, DS_STORE_STATEMENTS = 3 };

struct ds_store {
    sqlite3 *db;
    sqlite3_stmt *insert[DS_STORE_STATEMENTS]; /* made with the first such row */
    char *path;
    uint64_t n;
    int writable;
};

/* Turns the last failure of SQLite into one line: what was done to which file, and why it failed. */
int ds_store_fail(const ds_store *s, ds_error *e, const char *doing);

int ds_store_execute(ds_store *s, const char *sql, const char *doing, ds_error *e);

/* Begins a statement that reads. */
int ds_store_select(const ds_store *s, const char *sql, sqlite3_stmt **q, ds_error *e);

/* Ends it; `step` is the last answer of sqlite3_step(), rc what came out of the rows: returned
 * unless the step has failed. */
int ds_store_end(const ds_store *s, sqlite3_stmt *q, int step, int rc, ds_error *e);

/* Runs a statement that gives one integer, or one real. */
int ds_store_query(ds_store *s, const char *sql, int64_t *whole, double *real, ds_error *e);

#endif
