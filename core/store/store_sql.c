/* SPDX-License-Identifier: Apache-2.0 */
/* store_sql.c - statements on the open file of a store, and the lines that say why one has failed. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_internal.h"

int ds_store_fail(ds_store *s, ds_error *e, const char *doing)
{
    int last = errno; /* a failing COMMIT leaves its cause here alone */
    int code = sqlite3_extended_errcode(s->db);
    int system = sqlite3_system_errno(s->db);
    system = system != 0 ? system : last;
    s->full = (code & 0xff) == SQLITE_FULL ||
              ((code & 0xff) == SQLITE_IOERR && (system == EFBIG || system == EDQUOT || system == ENOSPC));
    const char *why = system != 0 ? strerror(system) : sqlite3_errmsg(s->db);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory while %s", s->path, doing);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        if (ds_store_present(s, e) != 0) {
            return DS_EXIT_IO; /* which says who has done it */
        }
        return ds_fail(e, DS_EXIT_IO,
                       "%s: damaged, or not the store of a run (%s, while %s); restore it from a copy",
                       s->path, sqlite3_errmsg(s->db), doing);
    case SQLITE_ERROR: /* no such column */
    case SQLITE_MISMATCH:
        return ds_fail(e, DS_EXIT_IO, "%s: damaged (%s, while %s); restore it from a copy", s->path,
                       sqlite3_errmsg(s->db), doing);
    case SQLITE_FULL:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s; make room on the disk", s->path, doing,
                       strerror(ENOSPC));
    case SQLITE_IOERR:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s%s", s->path, doing, why,
                       system == EFBIG    ? "; the file size limit (ulimit -f) is too small"
                       : system == EDQUOT ? "; the quota of the disk is used up"
                                          : "");
    case SQLITE_CONSTRAINT: /* an evaluation is there already */
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: another program is writing to it", s->path, doing);
    case SQLITE_CANTOPEN:
        return ds_fail(e, DS_EXIT_IO, "%s: cannot be opened: %s", s->path, why);
    default:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s", s->path, doing, sqlite3_errmsg(s->db));
    }
}

int ds_store_execute(ds_store *s, const char *sql, const char *doing, ds_error *e)
{
    errno = 0;
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK ? ds_store_fail(s, e, doing) : 0;
}

int ds_store_select(ds_store *s, const char *sql, sqlite3_stmt **q, ds_error *e)
{
    *q = NULL;
    return sqlite3_prepare_v2(s->db, sql, -1, q, NULL) != SQLITE_OK ? ds_store_fail(s, e, "reading") : 0;
}

int ds_store_end(ds_store *s, sqlite3_stmt *q, int step, int rc, ds_error *e)
{
    if (rc == 0 && step != SQLITE_ROW && step != SQLITE_DONE) {
        rc = ds_store_fail(s, e, "reading");
    }
    sqlite3_finalize(q);
    return rc;
}

int ds_store_query(ds_store *s, const char *sql, int64_t *whole, double *real, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = ds_store_select(s, sql, &q, e), step = rc == 0 ? sqlite3_step(q) : SQLITE_ERROR;
    if (step == SQLITE_ROW && whole != NULL) {
        *whole = sqlite3_column_int64(q, 0);
    } else if (step == SQLITE_ROW) {
        *real = sqlite3_column_double(q, 0);
    }
    return ds_store_end(s, q, step, rc, e);
}

void ds_store_view(ds_store *s, int *own)
{
    *own = sqlite3_get_autocommit(s->db) && sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
}

void ds_store_view_end(ds_store *s, int own)
{
    if (own) {
        sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    }
}

void ds_store_discard(ds_store *s)
{
    if (s != NULL) {
        for (int k = 0; k < DS_STORE_TABLES; k++) {
            sqlite3_finalize(s->insert[k]);
        }
        sqlite3_close(s->db);
        const int fds[] = {s->place, s->note, s->folder};
        for (int i = 0; i < 3; i++) {
            if (fds[i] >= 0) {
                close(fds[i]);
            }
        }
        free(s->path);
        free(s);
    }
}

int ds_store_is_full(const ds_store *s)
{
    return s->full;
}
