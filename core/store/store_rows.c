/* SPDX-License-Identifier: Apache-2.0 */
/* store_rows.c - the evaluations in a store: groups of new ones, and reading in order. */
#include "config.h"

#include <diffsim/ext/rl.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_internal.h"

static const char has_end_column[] = "SELECT count(*) FROM pragma_table_info('episode') WHERE name='ended'";

struct ds_cursor {
    ds_store *store;
    sqlite3_stmt *stmt;
    uint64_t expected; /* id of the next row */
    double *x, *grad;  /* aligned copies, in one block: a blob may lie at any address */
    double *extra;     /* the same of what an extension has added */
    uint64_t room;     /* numbers that fit there */
};

int ds_store_count(ds_store *s, uint64_t *count, ds_error *e)
{
    int64_t rows = 0, last = 0, first = 1;
    int rc = ds_store_query(s, "SELECT count(*) FROM eval", &rows, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, "SELECT coalesce(max(id), 0) FROM eval", &last, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, "SELECT coalesce(min(id), 1) FROM eval", &first, NULL, e);
    if (rc == 0 && (rows != last || first != 1)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: %lld evaluations, numbered %lld to %lld", s->path,
                     (long long)rows, (long long)first, (long long)last);
    }
    *count = rc == 0 ? (uint64_t)rows : *count;
    return rc;
}

int ds_store_best(ds_store *s, double *best, ds_error *e)
{
    *best = (double)INFINITY;
    return ds_store_query(s, "SELECT coalesce(min(loss), 9e999) FROM eval", NULL, best, e);
}

/* Of a group nothing is kept where a step has failed: rc. */
static int ended(ds_store *s, int rc)
{
    if (rc != 0 && !sqlite3_get_autocommit(s->db)) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return rc;
}

int ds_store_begin(ds_store *s, ds_error *e)
{
    return ds_store_execute(s, "BEGIN IMMEDIATE", "writing", e);
}

static void bind_numbers(sqlite3_stmt *q, int column, const double *numbers, uint64_t count)
{
    if (numbers != NULL) {
        sqlite3_bind_blob64(q, column, numbers, count * sizeof(double), SQLITE_STATIC);
    } else {
        sqlite3_bind_null(q, column);
    }
}

/* Few runs have rows of extensions: their tables are made with the first such row. The table of a dshost
 * before 0.2 gets the column that it lacks, which that dshost ignores. */
static int make_table(ds_store *s, int table, ds_error *e)
{
    int64_t has_end = 1;
    int rc = 0;
    if (table == DS_STORE_EXTRA) {
        rc = ds_store_execute(s,
                              "CREATE TABLE IF NOT EXISTS extra(id INTEGER PRIMARY KEY, kind INTEGER NOT "
                              "NULL, asked BLOB, answered BLOB)",
                              "writing", e);
    } else if (table == DS_STORE_EPISODE) {
        rc = ds_store_execute(s,
                              "CREATE TABLE IF NOT EXISTS episode(id INTEGER PRIMARY KEY, key INTEGER NOT "
                              "NULL, steps INTEGER NOT NULL, ended INTEGER, obs BLOB NOT NULL, reward BLOB "
                              "NOT NULL)",
                              "writing", e);
        rc = rc != 0 ? rc : ds_store_query(s, has_end_column, &has_end, NULL, e);
    }
    return rc != 0 || has_end
               ? rc
               : ds_store_execute(s, "ALTER TABLE episode ADD COLUMN ended INTEGER", "writing", e);
}

/* The statement that inserts into one of the tables. */
static int inserting(ds_store *s, int table, sqlite3_stmt **out, ds_error *e)
{
    static const char *const insert[DS_STORE_STATEMENTS] = {
        "INSERT INTO eval(id, x, loss, grad, grad_kind, outcome, tag, grp, cost_steps, bad_step,"
        " message, wall, at) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
        "INSERT INTO extra(id, kind, asked, answered) VALUES(?1,?2,?3,?4)",
        "INSERT INTO episode(id, key, steps, ended, obs, reward) VALUES(?1,?2,?3,?4,?5,?6)"};
    sqlite3_stmt **q = &s->insert[table];
    int rc = 0;
    if (*q == NULL) {
        rc = make_table(s, table, e);
        if (rc == 0 &&
            sqlite3_prepare_v3(s->db, insert[table], -1, SQLITE_PREPARE_PERSISTENT, q, NULL) != SQLITE_OK) {
            rc = ds_store_fail(s, e, "writing");
        }
    }
    *out = *q;
    return rc;
}

static int finish_insert(ds_store *s, sqlite3_stmt *q, ds_error *e)
{
    errno = 0;
    int rc = sqlite3_step(q) != SQLITE_DONE ? ds_store_fail(s, e, "writing") : 0;
    sqlite3_reset(q);
    return rc;
}

static void bind_text(sqlite3_stmt *q, int column, const char *text)
{
    if (text[0] != '\0') {
        sqlite3_bind_text(q, column, text, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_null(q, column);
    }
}

static int insert_extra(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = inserting(s, DS_STORE_EXTRA, &q, e);
    const ds_extra *x = &row->extra;
    if (rc != 0) {
        return rc;
    }
    sqlite3_bind_int64(q, 1, (sqlite3_int64)row->id);
    sqlite3_bind_int64(q, 2, x->kind);
    bind_numbers(q, 3, x->asked, x->asked_count);
    bind_numbers(q, 4, x->answered, x->answered_count);
    return finish_insert(s, q, e);
}

static int insert_episode(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = inserting(s, DS_STORE_EPISODE, &q, e);
    const ds_row_episode *ep = row->episode;
    if (rc != 0) {
        return rc;
    }
    sqlite3_bind_int64(q, 1, (sqlite3_int64)row->id);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)ep->key);
    sqlite3_bind_int64(q, 3, (sqlite3_int64)ep->steps);
    sqlite3_bind_int64(q, 4, ep->ended);
    bind_numbers(q, 5, ep->obs, (ep->steps + 1) * ep->n_obs);
    bind_numbers(q, 6, ep->reward, ep->steps);
    return finish_insert(s, q, e);
}

int ds_store_insert(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    const ds_answer *a = &row->answer;
    int rc = inserting(s, DS_STORE_EVAL, &q, e);
    if (rc == 0) {
        sqlite3_bind_int64(q, 1, (sqlite3_int64)row->id);
        bind_numbers(q, 2, row->x, row->n);
        if (isfinite(a->loss)) {
            sqlite3_bind_double(q, 3, a->loss);
        } else {
            sqlite3_bind_null(q, 3);
        }
        bind_numbers(q, 4, row->grad, row->n);
        sqlite3_bind_int64(q, 5, a->grad_kind);
        sqlite3_bind_int64(q, 6, a->outcome);
        bind_text(q, 7, row->tag);
        sqlite3_bind_int64(q, 8, (sqlite3_int64)row->group);
        sqlite3_bind_int64(q, 9, (sqlite3_int64)a->cost_steps);
        sqlite3_bind_int64(q, 10, a->bad_step);
        bind_text(q, 11, a->message);
        sqlite3_bind_double(q, 12, a->wall_s);
        sqlite3_bind_double(q, 13, row->at);
        rc = finish_insert(s, q, e);
    }
    rc = rc == 0 && row->episode != NULL ? insert_episode(s, row, e) : rc;
    rc = rc == 0 && row->extra.kind != 0 ? insert_extra(s, row, e) : rc;
    return ended(s, rc);
}

int ds_store_commit(ds_store *s, ds_error *e)
{
    return ended(s, ds_store_execute(s, "COMMIT", "writing", e));
}

int ds_cursor_open(ds_store *s, uint64_t first, ds_cursor **out, ds_error *e)
{
    static const char with_extra[] =
        "SELECT eval.id, x, loss, grad, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall,"
        " at, kind, asked, answered FROM eval LEFT JOIN extra ON extra.id=eval.id WHERE eval.id>=?1 ORDER BY "
        "eval.id";
    static const char without[] =
        "SELECT id, x, loss, grad, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall,"
        " at, NULL, NULL, NULL FROM eval WHERE id>=?1 ORDER BY id";
    int64_t has_extra = 0;
    ds_cursor *c = calloc(1, sizeof(*c));
    if (c == NULL || (c->x = malloc(2 * s->n * sizeof(double))) == NULL) {
        free(c);
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", s->path);
    }
    c->grad = c->x + s->n;
    c->store = s;
    c->expected = first;
    int rc = ds_store_query(s, "SELECT count(*) FROM sqlite_master WHERE type='table' AND name='extra'",
                            &has_extra, NULL, e);
    rc = rc != 0 ? rc : ds_store_select(s, has_extra ? with_extra : without, &c->stmt, e);
    if (rc != 0) {
        ds_cursor_close(c);
        return rc;
    }
    sqlite3_bind_int64(c->stmt, 1, (sqlite3_int64)first);
    *out = c;
    return 0;
}

static double loss_of(sqlite3_stmt *q, int column)
{
    return sqlite3_column_type(q, column) == SQLITE_NULL ? (double)INFINITY
                                                         : sqlite3_column_double(q, column);
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
        ds_store_fail(s, e, "reading");
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
    row->answer.loss = loss_of(q, 2);
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
        free(c->extra);
        free(c);
    }
}

int ds_store_scan(ds_store *s, ds_store_visit *visit, void *ctx, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = ds_store_select(s, "SELECT id, loss, cost_steps, wall FROM eval ORDER BY id", &q, e);
    int step = SQLITE_DONE;
    uint64_t expected = 1;
    while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
        uint64_t id = (uint64_t)sqlite3_column_int64(q, 0);
        double loss = loss_of(q, 1);
        rc = id != expected
                 ? ds_fail(e, DS_EXIT_IO, "%s: damaged at evaluation %llu", s->path,
                           (unsigned long long)expected)
                 : visit(ctx, id, loss, (uint64_t)sqlite3_column_int64(q, 2), sqlite3_column_double(q, 3));
        expected++;
    }
    return ds_store_end(s, q, step, rc, e);
}

/* Begins to read an episode; *q stays NULL where there is no table: no row is an episode. */
static int select_episode(ds_store *s, sqlite3_stmt **q, ds_error *e)
{
    int64_t columns = 0, has_end = 0;
    *q = NULL;
    int rc = ds_store_query(s, "SELECT count(*) FROM pragma_table_info('episode')", &columns, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, has_end_column, &has_end, NULL, e);
    return rc != 0 || columns == 0 ? rc
           : has_end ? ds_store_select(s, "SELECT steps, ended, obs, reward FROM episode WHERE id=?1", q, e)
                     : ds_store_select(s, "SELECT steps, 0, obs, reward FROM episode WHERE id=?1", q, e);
}

int ds_store_read_episode(ds_store *s, uint64_t id, uint64_t horizon, uint64_t n_obs, uint64_t *steps,
                          uint32_t *ended, double *obs, double *reward, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    *steps = *ended = 0;
    int rc = select_episode(s, &q, e);
    if (rc != 0 || q == NULL) {
        return rc;
    }
    sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
    int got = sqlite3_step(q);
    if (got == SQLITE_ROW) {
        uint64_t count = (uint64_t)sqlite3_column_int64(q, 0), end = (uint64_t)sqlite3_column_int64(q, 1);
        size_t obs_bytes = (size_t)((count + 1) * n_obs) * sizeof(double),
               reward_bytes = (size_t)count * sizeof(double);
        if (count < 1 || count > horizon || end > DS_RL_TRUNCATED ||
            (size_t)sqlite3_column_bytes(q, 2) != obs_bytes ||
            (size_t)sqlite3_column_bytes(q, 3) != reward_bytes) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: damaged at the episode of evaluation %llu", s->path,
                         (unsigned long long)id);
        } else {
            memcpy(obs, sqlite3_column_blob(q, 2), obs_bytes);
            memcpy(reward, sqlite3_column_blob(q, 3), reward_bytes);
            *steps = count;
            *ended = (uint32_t)end;
        }
    }
    return ds_store_end(s, q, got, rc, e);
}
