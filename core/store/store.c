/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the record of a run in SQLite: schema, meta data, groups of rows, reading in order. */
#include "config.h"

#include "store/store.h"

#include "store/episode_store.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ds_store {
    sqlite3 *db;
    sqlite3_stmt *insert, *insert_extra;
    char *path;
    uint64_t n;
    int writable;
};

struct ds_cursor {
    ds_store *store;
    sqlite3_stmt *stmt;
    uint64_t expected; /* id of the next row */
    double *x, *grad;  /* aligned copies: a blob may lie at any address */
    double *extra;     /* the same of what an extension has added */
    uint64_t room;     /* numbers that fit there */
};

static const char schema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE setting(section TEXT, key TEXT, value TEXT NOT NULL, PRIMARY "
    "KEY(section, key)) WITHOUT ROWID;"
    /* The blobs are last: a pass over the losses skips what does not fit into a page. */
    "CREATE TABLE eval(id INTEGER PRIMARY KEY, loss REAL, grad_kind INTEGER NOT NULL,"
    " outcome INTEGER NOT NULL, tag TEXT, grp INTEGER NOT NULL, cost_steps INTEGER "
    "NOT NULL, bad_step INTEGER NOT NULL,"
    " message TEXT, wall REAL NOT NULL, at REAL NOT NULL, x BLOB NOT NULL, grad BLOB);";

/* Made with the first such row: few runs have any. */
static const char extra_schema[] =
    "CREATE TABLE IF NOT EXISTS extra(id INTEGER PRIMARY KEY, kind INTEGER NOT "
    "NULL, asked BLOB, answered BLOB)";

/* Turns the last failure of SQLite into one line: what was done to which file, and why it failed. */
static int fail(const ds_store *s, ds_error *e, const char *doing)
{
    int last = errno; /* a failing COMMIT leaves its cause here alone */
    int code = sqlite3_extended_errcode(s->db);
    int system = sqlite3_system_errno(s->db);
    system = system != 0 ? system : last;
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
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s", s->path, doing,
                       system != 0 ? strerror(system) : sqlite3_errmsg(s->db));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: another program is writing to it", s->path, doing);
    case SQLITE_CANTOPEN:
        return ds_fail(e, DS_EXIT_IO, "%s: cannot be opened: %s", s->path,
                       system != 0 ? strerror(system) : sqlite3_errmsg(s->db));
    default:
        return ds_fail(e, DS_EXIT_IO, "%s: failed %s: %s", s->path, doing, sqlite3_errmsg(s->db));
    }
}

static int execute(ds_store *s, const char *sql, const char *doing, ds_error *e)
{
    errno = 0;
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        return fail(s, e, doing);
    }
    return 0;
}

/* Runs a statement without arguments that gives one integer. */
static int query_int(ds_store *s, const char *sql, int64_t *out, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = 0;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK || sqlite3_step(q) != SQLITE_ROW) {
        rc = fail(s, e, "reading");
    } else {
        *out = sqlite3_column_int64(q, 0);
    }
    sqlite3_finalize(q);
    return rc;
}

static void discard(ds_store *s)
{
    if (s != NULL) {
        sqlite3_finalize(s->insert);
        sqlite3_finalize(s->insert_extra);
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
        int rc = fail(s, e, "opening");
        discard(s);
        return rc;
    }
    sqlite3_busy_timeout(s->db, 5000);
    *out = s;
    return 0;
}

/* Sets the journal mode; *ok tells whether it took effect. */
static void journal(ds_store *s, const char *mode, int *ok)
{
    char sql[64];
    sqlite3_stmt *q = NULL;
    *ok = 0;
    sqlite3_snprintf(sizeof(sql), sql, "PRAGMA journal_mode=%s", mode);
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        const char *got = (const char *)sqlite3_column_text(q, 0);
        *ok = got != NULL && sqlite3_stricmp(got, mode) == 0;
    }
    sqlite3_finalize(q);
    if (*ok) { /* a mode can be accepted and fail at the first access */
        *ok = sqlite3_exec(s->db, "BEGIN IMMEDIATE; COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    }
}

/* Write-ahead log where the file system can do it; without shared memory (network file systems)
 * in exclusive mode. */
static int prepare_writing(ds_store *s, ds_error *e)
{
    int ok;
    journal(s, "wal", &ok);
    if (!ok) {
        int rc = execute(s, "PRAGMA locking_mode=EXCLUSIVE", "locking", e);
        if (rc != 0) {
            return rc;
        }
        journal(s, "wal", &ok);
        if (!ok) {
            journal(s, "truncate", &ok);
        }
        if (!ok) {
            return fail(s, e, "locking (put the result folder on a local disk)");
        }
    }
    /* With a write-ahead log NORMAL survives a killed process; after a power cut the last groups
     * may be missing. */
    int rc = execute(s, "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=2000", "preparing", e);
    if (rc != 0) {
        return rc;
    }
    static const char insert[] =
        "INSERT INTO eval(id, x, loss, grad, grad_kind, outcome, tag, grp, cost_steps, bad_step,"
        " message, wall, at) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)";
    if (sqlite3_prepare_v3(s->db, insert, -1, SQLITE_PREPARE_PERSISTENT, &s->insert, NULL) != SQLITE_OK) {
        return fail(s, e, "preparing");
    }
    return 0;
}

int ds_store_create(const char *path, const char *vfs, uint64_t n, ds_store **out, ds_error *e)
{
    struct stat st;
    if (stat(path, &st) == 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: exists already", path);
    }
    ds_store *s = NULL;
    int rc = connect_file(path, vfs, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &s, e);
    if (rc != 0) {
        return rc;
    }
    char text[64];
    sqlite3_snprintf(sizeof(text), text, "%llu", (unsigned long long)n);
    s->n = n;
    /* In one transaction, so that a killed program leaves either an empty file or a complete schema. */
    char head[160];
    sqlite3_snprintf(sizeof(head), head, "BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d",
                     DS_STORE_APPLICATION, DS_STORE_FORMAT);
    rc = execute(s, head, "creating it", e);
    rc = rc != 0 ? rc : execute(s, schema, "creating it", e);
    rc = rc != 0 ? rc : ds_store_set(s, "n", text, e);
    rc = rc != 0 ? rc : execute(s, "COMMIT", "creating it", e);
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
    int64_t application = 0;
    int64_t format = 0;
    int rc = query_int(s, "PRAGMA application_id", &application, e);
    rc = rc != 0 ? rc : query_int(s, "PRAGMA user_version", &format, e);
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
    char *text = NULL;
    rc = ds_store_get(s, "n", &text, e);
    if (rc != 0) {
        return rc;
    }
    s->n = text != NULL ? strtoull(text, NULL, 10) : 0;
    free(text);
    if (s->n == 0 || s->n > UINT64_MAX / 64) {
        return ds_fail(e, DS_EXIT_IO, "%s: damaged: the number of variables is missing", s->path);
    }
    return 0;
}

int ds_store_open(const char *path, int mode, ds_store **out, ds_error *e)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return ds_fail(e, DS_EXIT_IO, "%s: not a regular file", path);
    }
    ds_store *s = NULL;
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
        discard(s);
        char *uri = immutable_name(path);
        rc = uri == NULL ? ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", path)
                         : connect_file(uri, NULL, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &s, e);
        free(uri);
        if (rc != 0) {
            return rc;
        }
        rc = accept_file(s, e);
    }
    if (rc == 0 && mode == DS_STORE_WRITE) {
        rc = prepare_writing(s, e);
    }
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
            rc = fail(s, e, "finishing");
        }
    }
    discard(s);
    return rc;
}

void *ds_store_handle(ds_store *s)
{
    return s->db;
}

uint64_t ds_store_n(const ds_store *s)
{
    return s->n;
}

const char *ds_store_path(const ds_store *s)
{
    return s->path;
}

int ds_store_count(ds_store *s, uint64_t *count, ds_error *e)
{
    int64_t rows = 0;
    int64_t last = 0;
    int64_t first = 1;
    int rc = query_int(s, "SELECT count(*) FROM eval", &rows, e);
    rc = rc != 0 ? rc : query_int(s, "SELECT coalesce(max(id), 0) FROM eval", &last, e);
    rc = rc != 0 ? rc : query_int(s, "SELECT coalesce(min(id), 1) FROM eval", &first, e);
    if (rc != 0) {
        return rc;
    }
    if (rows != last || first != 1) {
        return ds_fail(e, DS_EXIT_IO, "%s: damaged: %lld evaluations, numbered %lld to %lld", s->path,
                       (long long)rows, (long long)first, (long long)last);
    }
    *count = (uint64_t)rows;
    return 0;
}

int ds_store_best(ds_store *s, double *best, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = 0;
    *best = (double)INFINITY;
    if (sqlite3_prepare_v2(s->db, "SELECT min(loss) FROM eval", -1, &q, NULL) != SQLITE_OK ||
        sqlite3_step(q) != SQLITE_ROW) {
        rc = fail(s, e, "reading");
    } else if (sqlite3_column_type(q, 0) != SQLITE_NULL) {
        *best = sqlite3_column_double(q, 0);
    }
    sqlite3_finalize(q);
    return rc;
}

int ds_store_get(ds_store *s, const char *key, char **value, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = 0;
    *value = NULL;
    if (sqlite3_prepare_v2(s->db, "SELECT value FROM meta WHERE key=?1", -1, &q, NULL) != SQLITE_OK) {
        return fail(s, e, "reading");
    }
    sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    int step = sqlite3_step(q);
    if (step == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(q, 0);
        *value = strdup(text != NULL ? text : "");
        rc = *value != NULL ? 0 : ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", s->path);
    } else if (step != SQLITE_DONE) {
        rc = fail(s, e, "reading");
    }
    sqlite3_finalize(q);
    return rc;
}

/* Runs an INSERT with up to three texts. */
static int put_texts(ds_store *s, const char *sql, const char *a, const char *b, const char *c, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = 0;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK) {
        return fail(s, e, "writing");
    }
    sqlite3_bind_text(q, 1, a, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, b, -1, SQLITE_STATIC);
    if (c != NULL) {
        sqlite3_bind_text(q, 3, c, -1, SQLITE_STATIC);
    }
    if (sqlite3_step(q) != SQLITE_DONE) {
        rc = fail(s, e, "writing");
    }
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
    int rc = 0;
    int step = SQLITE_ERROR;
    if (sqlite3_prepare_v2(s->db, "SELECT section, key, value FROM setting", -1, &q, NULL) != SQLITE_OK) {
        return fail(s, e, "reading");
    }
    while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        const char *key = (const char *)sqlite3_column_text(q, 1);
        const char *value = (const char *)sqlite3_column_text(q, 2);
        int section = 0;
        while (section < DS_SECTIONS && name != NULL && strcmp(name, ds_section_names[section]) != 0) {
            section++;
        }
        if (name == NULL || key == NULL || value == NULL || section == DS_SECTIONS) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: a setting of section '%s'", s->path,
                         name != NULL ? name : "");
            break;
        }
        rc = ds_settings_add(out, section, key, value, s->path, NULL, DS_EXIT_CONFIG, 0, e);
    }
    if (rc == 0 && step != SQLITE_DONE) {
        rc = fail(s, e, "reading");
    }
    sqlite3_finalize(q);
    return rc;
}

static void rollback(ds_store *s)
{
    if (!sqlite3_get_autocommit(s->db)) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
}

int ds_store_begin(ds_store *s, ds_error *e)
{
    return execute(s, "BEGIN IMMEDIATE", "writing", e);
}

static void bind_numbers(sqlite3_stmt *q, int column, const double *numbers, uint64_t count)
{
    if (numbers != NULL) {
        sqlite3_bind_blob64(q, column, numbers, count * sizeof(double), SQLITE_STATIC);
    } else {
        sqlite3_bind_null(q, column);
    }
}

/* What an extension adds to a row. */
static int insert_extra(ds_store *s, const ds_row *row, ds_error *e)
{
    static const char insert[] = "INSERT INTO extra(id, kind, asked, answered) VALUES(?1,?2,?3,?4)";
    const ds_extra *x = &row->extra;
    if (s->insert_extra == NULL) {
        int rc = execute(s, extra_schema, "writing", e);
        if (rc != 0) {
            return rc;
        }
        if (sqlite3_prepare_v3(s->db, insert, -1, SQLITE_PREPARE_PERSISTENT, &s->insert_extra, NULL) !=
            SQLITE_OK) {
            return fail(s, e, "writing");
        }
    }
    sqlite3_stmt *q = s->insert_extra;
    sqlite3_bind_int64(q, 1, (sqlite3_int64)row->id);
    sqlite3_bind_int64(q, 2, x->kind);
    bind_numbers(q, 3, x->asked, x->asked_count);
    bind_numbers(q, 4, x->answered, x->answered_count);
    errno = 0;
    int rc = sqlite3_step(q) != SQLITE_DONE ? fail(s, e, "writing") : 0;
    sqlite3_reset(q);
    return rc;
}

int ds_store_insert(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = s->insert;
    int bytes = (int)(row->n * sizeof(double));
    sqlite3_bind_int64(q, 1, (sqlite3_int64)row->id);
    sqlite3_bind_blob(q, 2, row->x, bytes, SQLITE_STATIC);
    if (isfinite(row->answer.loss)) {
        sqlite3_bind_double(q, 3, row->answer.loss);
    } else {
        sqlite3_bind_null(q, 3);
    }
    if (row->grad != NULL) {
        sqlite3_bind_blob(q, 4, row->grad, bytes, SQLITE_STATIC);
    } else {
        sqlite3_bind_null(q, 4);
    }
    sqlite3_bind_int64(q, 5, row->answer.grad_kind);
    sqlite3_bind_int64(q, 6, row->answer.outcome);
    if (row->tag[0] != '\0') {
        sqlite3_bind_text(q, 7, row->tag, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_null(q, 7);
    }
    sqlite3_bind_int64(q, 8, (sqlite3_int64)row->group);
    sqlite3_bind_int64(q, 9, (sqlite3_int64)row->answer.cost_steps);
    sqlite3_bind_int64(q, 10, row->answer.bad_step);
    if (row->answer.message[0] != '\0') {
        sqlite3_bind_text(q, 11, row->answer.message, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_null(q, 11);
    }
    sqlite3_bind_double(q, 12, row->answer.wall_s);
    sqlite3_bind_double(q, 13, row->at);
    int rc = 0;
    errno = 0;
    if (sqlite3_step(q) != SQLITE_DONE) {
        rc = fail(s, e, "writing");
    }
    sqlite3_reset(q);
    if (rc == 0 && row->episode != NULL) {
        rc = ds_episode_store_insert(s, row->id, row->episode, e);
    }
    if (rc == 0 && row->extra.kind != 0) {
        rc = insert_extra(s, row, e);
    }
    if (rc != 0) {
        rollback(s);
    }
    return rc;
}

int ds_store_commit(ds_store *s, ds_error *e)
{
    int rc = execute(s, "COMMIT", "writing", e);
    if (rc != 0) {
        rollback(s);
    }
    return rc;
}

int ds_cursor_open(ds_store *s, uint64_t first, ds_cursor **out, ds_error *e)
{
    ds_cursor *c = calloc(1, sizeof(*c));
    if (c != NULL) {
        c->x = malloc(s->n * sizeof(double));
        c->grad = malloc(s->n * sizeof(double));
    }
    if (c == NULL || c->x == NULL || c->grad == NULL) {
        ds_cursor_close(c);
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", s->path);
    }
    c->store = s;
    c->expected = first;
    static const char with_extra[] =
        "SELECT eval.id, x, loss, grad, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall,"
        " at, kind, asked, answered FROM eval LEFT JOIN extra ON extra.id=eval.id WHERE eval.id>=?1 ORDER BY "
        "eval.id";
    static const char without[] =
        "SELECT id, x, loss, grad, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall,"
        " at, NULL, NULL, NULL FROM eval WHERE id>=?1 ORDER BY id";
    int64_t has_extra = 0;
    int rc =
        query_int(s, "SELECT count(*) FROM sqlite_master WHERE type='table' AND name='extra'", &has_extra, e);
    if (rc != 0) {
        ds_cursor_close(c);
        return rc;
    }
    const char *sql = has_extra ? with_extra : without;
    if (sqlite3_prepare_v2(s->db, sql, -1, &c->stmt, NULL) != SQLITE_OK) {
        rc = fail(s, e, "reading");
        ds_cursor_close(c);
        return rc;
    }
    sqlite3_bind_int64(c->stmt, 1, (sqlite3_int64)first);
    *out = c;
    return 0;
}

static void copy_text(char *to, size_t size, const unsigned char *from)
{
    to[0] = '\0';
    if (from != NULL) {
        strncat(to, (const char *)from, size - 1);
    }
}

/* Reads what an extension has added to the row; -1 = failed. */
static int read_extra(ds_cursor *c, ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = c->stmt;
    ds_extra *x = &row->extra;
    if (sqlite3_column_type(q, 13) == SQLITE_NULL) {
        return 0;
    }
    size_t asked = (size_t)sqlite3_column_bytes(q, 14), answered = (size_t)sqlite3_column_bytes(q, 15);
    if (asked % sizeof(double) != 0 || answered % sizeof(double) != 0) {
        ds_fail(e, DS_EXIT_IO, "%s: damaged at evaluation %llu", c->store->path, (unsigned long long)row->id);
        return -1;
    }
    x->asked_count = asked / sizeof(double);
    x->answered_count = answered / sizeof(double);
    if (x->asked_count + x->answered_count > c->room) {
        double *grown = realloc(c->extra, asked + answered);
        if (grown == NULL) {
            ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", c->store->path);
            return -1;
        }
        c->extra = grown;
        c->room = x->asked_count + x->answered_count;
    }
    x->kind = (uint32_t)sqlite3_column_int64(q, 13);
    if (asked > 0) {
        x->asked = memcpy(c->extra, sqlite3_column_blob(q, 14), asked);
    }
    if (answered > 0) {
        x->answered = memcpy(c->extra + x->asked_count, sqlite3_column_blob(q, 15), answered);
    }
    return 0;
}

int ds_cursor_next(ds_cursor *c, ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = c->stmt;
    const ds_store *s = c->store;
    int step = sqlite3_step(q);
    if (step == SQLITE_DONE) {
        return 0;
    }
    if (step != SQLITE_ROW) {
        fail(s, e, "reading");
        return -1;
    }
    memset(row, 0, sizeof(*row));
    row->id = (uint64_t)sqlite3_column_int64(q, 0);
    row->n = s->n;
    int has_grad = sqlite3_column_type(q, 3) != SQLITE_NULL;
    size_t bytes = s->n * sizeof(double);
    if (row->id != c->expected || (size_t)sqlite3_column_bytes(q, 1) != bytes ||
        (has_grad && (size_t)sqlite3_column_bytes(q, 3) != bytes)) {
        ds_fail(e, DS_EXIT_IO, "%s: damaged at evaluation %llu", s->path, (unsigned long long)c->expected);
        return -1;
    }
    c->expected++;
    memcpy(c->x, sqlite3_column_blob(q, 1), bytes);
    row->x = c->x;
    if (has_grad) {
        memcpy(c->grad, sqlite3_column_blob(q, 3), bytes);
        row->grad = c->grad;
    }
    row->answer.loss =
        sqlite3_column_type(q, 2) == SQLITE_NULL ? (double)INFINITY : sqlite3_column_double(q, 2);
    row->answer.grad_kind = (uint32_t)sqlite3_column_int64(q, 4);
    row->answer.outcome = (uint32_t)sqlite3_column_int64(q, 5);
    copy_text(row->tag, sizeof(row->tag), sqlite3_column_text(q, 6));
    row->group = (uint64_t)sqlite3_column_int64(q, 7);
    row->answer.cost_steps = (uint64_t)sqlite3_column_int64(q, 8);
    row->answer.bad_step = sqlite3_column_int64(q, 9);
    copy_text(row->answer.message, sizeof(row->answer.message), sqlite3_column_text(q, 10));
    row->answer.wall_s = sqlite3_column_double(q, 11);
    row->at = sqlite3_column_double(q, 12);
    return read_extra(c, row, e) == 0 ? 1 : -1;
}

void ds_cursor_close(ds_cursor *c)
{
    if (c != NULL) {
        sqlite3_finalize(c->stmt);
        free(c->x);
        free(c->grad);
        free(c->extra);
        free(c);
    }
}

int ds_store_scan(ds_store *s, ds_store_visit *visit, void *ctx, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = 0;
    int step = SQLITE_DONE;
    uint64_t expected = 1;
    if (sqlite3_prepare_v2(s->db, "SELECT id, loss, cost_steps, wall FROM eval ORDER BY id", -1, &q, NULL) !=
        SQLITE_OK) {
        return fail(s, e, "reading");
    }
    while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        uint64_t id = (uint64_t)sqlite3_column_int64(q, 0);
        double loss =
            sqlite3_column_type(q, 1) == SQLITE_NULL ? (double)INFINITY : sqlite3_column_double(q, 1);
        rc = id != expected
                 ? ds_fail(e, DS_EXIT_IO, "%s: damaged at evaluation %llu", s->path,
                           (unsigned long long)expected)
                 : visit(ctx, id, loss, (uint64_t)sqlite3_column_int64(q, 2), sqlite3_column_double(q, 3));
        expected++;
    }
    if (rc == 0 && step != SQLITE_DONE) {
        rc = fail(s, e, "reading");
    }
    sqlite3_finalize(q);
    return rc;
}
