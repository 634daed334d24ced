/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the record of a run in SQLite: schema, opening and closing, meta data, settings, variables. */
#include "config.h"

#include "base/file.h"
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Files next to a store, made by SQLite and by us. */
static const char *const beside[] = {"-wal", "-shm", "-journal", "-rows", NULL};

/* Resolves the links of a path. The last name is resolved only where `last`: it may not be a link, while
 * links above it are the user's. NULL without memory. */
static char *resolve(const char *path, int last)
{
    char *whole = last ? realpath(path, NULL) : NULL;
    const char *slash = strrchr(path, '/');
    char *folder = whole != NULL ? NULL : strndup(path, slash != NULL ? (size_t)(slash - path) + 1 : 0);
    char *real = folder != NULL ? realpath(folder[0] != '\0' ? folder : ".", NULL) : NULL;
    if (whole == NULL && real != NULL &&
        asprintf(&whole, "%s%s%s", real, strcmp(real, "/") == 0 ? "" : "/",
                 slash != NULL ? slash + 1 : path) < 0) {
        whole = NULL;
    }
    free(folder);
    free(real);
    return whole != NULL ? whole : strdup(path);
}

/* The name that makes SQLite open exactly this path: it gives "file:x", ":memory:" and "" another meaning.
 * `immutable` tells SQLite that nobody writes, for file systems without lock files. */
static char *sqlite_name(const char *path, int immutable)
{
    char *name = malloc(3 * strlen(path) + 40);
    if (name == NULL) {
        return NULL;
    }
    if (!immutable) {
        sprintf(name, "%s%s", path[0] == '/' ? "" : "./", path);
        return name;
    }
    while (path[0] == '/' && path[1] == '/') {
        path++; /* text after "file://" would be a host name */
    }
    size_t k = (size_t)sprintf(name, "file:%s", path[0] == '/' ? "" : "./");
    for (const char *p = path; *p; p++) {
        if (*p == '?' || *p == '#' || *p == '%') {
            k += (size_t)sprintf(name + k, "%%%02X", (unsigned)(unsigned char)*p);
        } else {
            name[k++] = *p;
        }
    }
    sprintf(name + k, "?immutable=1");
    return name;
}

/* Denies statements that reach another file or create something that runs later. */
static int authorize(void *ctx, int action, const char *a, const char *b, const char *database,
                     const char *trigger)
{
    (void)ctx, (void)a, (void)b, (void)database;
    switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_VTABLE:
        return SQLITE_DENY;
    default:
        return trigger != NULL ? SQLITE_DENY : SQLITE_OK; /* issued by a trigger or a view */
    }
}

/* Anybody may have written the file: nothing in its schema may run. */
static void restrict_schema(sqlite3 *db)
{
    sqlite3_set_authorizer(db, authorize, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_exec(db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
}

static int connect_file(const char *path, const char *vfs, int flags, ds_store **out, ds_error *e)
{
    ds_store *s = calloc(1, sizeof(*s));
    int folder = -1;
    const int immutable = (flags & SQLITE_OPEN_URI) != 0;
    char *brief = vfs == NULL ? ds_store_short_path(path, &folder, &vfs) : NULL;
    brief = brief != NULL ? brief : resolve(path, immutable);
    char *name = brief != NULL ? sqlite_name(brief, immutable) : NULL;
    free(brief);
    if (s == NULL || name == NULL || (s->path = strdup(path)) == NULL) {
        free(s);
        free(name);
        if (folder >= 0) {
            close(folder);
        }
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", path);
    }
    s->folder = folder;
    s->writable = (flags & SQLITE_OPEN_READWRITE) != 0;
    s->format = DS_STORE_FORMAT_PLAIN;
    s->place = -1;
    s->from = -1;
    s->note = -1;
    int code = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, vfs);
    free(name);
    if (code != SQLITE_OK) {
        int rc = ds_store_fail(s, e, "opening");
        ds_store_discard(s);
        return rc;
    }
    restrict_schema(s->db);
    sqlite3_busy_timeout(s->db, 5000);
    *out = s;
    return 0;
}

/* Sets the journal mode. Returns whether it took effect. */
static int journal(ds_store *s, const char *mode)
{
    char sql[64];
    sqlite3_stmt *q = NULL;
    int ok = 0;
    sqlite3_snprintf(sizeof(sql), sql, "PRAGMA journal_mode=%s", mode);
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        const char *got = (const char *)sqlite3_column_text(q, 0);
        ok = got != NULL && sqlite3_stricmp(got, mode) == 0;
    }
    sqlite3_finalize(q);
    /* SQLite can accept a mode and fail at the first access */
    return ok && sqlite3_exec(s->db, "BEGIN IMMEDIATE; COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static int note_log(void *store, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((ds_store *)store)->log_pages = pages;
    return SQLITE_OK;
}

/* Did the connection fail because the index of the log cannot be shared (network file systems)? A connection
 * that is alone needs no index, but must say so before it reads. */
static int needs_no_index(const ds_store *s, int mode)
{
    const int code = sqlite3_extended_errcode(s->db);
    return !s->alone &&
           (code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_SHMMAP ||
            code == SQLITE_IOERR_SHMLOCK || (mode == DS_STORE_WRITE && (code & 0xff) == SQLITE_CANTOPEN));
}

static int be_alone(ds_store *s, ds_error *e)
{
    s->alone = 1;
    return ds_store_execute(s, "PRAGMA locking_mode=EXCLUSIVE", "locking", e);
}

/* Uses a write-ahead log where the file system supports it. *again = 1: a connection that is alone may
 * succeed. */
static int prepare_writing(ds_store *s, int *again, ds_error *e)
{
    *again = 0;
    s->has_log = journal(s, "wal");
    if (!s->has_log) {
        const int system = sqlite3_system_errno(s->db), code = sqlite3_errcode(s->db) & 0xff;
        if (system == EFBIG || system == ENOSPC || system == EDQUOT || code == SQLITE_BUSY) {
            return ds_store_fail(s, e, "preparing it"); /* another mode would not help */
        }
        *again = !s->alone;
        if (*again || !journal(s, "truncate")) {
            return ds_store_fail(s, e, "locking (put the result folder on a local disk)");
        }
    }
    /* With a write-ahead log NORMAL survives a killed process; a power cut may lose the last groups. */
    int rc = ds_store_execute(s, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0", "preparing", e);
    /* Rows are written in order: of a larger cache, nearly all pages would be used once. It reads the
     * schema, so it comes after a connection has said whether it is alone. */
    rc = rc != 0 ? rc : ds_store_execute(s, "PRAGMA cache_size=-512", "preparing", e);
    if (rc == 0) {
        sqlite3_wal_hook(s->db, note_log, s);
    }
    return rc;
}

int ds_store_check_files(const char *path, ds_error *e)
{
    int rc = ds_file_check_inside(path, e);
    for (size_t k = 0; beside[k] != NULL && rc == 0; k++) {
        char *name = NULL;
        rc = asprintf(&name, "%s%s", path, beside[k]) < 0 ? ds_no_memory(e) : ds_file_check_inside(name, e);
        free(name);
    }
    return rc;
}

/* Removes files next to a missing store: SQLite would take them for files of the new one. */
int ds_store_clear_beside(const char *path, ds_error *e)
{
    int rc = 0;
    for (size_t k = 0; beside[k] != NULL && rc == 0; k++) {
        char *name = NULL;
        if (asprintf(&name, "%s%s", path, beside[k]) < 0) {
            return ds_no_memory(e);
        }
        if (unlink(name) != 0 && errno != ENOENT) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed: %s", name, strerror(errno));
        }
        free(name);
    }
    return rc;
}

int ds_store_clear_place(const char *path, ds_error *e)
{
    return unlink(path) != 0 && errno != ENOENT
               ? ds_fail(e, DS_EXIT_IO, "%s: cannot be removed: %s", path, strerror(errno))
               : ds_store_clear_beside(path, e);
}

int ds_store_connect_new(const char *path, ds_store **out, ds_error *e)
{
    return connect_file(path, NULL, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out, e);
}

static int make_schema(ds_store *s, ds_error *e)
{
    static const int always[] = {DS_STORE_META, DS_STORE_SETTING, DS_STORE_EVAL, DS_STORE_TOTAL};
    char text[64];
    sqlite3_snprintf(sizeof(text), text, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                     DS_STORE_APPLICATION, DS_STORE_FORMAT_PLAIN);
    int rc = ds_store_execute(s, text, "creating it", e);
    for (size_t k = 0; k < sizeof(always) / sizeof(always[0]) && rc == 0; k++) {
        rc = ds_store_execute(s, ds_store_table_of[always[k]].create, "creating it", e);
        if (always[k] < DS_STORE_TOTALS) {
            s->has[always[k]] = 1;
        }
    }
    sqlite3_snprintf(sizeof(text), text, "%llu", (unsigned long long)s->n);
    return rc != 0 ? rc : ds_store_set(s, "n", text, e);
}

/* An empty file is an empty store. SQLite would not report why the file cannot be made. */
static int make_file(const char *path, ds_error *e)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot be created: %s%s", path, strerror(errno),
                       errno == ENOSPC ? "; make room on the disk (df, and df -i for the number of files)"
                                       : "");
    }
    close(fd);
    return 0;
}

int ds_store_create(const char *path, const char *vfs, uint64_t n, ds_store **out, ds_error *e)
{
    ds_store *s = NULL;
    struct stat st;
    if (lstat(path, &st) == 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: already exists", path);
    }
    if (ds_store_check_files(path, e) != 0) {
        return e->status;
    }
    int rc = vfs == NULL ? make_file(path, e) : 0;
    rc = rc != 0 ? rc : connect_file(path, vfs, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &s, e);
    if (rc != 0) {
        return rc;
    }
    s->n = n;
    /* One transaction: a killed program leaves either an empty file or a complete schema. */
    rc = ds_store_execute(s, "PRAGMA page_size=8192", "creating it", e);
    rc = rc != 0 ? rc : ds_store_begin(s, e);
    rc = rc != 0 ? rc : make_schema(s, e);
    rc = rc != 0 ? rc : ds_store_commit(s, e);
    int again = 0;
    rc = rc != 0 ? rc : prepare_writing(s, &again, e);
    if (rc != 0 && again && vfs != NULL) { /* a file that is opened again would lose the vfs */
        rc = be_alone(s, e);
        rc = rc != 0 ? rc : prepare_writing(s, &again, e);
        again = 0;
    }
    if (rc != 0) {
        ds_store_discard(s);
        rc = again && vfs == NULL ? ds_store_open(path, DS_STORE_WRITE, out, e) : rc;
        if (rc != 0) {
            unlink(path);
        }
        return rc;
    }
    ds_store_remember_place(s);
    *out = s;
    return 0;
}

/* Is this the store of a run in a supported format? */
static int accept_file(ds_store *s, ds_error *e)
{
    int64_t application = 0, format = 0, newer = 0;
    struct stat st;
    int rc = ds_store_query(s, "PRAGMA application_id", &application, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, "PRAGMA user_version", &format, NULL, e);
    if (rc != 0) {
        return rc;
    }
    if (stat(s->path, &st) == 0 && st.st_size == 0 && application == 0) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s: the file is empty: the run ended before its first record; remove the file, and "
                       "resume starts anew from the .ini file next to it",
                       s->path);
    }
    if (application != DS_STORE_APPLICATION) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s: an SQLite file, but not the store of a run (application id %lld, expected %d)",
                       s->path, (long long)application, DS_STORE_APPLICATION);
    }
    if (format < 1 || format > DS_STORE_FORMAT) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s: store format %lld, this dshost supports format %d; use a newer dshost", s->path,
                       (long long)format, DS_STORE_FORMAT);
    }
    s->format = (int)format;
    rc = ds_store_check_objects(s, e);
    if (rc != 0) {
        return rc;
    }
    rc =
        ds_store_query(s, "SELECT count(*) FROM pragma_table_info('eval') WHERE name='sum'", &newer, NULL, e);
    return rc != 0 || (newer > 0) == (format > 1)
               ? rc
               : ds_fail(e, DS_EXIT_IO, "%s: damaged: the number of its format; restore it from a copy",
                         s->path);
}

static int read_n(ds_store *s, ds_error *e)
{
    char *text = NULL;
    int rc = ds_store_get(s, "n", &text, e);
    s->n = text != NULL ? strtoull(text, NULL, 10) : 0;
    free(text);
    return rc != 0 || (s->n > 0 && s->n <= UINT64_MAX / 64)
               ? rc
               : ds_fail(e, DS_EXIT_IO, "%s: damaged: the number of variables is missing", s->path);
}

/* The disk has no room for the index of the log, and there is no log: a file that nobody writes is read
 * without it. */
static int needs_room_only(const ds_store *s)
{
    const int code = sqlite3_errcode(s->db) & 0xff, system = sqlite3_system_errno(s->db);
    char *log = sqlite3_mprintf("%s-wal", s->path);
    struct stat st;
    int only = (code == SQLITE_FULL ||
                (code == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT || system == EFBIG))) &&
               log != NULL && (stat(log, &st) != 0 || st.st_size == 0);
    sqlite3_free(log);
    return only;
}

/* Sets *linked for a record that is a link or has a second name: it is only read, and nothing is made next to
 * it. Refuses such a record with a pending log. */
static int is_linked(const char *path, int mode, int *linked, ds_error *e)
{
    struct stat st, log;
    *linked = lstat(path, &st) == 0 && (S_ISLNK(st.st_mode) || st.st_nlink > 1);
    if (!*linked || mode == DS_STORE_WRITE) {
        *linked = 0;
        return ds_store_check_files(path, e);
    }
    char *real = realpath(path, NULL), *name = NULL;
    int rc = 0;
    for (size_t k = 0; real != NULL && beside[k] != NULL && rc == 0; k++) {
        if (asprintf(&name, "%s%s", real, beside[k]) < 0) {
            name = NULL;
        }
        if (name != NULL && lstat(name, &log) == 0 && (!S_ISREG(log.st_mode) || log.st_size > 0)) {
            rc = ds_file_check_inside(path, e);
        }
        free(name);
    }
    free(real);
    return rc;
}

/* Opens the file and checks its kind, `alone` or shared. */
static int open_as(const char *path, int mode, int flags, int alone, ds_store **out, ds_error *e)
{
    int rc = connect_file(path, NULL, flags, out, e);
    if (rc != 0) {
        return rc;
    }
    (*out)->writable = mode == DS_STORE_WRITE;
    if (!(*out)->writable) {
        sqlite3_exec((*out)->db, "PRAGMA query_only=1", NULL, NULL, NULL);
    }
    rc = alone ? be_alone(*out, e) : 0;
    return rc != 0 ? rc : accept_file(*out, e);
}

static int open_raw(const char *path, int mode, int alone, ds_store **out, ds_error *e)
{
    struct stat st;
    ds_store *s = NULL;
    int linked = 0;
    if (stat(path, &st) != 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return ds_fail(e, DS_EXIT_IO, "%s: not a regular file", path);
    }
    int rc = is_linked(path, mode, &linked, e);
    if (rc != 0) {
        return rc;
    }
    /* Readers open for writing where the system allows it: only then does the last reader remove the files of
     * the write-ahead log. */
    int only_read = linked;
    if (!linked) {
        rc = open_as(path, mode, SQLITE_OPEN_READWRITE, alone, &s, e);
        if (rc != 0 && s != NULL && needs_no_index(s, mode)) {
            ds_store_discard(s);
            s = NULL;
            rc = open_as(path, mode, SQLITE_OPEN_READWRITE, 1, &s, e);
        }
        const int code = rc != 0 && s != NULL ? sqlite3_errcode(s->db) & 0xff : SQLITE_OK;
        only_read = rc != 0 && s != NULL && mode == DS_STORE_READ &&
                    (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || needs_room_only(s));
    }
    if (only_read) {
        ds_store_discard(s);
        s = NULL;
        rc = open_as(path, mode, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, 0, &s, e);
    }
    if (rc != 0) {
        ds_store_discard(s);
        return rc;
    }
    *out = s;
    return 0;
}

int ds_store_open_raw(const char *path, int mode, ds_store **out, ds_error *e)
{
    return open_raw(path, mode, 0, out, e);
}

static int open_whole(const char *path, int mode, int alone, ds_store **out, int *again, ds_error *e)
{
    int rc = open_raw(path, mode, alone, out, e);
    rc = rc != 0 ? rc : ds_store_check_head(*out, e);
    rc = rc != 0 ? rc : read_n(*out, e);
    rc = rc == 0 && mode == DS_STORE_WRITE ? prepare_writing(*out, again, e) : rc;
    if (rc != 0) {
        ds_store_discard(*out);
        *out = NULL;
    }
    return rc;
}

int ds_store_open(const char *path, int mode, ds_store **out, ds_error *e)
{
    ds_store *s = NULL;
    int damaged = 0, again = 0;
    const uint64_t noted = ds_store_noted(path, &damaged);
    int rc = open_whole(path, mode, 0, &s, &again, e);
    rc = rc != 0 && again ? open_whole(path, mode, 1, &s, &again, e) : rc;
    if (rc != 0) {
        return rc;
    }
    ds_store_note_compare(s, noted, damaged);
    if (mode == DS_STORE_WRITE) {
        ds_store_remember_place(s);
    }
    *out = s;
    return 0;
}

static void remove_index(const ds_store *s)
{
    char *name = sqlite3_mprintf("%s-shm", s->path);
    if (name != NULL && !ds_store_displaced(s)) {
        unlink(name);
    }
    sqlite3_free(name);
}

int ds_store_close(ds_store *s, ds_error *e)
{
    int rc = 0;
    if (s == NULL) {
        return 0;
    }
    if (s->writable) { /* fold the log into the file, so that the folder holds one file */
        int code = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        if (code != SQLITE_OK && code != SQLITE_BUSY && code != SQLITE_LOCKED) {
            rc = ds_store_fail(s, e, "finishing");
        }
        if (code == SQLITE_OK) {
            ds_store_note_end(s);
        }
    }
    if (s->alone) {
        remove_index(s); /* left by an attempt to share it */
    }
    ds_store_discard(s);
    return rc;
}

uint64_t ds_store_n(const ds_store *s)
{
    return s->n;
}

int ds_store_format(const ds_store *s)
{
    return s->format;
}

const char *ds_store_path(const ds_store *s)
{
    return s->path;
}

int ds_store_get(ds_store *s, const char *key, char **value, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    *value = NULL;
    int rc = ds_store_select(s, "SELECT value FROM meta WHERE key=?1", &q, e);
    if (rc != 0) {
        return rc;
    }
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    int step = sqlite3_step(q);
    if (step == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        *value = strdup(text != NULL ? text : "");
        rc = *value != NULL ? 0 : ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", s->path);
    }
    return ds_store_end(s, q, step, rc, e);
}

/* Writes a row of texts into meta or setting, in a group of its own where none is open. */
static int put_texts(ds_store *s, int table, const char *a, const char *b, const char *c, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    char count[60];
    int64_t rows = 0;
    const int alone = sqlite3_get_autocommit(s->db);
    int rc = alone ? ds_store_begin(s, e) : 0;
    rc = rc != 0 ? rc : ds_store_inserting(s, table, &q, e);
    if (rc == 0) {
        ds_sum_begin(&sum, q, ds_store_table_of[table].letter);
        ds_sum_text(&sum, a);
        ds_sum_text(&sum, b);
        if (c != NULL) {
            ds_sum_text(&sum, c);
        }
        ds_sum_end(&sum);
        rc = ds_store_inserted(s, table, q, e);
    }
    /* the row may have replaced another */
    sqlite3_snprintf(sizeof(count), count, "SELECT count(*) FROM %s", ds_store_table_of[table].name);
    rc = rc != 0 ? rc : ds_store_query(s, count, &rows, NULL, e);
    s->rows[table] = (uint64_t)rows;
    if (alone) {
        rc = rc == 0 ? ds_store_commit(s, e) : ds_store_rollback(s, rc);
    }
    return rc;
}

int ds_store_set(ds_store *s, const char *key, const char *value, ds_error *e)
{
    return put_texts(s, DS_STORE_META, key, value, NULL, e);
}

int ds_store_put_setting(ds_store *s, int section, const char *key, const char *value, ds_error *e)
{
    return put_texts(s, DS_STORE_SETTING, ds_section_names[section], key, value, e);
}

int ds_store_get_settings(ds_store *s, ds_settings *out, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = ds_store_select(s, "SELECT section, key, value FROM setting", &q, e), step = SQLITE_DONE;
    while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        const char *key = (const char *)sqlite3_column_text(q, 1);
        const char *value = (const char *)sqlite3_column_text(q, 2);
        int section = 0;
        while (section < DS_SECTIONS && name != NULL && strcmp(name, ds_section_names[section]) != 0) {
            section++;
        }
        rc = name == NULL || key == NULL || value == NULL || section == DS_SECTIONS
                 ? ds_fail(e, DS_EXIT_IO, "%s: damaged: a setting of section '%s'", s->path,
                           name != NULL ? name : "")
                 : ds_settings_add(out, section, key, value, s->path, NULL, DS_EXIT_CONFIG, DS_LAYER_RECORD,
                                   e);
    }
    return ds_store_end(s, q, step, rc, e);
}

/* ---- variables ---- */

/* The table exists only where the variables have names. */

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
