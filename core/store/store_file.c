/* SPDX-License-Identifier: Apache-2.0 */
/* store_file.c - the open file of a store: whether it is still the file at its path, the number of committed
 * rows, statements, and the meaning of SQLite's failures. */
#include "config.h"

#include "base/file.h"
#include "base/log.h"
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Keeps the file by O_PATH: closing any other descriptor of the file would release the locks of SQLite.
 * Keeps the working folder as well: a plugin in the host may be in another one when the file is checked. */
void ds_store_remember_place(ds_store *s)
{
    struct stat st;
    s->place = open(s->path, O_PATH | O_CLOEXEC);
    s->from = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->size = s->place >= 0 && fstat(s->place, &st) == 0 ? (int64_t)st.st_size : 0;
}

static int begin_of(const ds_store *s)
{
    return s->from >= 0 ? s->from : AT_FDCWD;
}

/* The write-ahead log exists from the first commit on. */
static int log_present(const ds_store *s, ds_error *e)
{
    char *log = s->has_log ? sqlite3_mprintf("%s-wal", s->path) : NULL;
    int gone = log != NULL && faccessat(begin_of(s), log, F_OK, 0) != 0 && errno == ENOENT;
    int rc =
        gone ? ds_fail(
                   e, DS_EXIT_IO,
                   "%s: was removed while the run worked on it; the run ends, and its evaluations are saved",
                   log)
             : 0;
    sqlite3_free(log);
    return rc;
}

/* Is the path missing (*gone), or another file? *mine: the open file. */
static int is_displaced(const ds_store *s, struct stat *mine, int *gone)
{
    struct stat there;
    if (s->place < 0 || fstat(s->place, mine) != 0) {
        return 0;
    }
    *gone = fstatat(begin_of(s), s->path, &there, 0) != 0;
    return *gone || mine->st_dev != there.st_dev || mine->st_ino != there.st_ino;
}

int ds_store_displaced(const ds_store *s)
{
    struct stat mine;
    int gone;
    return s != NULL && is_displaced(s, &mine, &gone);
}

int ds_store_present(ds_store *s, ds_error *e)
{
    struct stat mine;
    char link[40], now[4096];
    int gone = 0;
    if (s->place < 0 || fstat(s->place, &mine) != 0) {
        return 0;
    }
    if (!is_displaced(s, &mine, &gone)) {
        if ((int64_t)mine.st_size < s->size) {
            return ds_fail(e, DS_EXIT_IO,
                           "%s: damaged: another program has cut it to %lld bytes while the run worked on it",
                           s->path, (long long)mine.st_size);
        }
        s->size = (int64_t)mine.st_size;
        return log_present(s, e);
    }
    const char *what = gone ? "removed" : "replaced";
    if (mine.st_nlink == 0) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s: was %s while the run worked on it: its evaluations are lost; start the run again",
                       s->path, what);
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", s->place);
    ssize_t length = readlink(link, now, sizeof(now) - 1);
    now[length > 0 ? length : 0] = '\0';
    return ds_fail(e, DS_EXIT_IO,
                   "%s: was moved%s%s while the run worked on it: its evaluations are saved there; continue "
                   "there with: dshost resume",
                   s->path, length > 0 ? " to " : "", now);
}

/* ---- paths that are too long for SQLite ---- */

/* SQLite's file layer for Unix takes paths of at most 512 bytes and follows their links. A store with a
 * longer path is opened by a short name below a descriptor of its folder, "/proc/self/fd/N/run.sqlite",
 * through a copy of that layer that leaves full names alone. */

enum { SQLITE_PATH_MAX = 512 - 40 /* minus "-journal" and the names of temporary files */ };

static const char layer_name[] = "ds-long-path";

static int full_name(sqlite3_vfs *layer, const char *name, int size, char *out)
{
    (void)layer;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void register_layer(void)
{
    static sqlite3_vfs layer;
    const sqlite3_vfs *standard = sqlite3_vfs_find(NULL);
    if (standard != NULL) {
        layer = *standard;
        layer.pNext = NULL;
        layer.zName = layer_name;
        layer.xFullPathname = full_name;
        sqlite3_vfs_register(&layer, 0);
    }
}

/* Length of the path that SQLite would use. */
static size_t full_length(const char *folder, const char *name)
{
    char *real = realpath(folder, NULL);
    const size_t length = real != NULL ? strlen(real) + strlen(name) + 1 : 0;
    free(real);
    return length;
}

char *ds_store_short_path(const char *path, int *folder, const char **layer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *parent = slash == NULL ? strdup(".") : strndup(path, slash > path ? (size_t)(slash - path) : 1);
    char *brief = NULL;
    *folder = -1;
    if (parent != NULL && full_length(parent, name) > SQLITE_PATH_MAX && strlen(name) < 100) {
        *folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    free(parent);
    if (*folder < 0 || asprintf(&brief, "/proc/self/fd/%d/%s", *folder, name) < 0) {
        return NULL;
    }
    pthread_once(&once, register_layer);
    *layer = layer_name;
    return brief;
}

/* ---- the number of committed rows ---- */

/* The number of evaluations at the last write of the log is kept in a file next to the store, so that a
 * reader reports what a damaged or removed log has lost. */

/* The number, then its complement: a changed byte is detected. */
enum { NOTE_BYTES = 34 };

static char *name_of(const char *path)
{
    return sqlite3_mprintf("%s-rows", path);
}

/* Without room or a descriptor for the note the run continues. */
void ds_store_note(ds_store *s)
{
    const uint64_t rows = s->committed[DS_STORE_EVAL];
    char text[NOTE_BYTES + 1];
    if (!s->has_log || s->format < 2) {
        return;
    }
    if (s->note < 0) {
        char *name = name_of(s->path);
        s->note = name != NULL ? ds_file_inside(name, O_WRONLY | O_CREAT, 0666) : -1;
        sqlite3_free(name);
    }
    snprintf(text, sizeof(text), "%016" PRIx64 " %016" PRIx64 "\n", rows, ~rows);
    if (s->note >= 0 && pwrite(s->note, text, NOTE_BYTES, 0) < 0) {
        close(s->note);
        s->note = -1;
    }
}

void ds_store_note_end(ds_store *s)
{
    char *name = name_of(s->path);
    if (name != NULL && ds_store_present(s, NULL) == 0) {
        unlink(name);
    }
    sqlite3_free(name);
}

uint64_t ds_store_noted(const char *path, int *damaged)
{
    char text[NOTE_BYTES + 1] = "";
    uint64_t rows = 0, turned = 0;
    char *name = name_of(path);
    int fd = name != NULL ? ds_file_inside(name, O_RDONLY, 0) : -1;
    ssize_t got = fd >= 0 ? read(fd, text, NOTE_BYTES) : 0;
    int whole = got == NOTE_BYTES && text[NOTE_BYTES - 1] == '\n' &&
                sscanf(text, "%16" SCNx64 " %16" SCNx64, &rows, &turned) == 2 && rows == ~turned;
    *damaged = got != 0 && !whole;
    if (fd >= 0) {
        close(fd);
    }
    sqlite3_free(name);
    return whole ? rows : 0;
}

/* Some commands open a store several times: is this the first? */
static int is_first(const char *path)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct told {
        struct told *next;
        char path[];
    } * all;
    pthread_mutex_lock(&lock);
    struct told *t = all;
    while (t != NULL && strcmp(t->path, path) != 0) {
        t = t->next;
    }
    int first = t == NULL;
    if (first && (t = malloc(sizeof(*t) + strlen(path) + 1)) != NULL) {
        strcpy(t->path, path);
        t->next = all;
        all = t;
    }
    pthread_mutex_unlock(&lock);
    return first;
}

void ds_store_note_compare(const ds_store *s, uint64_t noted, int damaged)
{
    const uint64_t rows = s->committed[DS_STORE_EVAL];
    if ((!damaged && noted <= rows) || s->format < 2 || !is_first(s->path)) {
        return;
    }
    if (damaged) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s-rows: damaged: cannot tell whether evaluations after the %" PRIu64
               " that are there were lost",
               s->path, rows);
    } else {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: evaluations %" PRIu64 "..%" PRIu64
               " were recorded and are lost: its log (%s-wal) was damaged or removed, or the machine lost "
               "its power; `dshost resume` computes them again",
               s->path, rows + 1, noted, s->path);
    }
}

/* ---- statements and failures ---- */

/* SQLite reports a lock that is not available as one that another program holds, and a file that cannot be
 * created as missing. These two return the errno of a lock, and of a new file, next to the store; 0 =
 * possible. */
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
               : ds_fail(e, DS_EXIT_IO,
                         "%s: failed %s: its file system has no locks (%s); put the result folder on a local "
                         "disk",
                         s->path, doing, strerror(error));
}

int ds_store_fail(ds_store *s, ds_error *e, const char *doing)
{
    int last = errno; /* a failing COMMIT leaves its cause only here */
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
            return DS_EXIT_IO; /* with the cause in the message */
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
            return ds_fail(e, DS_EXIT_IO,
                           "%s: failed %s: no file can be created next to it: %s; the number of files of the "
                           "disk is used up (df -i)",
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
        const int fds[] = {s->place, s->from, s->note, s->folder};
        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
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
