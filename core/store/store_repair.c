/* SPDX-License-Identifier: Apache-2.0 */
/* store_repair.c - a new store of the evaluations before the first damaged one; the old file is kept. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_internal.h"

/* "PATH.damaged", with -2, -3, ... where that is taken; to be freed. */
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

/* Copies a table: its rows before evaluation `first`, or all where it is none of evaluations. */
static int copy_table(ds_store *from, int table, uint64_t first, ds_error *e)
{
    const ds_store_table *t = &ds_store_table_of[table];
    const int of_evaluations = table == DS_STORE_EVAL || table == DS_STORE_EXTRA || table == DS_STORE_EPISODE;
    sqlite3_stmt *q = NULL;
    char *create = NULL, *fill = NULL;
    int rc = ds_store_select(from, "SELECT sql FROM sqlite_master WHERE type='table' AND name=?1", &q, e);
    if (rc != 0) {
        return rc;
    }
    sqlite3_bind_text(q, 1, t->name, -1, SQLITE_STATIC);
    if (sqlite3_step(q) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(q, 0);
        const size_t head = strlen("CREATE TABLE ");
        create = sql != NULL && strncmp(sql, "CREATE TABLE ", head) == 0
                     ? sqlite3_mprintf("CREATE TABLE fresh.%s", sql + head)
                     : NULL;
        fill = sqlite3_mprintf(of_evaluations
                                   ? "INSERT INTO fresh.%s SELECT * FROM main.%s WHERE id<%lld ORDER BY id"
                                   : "INSERT INTO fresh.%s SELECT * FROM main.%s",
                               t->name, t->name, first > INT64_MAX ? INT64_MAX : (long long)first);
        rc = create == NULL || fill == NULL ? ds_store_fail(from, e, "reading")
                                            : ds_store_execute(from, create, "copying", e);
        rc = rc != 0 ? rc : ds_store_execute(from, fill, "copying", e);
    }
    sqlite3_finalize(q);
    sqlite3_free(create);
    sqlite3_free(fill);
    return rc;
}

/* A row of eval less is a smaller count. */
static int put_count(ds_store *from, uint64_t rows, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    int rc =
        ds_store_select(from, "INSERT OR REPLACE INTO fresh.total(name, rows, sum) VALUES(?1,?2,?3)", &q, e);
    if (rc != 0) {
        return rc;
    }
    ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_TOTAL].letter);
    ds_sum_text(&sum, ds_store_table_of[DS_STORE_EVAL].name);
    ds_sum_whole(&sum, (int64_t)rows);
    ds_sum_end(&sum);
    rc = sqlite3_step(q) != SQLITE_DONE ? ds_store_fail(from, e, "copying") : 0;
    sqlite3_finalize(q);
    return rc;
}

static int copy_before(ds_store *from, const char *draft, uint64_t first, ds_error *e)
{
    char head[120];
    char *attach = sqlite3_mprintf("ATTACH %Q AS fresh", draft);
    sqlite3_snprintf(sizeof(head), head,
                     "BEGIN; PRAGMA fresh.application_id=%d; PRAGMA fresh.user_version=%d",
                     DS_STORE_APPLICATION, from->format);
    int rc = attach == NULL ? ds_no_memory(e) : ds_store_execute(from, attach, "copying", e);
    rc = rc != 0 ? rc : ds_store_execute(from, head, "copying", e);
    for (int k = 0; k < DS_STORE_TABLES && rc == 0; k++) {
        rc = copy_table(from, k, first, e);
    }
    rc = rc == 0 && from->format > 1 ? put_count(from, first - 1, e) : rc;
    rc = rc != 0 ? rc : ds_store_execute(from, "COMMIT", "copying", e);
    sqlite3_free(attach);
    return rc;
}

/* The damaged file gets a second name, so that there is a record at every moment; its log goes with it. Where
 * the file system has no links it is moved. */
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
        unlink(draft);
        int fd =
            open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* an empty file is an empty store */
        rc = fd < 0 ? ds_fail(e, DS_EXIT_IO, "%s: cannot be made: %s", draft, strerror(errno)) : 0;
        if (fd >= 0) {
            close(fd);
        }
        char *plain = NULL; /* as SQLite takes it */
        rc = rc == 0 && asprintf(&plain, "%s%s", draft[0] == '/' ? "" : "./", draft) < 0 ? ds_no_memory(e)
                                                                                         : rc;
        rc = rc != 0 ? rc : copy_before(*s, plain, d->first, e);
        free(plain);
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
        rc = ds_fail(
            e, DS_EXIT_IO,
            "%s: cannot be repaired: %s; restore it from a copy, or start anew with the .ini file beside it",
            path, d.text);
    } else if (rc == 0 && d.text[0] != '\0') {
        rc = replace(&s, &d, path, kept, e);
    }
    ds_store_discard(s);
    return rc;
}
