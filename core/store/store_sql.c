/* SPDX-License-Identifier: Apache-2.0 */
/* store_sql.c - statements on the open file of a store, and the lines that say why one has failed. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/store_internal.h"

/* SQLite takes a lock that cannot be had for one that another has, and a file that cannot be made for one
 * that is not there: the errno of a lock, and of a file, beside the store; 0 = that is possible. */
static int fault_of_locks(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash != NULL ? (size_t)(slash - path) + 1 : 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    const int fd =
        folder != NULL ? open(folder[0] != '\0' ? folder : ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) : -1;
    const int error = fd >= 0 && fcntl(fd, F_SETLK, &lock) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    free(folder);
    return error;
}

static int fault_of_files(const char *path)
{
    struct stat st;
    struct statvfs disk;
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash != NULL ? (size_t)(slash - path) + 1 : 0);
    const int full = folder != NULL && stat(path, &st) == 0 &&
                     statvfs(folder[0] != '\0' ? folder : ".", &disk) == 0 && disk.f_files > 0 &&
                     disk.f_favail == 0;
    free(folder);
    return full ? ENOSPC : 0;
}

static int fail_locked(const ds_store *s, ds_error *e, const char *doing)
{
    const int error = fault_of_locks(s->path);
    return error == 0
               ? ds_fail(e, DS_EXIT_IO, "%s: failed %s: another program is writing to it", s->path, doing)
               : ds_fail(
                     e, DS_EXIT_IO,
                     "%s: failed %s: its file system gives no locks (%s); put the result folder on a local "
                     "disk",
                     s->path, doing, strerror(error));
}

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
        if ((code == SQLITE_IOERR_LOCK || code == SQLITE_IOERR_RDLOCK || code == SQLITE_IOERR_SHMLOCK ||
             code == SQLITE_IOERR_CHECKRESERVEDLOCK) &&
            fault_of_locks(s->path) != 0) {
            return fail_locked(s, e, doing);
        }
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s%s", s->path, doing, why,
                       system == EFBIG    ? "; the file size limit (ulimit -f) is too small"
                       : system == EDQUOT ? "; the quota of the disk is used up"
                                          : "");
    case SQLITE_CONSTRAINT: /* an evaluation is there already */
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail_locked(s, e, doing);
    case SQLITE_CANTOPEN:
        if (fault_of_files(s->path) != 0) {
            return ds_fail(
                e, DS_EXIT_IO,
                "%s: failed %s: no file can be made beside it: %s; the number of files of the disk is used "
                "up (df -i)",
                s->path, doing, strerror(ENOSPC));
        }
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
