/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the record of a run in SQLite: schema, opening and closing, meta data. */
#include "config.h"

#include "store/store_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char schema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE setting(section TEXT, key TEXT, value TEXT NOT NULL, PRIMARY "
    "KEY(section, key)) WITHOUT ROWID;"
    /* The blobs are last: a pass over the losses skips what does not fit into a page. */
    "CREATE TABLE eval(id INTEGER PRIMARY KEY, loss REAL, grad_kind INTEGER NOT NULL,"
    " outcome INTEGER NOT NULL, tag TEXT, grp INTEGER NOT NULL, cost_steps INTEGER "
    "NOT NULL, bad_step INTEGER NOT NULL,"
    " message TEXT, wall REAL NOT NULL, at REAL NOT NULL, x BLOB NOT NULL, grad BLOB);";

int ds_store_fail(const ds_store *s, ds_error *e, const char *doing)
{
    int last = errno; /* a failing COMMIT leaves its cause here alone */
    int code = sqlite3_extended_errcode(s->db);
    int system = sqlite3_system_errno(s->db);
    system = system != 0 ? system : last;
    const char *why = system != 0 ? strerror(system) : sqlite3_errmsg(s->db);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory while %s", s->path, doing);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ds_fail(e, DS_EXIT_IO,
                       "%s: damaged, or not the store of a run (%s, while %s); restore it from a copy",
                       s->path, sqlite3_errmsg(s->db), doing);
    case SQLITE_FULL:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s; make room on the disk", s->path, doing,
                       strerror(ENOSPC));
    case SQLITE_IOERR:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s", s->path, doing, why);
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

int ds_store_select(const ds_store *s, const char *sql, sqlite3_stmt **q, ds_error *e)
{
    *q = NULL;
    return sqlite3_prepare_v2(s->db, sql, -1, q, NULL) != SQLITE_OK ? ds_store_fail(s, e, "reading") : 0;
}

int ds_store_end(const ds_store *s, sqlite3_stmt *q, int step, int rc, ds_error *e)
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

static void discard(ds_store *s)
{
    if (s != NULL) {
        for (int k = 0; k < DS_STORE_STATEMENTS; k++) {
            sqlite3_finalize(s->insert[k]);
        }
        sqlite3_close(s->db);
        free(s->path);
        free(s);
    }
}

/* "file:" name of a path for files in folders that cannot be written, where SQLite makes no lock files. */
static char *immutable_name(const char *path)
{
    char *uri = malloc(3 * strlen(path) + 32);
    if (uri == NULL) {
        return NULL;
    }
    size_t k = (size_t)sprintf(uri, "file:");
    for (const char *p = path; *p; p++) {
        if (*p == '?' || *p == '#' || *p == '%') {
            k += (size_t)sprintf(uri + k, "%%%02X", (unsigned)(unsigned char)*p);
        } else {
            uri[k++] = *p;
        }
    }
    sprintf(uri + k, "?immutable=1");
    return uri;
}

static int connect_file(const char *path, const char *vfs, int flags, ds_store **out, ds_error *e)
{
    ds_store *s = calloc(1, sizeof(*s));
    if (s == NULL || (s->path = strdup(path)) == NULL) {
        free(s);
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", path);
    }
    s->writable = (flags & SQLITE_OPEN_READWRITE) != 0;
    if (sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, vfs) != SQLITE_OK) {
        int rc = ds_store_fail(s, e, "opening");
        discard(s);
        return rc;
    }
    sqlite3_busy_timeout(s->db, 5000);
    *out = s;
    return 0;
}

/* Sets the journal mode. Has it taken effect? */
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
    /* a mode can be accepted and fail at the first access */
    return ok && sqlite3_exec(s->db, "BEGIN IMMEDIATE; COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

/* Write-ahead log where the file system can do it; without shared memory (network file systems)
 * in exclusive mode. */
static int prepare_writing(ds_store *s, ds_error *e)
{
    if (!journal(s, "wal")) {
        int rc = ds_store_execute(s, "PRAGMA locking_mode=EXCLUSIVE", "locking", e);
        if (rc != 0) {
            return rc;
        }
        if (!journal(s, "wal") && !journal(s, "truncate")) {
            return ds_store_fail(s, e, "locking (put the result folder on a local disk)");
        }
    }
    /* With a write-ahead log NORMAL survives a killed process; after a power cut the last groups
     * may be missing. */
    return ds_store_execute(s, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=2000", "preparing", e);
}

int ds_store_create(const char *path, const char *vfs, uint64_t n, ds_store **out, ds_error *e)
{
    char text[64], head[160];
    ds_store *s = NULL;
    if (access(path, F_OK) == 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: exists already", path);
    }
    int rc = connect_file(path, vfs, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &s, e);
    if (rc != 0) {
        return rc;
    }
    s->n = n;
    sqlite3_snprintf(sizeof(text), text, "%llu", (unsigned long long)n);
    sqlite3_snprintf(sizeof(head), head, "BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d",
                     DS_STORE_APPLICATION, DS_STORE_FORMAT);
    /* In one transaction, so that a killed program leaves either an empty file or a complete schema. */
    rc = ds_store_execute(s, head, "creating it", e);
    rc = rc != 0 ? rc : ds_store_execute(s, schema, "creating it", e);
    rc = rc != 0 ? rc : ds_store_set(s, "n", text, e);
    rc = rc != 0 ? rc : ds_store_execute(s, "COMMIT", "creating it", e);
    rc = rc != 0 ? rc : prepare_writing(s, e);
    if (rc != 0) {
        discard(s);
        unlink(path);
        return rc;
    }
    *out = s;
    return 0;
}

/* Is this the store of a run, of a format that we know? */
static int accept_file(ds_store *s, ds_error *e)
{
    int64_t application = 0, format = 0;
    char *text = NULL;
    int rc = ds_store_query(s, "PRAGMA application_id", &application, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, "PRAGMA user_version", &format, NULL, e);
    if (rc != 0) {
        return rc;
    }
    if (application != DS_STORE_APPLICATION) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s: an SQLite file, but not the store of a run (application id %lld, expected %d)",
                       s->path, (long long)application, DS_STORE_APPLICATION);
    }
    if (format != DS_STORE_FORMAT) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s: store format %lld, this dshost knows format %d; use a newer dshost", s->path,
                       (long long)format, DS_STORE_FORMAT);
    }
    rc = ds_store_get(s, "n", &text, e);
    s->n = text != NULL ? strtoull(text, NULL, 10) : 0;
    free(text);
    return rc != 0 || (s->n > 0 && s->n <= UINT64_MAX / 64)
               ? rc
               : ds_fail(e, DS_EXIT_IO, "%s: damaged: the number of variables is missing", s->path);
}

int ds_store_open(const char *path, int mode, ds_store **out, ds_error *e)
{
    struct stat st;
    ds_store *s = NULL;
    if (stat(path, &st) != 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return ds_fail(e, DS_EXIT_IO, "%s: not a regular file", path);
    }
    /* Readers may write, too, as far as the system lets them: only then does the last one take the files of
     * the write-ahead log away with it. */
    int rc = connect_file(path, NULL, SQLITE_OPEN_READWRITE, &s, e);
    if (rc != 0) {
        return rc;
    }
    s->writable = mode == DS_STORE_WRITE;
    if (!s->writable) {
        sqlite3_exec(s->db, "PRAGMA query_only=1", NULL, NULL, NULL);
    }
    rc = accept_file(s, e);
    int code = sqlite3_errcode(s->db);
    if (rc != 0 && mode == DS_STORE_READ && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)) {
        char *uri = immutable_name(path);
        discard(s);
        s = NULL;
        rc = uri == NULL ? ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", path)
                         : connect_file(uri, NULL, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &s, e);
        free(uri);
        rc = rc != 0 ? rc : accept_file(s, e);
    }
    rc = rc == 0 && mode == DS_STORE_WRITE ? prepare_writing(s, e) : rc;
    if (rc != 0) {
        discard(s);
        return rc;
    }
    *out = s;
    return 0;
}

int ds_store_close(ds_store *s, ds_error *e)
{
    int rc = 0;
    if (s == NULL) {
        return 0;
    }
    if (s->writable) { /* fold the log into the file, so that the folder holds one file only */
        int code = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        if (code != SQLITE_OK && code != SQLITE_BUSY && code != SQLITE_LOCKED) {
            rc = ds_store_fail(s, e, "finishing");
        }
    }
    discard(s);
    return rc;
}

uint64_t ds_store_n(const ds_store *s)
{
    return s->n;
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

/* Runs an INSERT with up to three texts. */
static int put_texts(ds_store *s, const char *sql, const char *a, const char *b, const char *c, ds_error *e)
{
    const char *const text[] = {a, b, c};
    sqlite3_stmt *q = NULL;
    int bad = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK;
    for (int k = 0; k < 3 && !bad && text[k] != NULL; k++) {
        sqlite3_bind_text(q, k + 1, text[k], -1, SQLITE_STATIC);
    }
    int rc = bad || sqlite3_step(q) != SQLITE_DONE ? ds_store_fail(s, e, "writing") : 0;
    sqlite3_finalize(q);
    return rc;
}

int ds_store_set(ds_store *s, const char *key, const char *value, ds_error *e)
{
    return put_texts(s, "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)", key, value, NULL, e);
}

int ds_store_put_setting(ds_store *s, int section, const char *key, const char *value, ds_error *e)
{
    return put_texts(s, "INSERT OR REPLACE INTO setting(section, key, value) VALUES(?1, ?2, ?3)",
                     ds_section_names[section], key, value, e);
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
                 : ds_settings_add(out, section, key, value, s->path, NULL, DS_EXIT_CONFIG, 0, e);
    }
    return ds_store_end(s, q, step, rc, e);
}
