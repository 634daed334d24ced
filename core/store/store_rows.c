/* SPDX-License-Identifier: Apache-2.0 */
/* store_rows.c - the evaluations in a store: writing groups, and reading in order. */
#include "config.h"

#include <diffsim/ext/steps.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_internal.h"

enum { LOG_PAGES = 2000 /* of the log, before it is folded into the file */ };

/* A pass over the table progress. */
typedef struct report_reader {
    sqlite3_stmt *q; /* NULL before it begins */
    ds_row_progress progress;
    char *names;
    double *value; /* value and x, in one block */
} report_reader;

struct ds_cursor {
    ds_store *store;
    sqlite3_stmt *stmt;
    uint64_t expected;     /* id of the next row */
    double *x, *grad;      /* aligned copies in one block: a blob may lie at any address */
    double *extra;         /* the same for values of an extension */
    uint64_t room;         /* numbers that fit there */
    report_reader reports; /* opened at the first row with a report */
};

int ds_store_count(ds_store *s, uint64_t *count, ds_error *e)
{
    int64_t rows = 0, last = 0, first = 1;
    int own;
    ds_store_view(s, &own);
    int rc = ds_store_query(s, "SELECT count(*) FROM eval", &rows, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, "SELECT coalesce(max(id), 0) FROM eval", &last, NULL, e);
    rc = rc != 0 ? rc : ds_store_query(s, "SELECT coalesce(min(id), 1) FROM eval", &first, NULL, e);
    const int corrupt = rc != 0 && (sqlite3_errcode(s->db) & 0xff) == SQLITE_CORRUPT;
    ds_store_view_end(s, own);
    const int fewer = s->format > 1 && (uint64_t)rows < s->committed[DS_STORE_EVAL];
    if (corrupt || (rc == 0 && (rows != last || first != 1 || fewer))) {
        rc = ds_store_damaged(s, e, "%lld evaluations, numbered %lld to %lld", (long long)rows,
                              (long long)first, (long long)last);
    }
    *count = rc == 0 ? (uint64_t)rows : *count;
    return rc;
}

int ds_store_best(ds_store *s, double *best, ds_error *e)
{
    *best = (double)INFINITY;
    return ds_store_query(s, "SELECT coalesce(min(loss), 9e999) FROM eval", NULL, best, e);
}

/* ---- groups ---- */

int ds_store_rollback(ds_store *s, int rc)
{
    if (rc != 0) {
        if (!sqlite3_get_autocommit(s->db)) {
            sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        }
        memcpy(s->rows, s->committed, sizeof(s->rows));
        for (int k = DS_STORE_TOTALS; k < DS_STORE_TOTAL; k++) { /* their tables may have been rolled back */
            sqlite3_finalize(s->insert[k]);
            s->insert[k] = NULL;
        }
    }
    return rc;
}

int ds_store_begin(ds_store *s, ds_error *e)
{
    return ds_store_execute(s, "BEGIN IMMEDIATE", "writing", e);
}

static void sum_text(ds_sum *sum, const char *text)
{
    ds_sum_text(sum, text[0] != '\0' ? text : NULL);
}

static int insert_extra(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    const ds_extra *x = &row->extra;
    int rc = ds_store_inserting(s, DS_STORE_EXTRA, &q, e);
    if (rc != 0) {
        return rc;
    }
    ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_EXTRA].letter);
    ds_sum_whole(&sum, (int64_t)row->id);
    ds_sum_whole(&sum, x->kind);
    ds_sum_numbers(&sum, x->asked, x->asked_count);
    ds_sum_numbers(&sum, x->answered, x->answered_count);
    ds_sum_end(&sum);
    return ds_store_inserted(s, DS_STORE_EXTRA, q, e);
}

static int insert_episode(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    const ds_row_episode *ep = row->episode;
    int rc = ds_store_inserting(s, DS_STORE_EPISODE, &q, e);
    if (rc != 0) {
        return rc;
    }
    ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_EPISODE].letter);
    ds_sum_whole(&sum, (int64_t)row->id);
    ds_sum_whole(&sum, (int64_t)ep->key);
    ds_sum_whole(&sum, (int64_t)ep->steps);
    ds_sum_whole(&sum, ep->ended);
    ds_sum_numbers(&sum, ep->obs, (ep->steps + 1) * ep->n_obs);
    ds_sum_numbers(&sum, ep->reward, ep->steps);
    ds_sum_end(&sum);
    return ds_store_inserted(s, DS_STORE_EPISODE, q, e);
}

static int insert_progress(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    const ds_row_progress *p = row->progress;
    int rc = ds_store_inserting(s, DS_STORE_PROGRESS, &q, e);
    if (rc != 0) {
        return rc;
    }
    ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_PROGRESS].letter);
    ds_sum_whole(&sum, (int64_t)row->id);
    ds_sum_text(&sum, p->names);
    ds_sum_numbers(&sum, p->value, p->count);
    ds_sum_numbers(&sum, p->x, s->n);
    ds_sum_end(&sum);
    return ds_store_inserted(s, DS_STORE_PROGRESS, q, e);
}

/* The tables with a row of this evaluation. A store of format 1 cannot hold reports. */
static int parts_of(const ds_store *s, const ds_row *row)
{
    return (row->extra.kind != 0 ? DS_PART_EXTRA : 0) | (row->episode != NULL ? DS_PART_EPISODE : 0) |
           (row->progress != NULL && s->format > 1 ? DS_PART_PROGRESS : 0);
}

static int insert_eval(ds_store *s, const ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    ds_sum sum;
    const ds_answer *a = &row->answer;
    int rc = ds_store_inserting(s, DS_STORE_EVAL, &q, e);
    if (rc != 0) {
        return rc;
    }
    ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_EVAL].letter);
    ds_sum_whole(&sum, (int64_t)row->id);
    ds_sum_real(&sum, a->loss);
    ds_sum_whole(&sum, a->grad_kind);
    ds_sum_whole(&sum, a->outcome);
    sum_text(&sum, row->tag);
    ds_sum_whole(&sum, (int64_t)row->group);
    ds_sum_whole(&sum, (int64_t)a->cost_steps);
    ds_sum_whole(&sum, a->bad_step);
    sum_text(&sum, a->message);
    ds_sum_real(&sum, a->wall_s);
    ds_sum_real(&sum, row->at);
    ds_sum_whole(&sum, parts_of(s, row));
    ds_sum_numbers(&sum, row->x, row->n);
    ds_sum_numbers(&sum, row->grad, row->n);
    ds_sum_end(&sum);
    return ds_store_inserted(s, DS_STORE_EVAL, q, e);
}

int ds_store_insert(ds_store *s, const ds_row *row, ds_error *e)
{
    int rc = insert_eval(s, row, e);
    rc = rc == 0 && row->episode != NULL ? insert_episode(s, row, e) : rc;
    rc = rc == 0 && row->extra.kind != 0 ? insert_extra(s, row, e) : rc;
    rc = rc == 0 && (parts_of(s, row) & DS_PART_PROGRESS) != 0 ? insert_progress(s, row, e) : rc;
    return ds_store_rollback(s, rc);
}

/* Writes the counts of tables that have grown. */
static int put_totals(ds_store *s, ds_error *e)
{
    int rc = 0;
    for (int k = 0; k < DS_STORE_TOTALS && rc == 0 && s->format > 1; k++) {
        sqlite3_stmt *q = NULL;
        ds_sum sum;
        if (!s->has[k] || (s->rows[k] == s->committed[k] && s->rows[k] > 0)) {
            continue;
        }
        rc = ds_store_inserting(s, DS_STORE_TOTAL, &q, e);
        if (rc == 0) {
            ds_sum_begin(&sum, q, ds_store_table_of[DS_STORE_TOTAL].letter);
            ds_sum_text(&sum, ds_store_table_of[k].name);
            ds_sum_whole(&sum, (int64_t)s->rows[k]);
            ds_sum_end(&sum);
            rc = ds_store_inserted(s, DS_STORE_TOTAL, q, e);
        }
    }
    return rc;
}

/* Folds the log into the file after the check of the file: SQLite would extend a file that another program
 * has cut, with a hole. Without room the log grows on. */
static int fold_log(ds_store *s, ds_error *e)
{
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    s->log_pages = 0;
    return ds_store_present(s, e);
}

int ds_store_commit(ds_store *s, ds_error *e)
{
    int rc = put_totals(s, e);
    rc = ds_store_rollback(s, rc != 0 ? rc : ds_store_execute(s, "COMMIT", "writing", e));
    if (rc == 0) {
        const uint64_t before = s->committed[DS_STORE_EVAL];
        memcpy(s->committed, s->rows, sizeof(s->rows));
        if (s->committed[DS_STORE_EVAL] != before) {
            ds_store_note(s);
        }
    }
    rc = rc != 0 ? rc : ds_store_present(s, e);
    return rc != 0 || s->log_pages < LOG_PAGES ? rc : fold_log(s, e);
}

/* ---- reading ---- */

#define SCALARS "SELECT eval.id, loss, grad_kind, outcome, tag, grp, cost_steps, bad_step, message, wall, at"
/* first columns of the parts of a cursor's row */
enum { SUM = 12, X = 13, GRAD = 14, EXTRA_ID = 15, EXTRA_KIND = 16, ASKED = 18, ANSWERED = 19 };

int ds_cursor_open(ds_store *s, uint64_t first, ds_cursor **out, ds_error *e)
{
    static const char *const select[2][2] = {
        {SCALARS ", 0, 0, x, grad, NULL, NULL, 0, NULL, NULL FROM eval WHERE eval.id>=?1 ORDER BY eval.id",
         SCALARS ", 0, 0, x, grad, extra.id, kind, 0, asked, answered FROM eval LEFT JOIN extra ON "
                 "extra.id=eval.id WHERE eval.id>=?1 ORDER BY eval.id"},
        {SCALARS ", parts, eval.sum, x, grad, NULL, NULL, 0, NULL, NULL FROM eval WHERE eval.id>=?1 ORDER BY "
                 "eval.id",
         SCALARS ", parts, eval.sum, x, grad, extra.id, kind, extra.sum, asked, answered FROM eval LEFT JOIN "
                 "extra ON extra.id=eval.id WHERE eval.id>=?1 ORDER BY eval.id"}};
    int has_extra = 0;
    ds_cursor *c = calloc(1, sizeof(*c));
    if (c == NULL || (c->x = malloc(2 * s->n * sizeof(double))) == NULL) {
        free(c);
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", s->path);
    }
    c->grad = c->x + s->n;
    c->store = s;
    c->expected = first;
    int rc = ds_store_has_table(s, "extra", &has_extra, e);
    rc = rc != 0 ? rc : ds_store_select(s, select[s->format > 1][has_extra], &c->stmt, e);
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

/* Reads the values that an extension added to the row. */
static int read_extra(ds_cursor *c, ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = c->stmt;
    ds_extra *x = &row->extra;
    if (sqlite3_column_type(q, EXTRA_ID) == SQLITE_NULL) {
        return 0;
    }
    size_t asked = (size_t)sqlite3_column_bytes(q, ASKED),
           answered = (size_t)sqlite3_column_bytes(q, ANSWERED);
    if (asked % sizeof(double) != 0 || answered % sizeof(double) != 0) {
        return ds_store_damaged(c->store, e, "evaluation %llu", (unsigned long long)row->id);
    }
    x->asked_count = asked / sizeof(double);
    x->answered_count = answered / sizeof(double);
    if (x->asked_count + x->answered_count > c->room) {
        double *grown = realloc(c->extra, asked + answered);
        if (grown == NULL) {
            return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", c->store->path);
        }
        c->extra = grown;
        c->room = x->asked_count + x->answered_count;
    }
    x->kind = (uint32_t)sqlite3_column_int64(q, EXTRA_KIND);
    if (asked > 0) {
        x->asked = memcpy(c->extra, sqlite3_column_blob(q, ASKED), asked);
    }
    if (answered > 0) {
        x->answered = memcpy(c->extra + x->asked_count, sqlite3_column_blob(q, ANSWERED), answered);
    }
    return 0;
}

static uint64_t count_names(const char *names)
{
    uint64_t count = names[0] != '\0';
    for (; *names != '\0'; names++) {
        count += *names == ' ';
    }
    return count;
}

const char *ds_progress_name(const char *names, char name[DS_MAX_NAME + 1])
{
    const size_t length = strcspn(names, " ");
    if (length == 0) {
        return NULL;
    }
    snprintf(name, DS_MAX_NAME + 1, "%.*s", (int)length, names);
    return names + length + (names[length] == ' ');
}

static int begin_reports(ds_store *s, uint64_t first, report_reader *r)
{
    const char sql[] = "SELECT id, names, sum, value, x FROM progress WHERE id>=?1 ORDER BY id";
    if (sqlite3_prepare_v2(s->db, sql, -1, &r->q, NULL) != SQLITE_OK) {
        return -1;
    }
    sqlite3_bind_int64(r->q, 1, (sqlite3_int64)first);
    return 0;
}

static void end_reports(report_reader *r)
{
    sqlite3_finalize(r->q);
    free(r->names);
    free(r->value);
}

/* Reads the next report. Returns SQLITE_ROW and *id, SQLITE_DONE, or another value where it is damaged. */
static int next_report(const ds_store *s, report_reader *r, uint64_t *id)
{
    sqlite3_stmt *q = r->q;
    int step = sqlite3_step(q);
    const char *names = step == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 1) : NULL;
    if (names == NULL ||
        ds_sum_check(q, ds_store_table_of[DS_STORE_PROGRESS].letter, 0, 2, 2) != DS_SUM_WHOLE) {
        return step == SQLITE_DONE ? SQLITE_DONE : SQLITE_CORRUPT;
    }
    const size_t values = (size_t)sqlite3_column_bytes(q, 3), point = (size_t)sqlite3_column_bytes(q, 4);
    const uint64_t count = count_names(names);
    if (values != count * sizeof(double) || (point != 0 && point != s->n * sizeof(double))) {
        return SQLITE_CORRUPT;
    }
    free(r->names);
    free(r->value);
    r->names = strdup(names);
    r->value = malloc(values + point + 1);
    if (r->names == NULL || r->value == NULL) {
        return SQLITE_NOMEM;
    }
    if (values > 0) {
        memcpy(r->value, sqlite3_column_blob(q, 3), values);
    }
    if (point > 0) {
        memcpy(r->value + count, sqlite3_column_blob(q, 4), point);
    }
    r->progress = (ds_row_progress){count, r->names, r->value, point > 0 ? r->value + count : NULL};
    *id = (uint64_t)sqlite3_column_int64(q, 0);
    return SQLITE_ROW;
}

/* Reads the report of row->id. Both statements see one state of the store, because the statement over the
 * evaluations stays open. */
static int read_progress(ds_cursor *c, ds_row *row, ds_error *e)
{
    ds_store *s = c->store;
    uint64_t id = 0;
    int step = c->reports.q == NULL && begin_reports(s, row->id, &c->reports) != 0
                   ? SQLITE_CORRUPT
                   : next_report(s, &c->reports, &id);
    if (step == SQLITE_NOMEM) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory", s->path);
    }
    if (step != SQLITE_ROW || id != row->id) {
        return ds_store_damaged(s, e, "the report of evaluation %llu", (unsigned long long)row->id);
    }
    row->progress = &c->reports.progress;
    return 0;
}

/* Is the row as it was written? Missing rows count as damage, also at the end. */
static int is_whole(const ds_cursor *c)
{
    sqlite3_stmt *q = c->stmt;
    const ds_store *s = c->store;
    const int has_grad = sqlite3_column_type(q, GRAD) != SQLITE_NULL,
              has_extra = sqlite3_column_type(q, EXTRA_ID) != SQLITE_NULL;
    const size_t bytes = s->n * sizeof(double);
    if ((uint64_t)sqlite3_column_int64(q, 0) != c->expected || (size_t)sqlite3_column_bytes(q, X) != bytes ||
        (has_grad && (size_t)sqlite3_column_bytes(q, GRAD) != bytes)) {
        return 0;
    }
    return s->format == 1 ||
           (ds_sum_check(q, ds_store_table_of[DS_STORE_EVAL].letter, 0, 12, 2) == DS_SUM_WHOLE &&
            has_extra == ((sqlite3_column_int64(q, 11) & DS_PART_EXTRA) != 0) &&
            (!has_extra ||
             ds_sum_check(q, ds_store_table_of[DS_STORE_EXTRA].letter, EXTRA_ID, 2, 2) == DS_SUM_WHOLE));
}

int ds_cursor_next(ds_cursor *c, ds_row *row, ds_error *e)
{
    sqlite3_stmt *q = c->stmt;
    ds_store *s = c->store;
    int step = sqlite3_step(q);
    if (step == SQLITE_DONE && (s->format == 1 || c->expected > s->committed[DS_STORE_EVAL])) {
        return 0;
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE && sqlite3_errcode(s->db) != SQLITE_CORRUPT) {
        ds_store_fail(s, e, "reading");
        return -1;
    }
    if (step != SQLITE_ROW || !is_whole(c)) {
        ds_store_damaged(s, e, "evaluation %llu", (unsigned long long)c->expected);
        return -1;
    }
    memset(row, 0, sizeof(*row));
    row->id = c->expected++;
    row->n = s->n;
    memcpy(c->x, sqlite3_column_blob(q, X), s->n * sizeof(double));
    row->x = c->x;
    if (sqlite3_column_type(q, GRAD) != SQLITE_NULL) {
        row->grad = memcpy(c->grad, sqlite3_column_blob(q, GRAD), s->n * sizeof(double));
    }
    row->answer.loss = loss_of(q, 1);
    row->answer.grad_kind = (uint32_t)sqlite3_column_int64(q, 2);
    row->answer.outcome = (uint32_t)sqlite3_column_int64(q, 3);
    copy_text(row->tag, sizeof(row->tag), sqlite3_column_text(q, 4));
    row->group = (uint64_t)sqlite3_column_int64(q, 5);
    row->answer.cost_steps = (uint64_t)sqlite3_column_int64(q, 6);
    row->answer.bad_step = sqlite3_column_int64(q, 7);
    copy_text(row->answer.message, sizeof(row->answer.message), sqlite3_column_text(q, 8));
    row->answer.wall_s = sqlite3_column_double(q, 9);
    row->at = sqlite3_column_double(q, 10);
    if (s->format > 1 && (sqlite3_column_int64(q, 11) & DS_PART_PROGRESS) != 0 &&
        read_progress(c, row, e) != 0) {
        return -1;
    }
    return read_extra(c, row, e) == 0 ? 1 : -1;
}

void ds_cursor_close(ds_cursor *c)
{
    if (c != NULL) {
        sqlite3_finalize(c->stmt);
        free(c->x);
        free(c->extra);
        end_reports(&c->reports);
        free(c);
    }
}

int ds_store_scan(ds_store *s, ds_store_visit *visit, void *ctx, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = ds_store_select(
        s, s->format > 1 ? SCALARS ", parts, sum FROM eval ORDER BY id" : SCALARS " FROM eval ORDER BY id",
        &q, e);
    int step = SQLITE_DONE, whole = 1;
    uint64_t expected = 1;
    while (rc == 0 && whole && (step = sqlite3_step(q)) == SQLITE_ROW) {
        whole = (uint64_t)sqlite3_column_int64(q, 0) == expected &&
                (s->format == 1 ||
                 ds_sum_check(q, ds_store_table_of[DS_STORE_EVAL].letter, 0, SUM, 0) == DS_SUM_WHOLE);
        rc = !whole ? 0
                    : visit(ctx, expected, loss_of(q, 1), (uint64_t)sqlite3_column_int64(q, 6),
                            sqlite3_column_double(q, 9));
        expected += (uint64_t)whole;
    }
    whole = whole && step != SQLITE_CORRUPT &&
            (step != SQLITE_DONE || s->format == 1 || expected > s->committed[DS_STORE_EVAL]);
    if (rc == 0 && !whole) {
        sqlite3_finalize(q);
        return ds_store_damaged(s, e, "evaluation %llu", (unsigned long long)expected);
    }
    return ds_store_end(s, q, step, rc, e);
}

/* ---- episodes ---- */

/* Begins to read an episode; *q stays NULL without the table: then no row is an episode. */
static int select_episode(ds_store *s, sqlite3_stmt **q, ds_error *e)
{
    static const char now[] = "SELECT id, key, steps, ended, sum, obs, reward FROM episode WHERE id=?1",
                      then[] = "SELECT id, key, steps, ended, 0, obs, reward FROM episode WHERE id=?1",
                      first[] = "SELECT id, key, steps, 0, 0, obs, reward FROM episode WHERE id=?1";
    int has = 0;
    int64_t has_end = 1;
    *q = NULL;
    int rc = ds_store_has_table(s, "episode", &has, e);
    if (rc == 0 && has && s->format == 1) {
        rc = ds_store_query(s, "SELECT count(*) FROM pragma_table_info('episode') WHERE name='ended'",
                            &has_end, NULL, e);
    }
    return rc != 0 || !has ? rc : ds_store_select(s, s->format > 1 ? now : has_end ? then : first, q, e);
}

/* Is the evaluation marked as an episode? */
static int says_episode(ds_store *s, uint64_t id, int *is, ds_error *e)
{
    char sql[80];
    int64_t parts = 0;
    sqlite3_snprintf(sizeof(sql), sql, "SELECT parts FROM eval WHERE id=%lld", (long long)id);
    int rc = s->format > 1 ? ds_store_query(s, sql, &parts, NULL, e) : 0;
    *is = (parts & DS_PART_EPISODE) != 0;
    return rc;
}

int ds_store_read_episode(ds_store *s, uint64_t id, uint64_t horizon, uint64_t n_obs, uint64_t *steps,
                          uint32_t *ended, double *obs, double *reward, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int is = 0, whole = 1, got = SQLITE_DONE;
    *steps = *ended = 0;
    int rc = says_episode(s, id, &is, e);
    rc = rc != 0 ? rc : select_episode(s, &q, e);
    if (rc == 0 && q != NULL) {
        sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
        got = sqlite3_step(q);
    }
    if (rc == 0 && got == SQLITE_ROW) {
        uint64_t count = (uint64_t)sqlite3_column_int64(q, 2), end = (uint64_t)sqlite3_column_int64(q, 3);
        size_t obs_bytes = (size_t)((count + 1) * n_obs) * sizeof(double),
               reward_bytes = (size_t)count * sizeof(double);
        whole = count >= 1 && count <= horizon && end <= DS_STEPS_TRUNCATED &&
                (size_t)sqlite3_column_bytes(q, 5) == obs_bytes &&
                (size_t)sqlite3_column_bytes(q, 6) == reward_bytes &&
                (s->format == 1 ||
                 ds_sum_check(q, ds_store_table_of[DS_STORE_EPISODE].letter, 0, 4, 2) == DS_SUM_WHOLE);
        if (whole) {
            memcpy(obs, sqlite3_column_blob(q, 5), obs_bytes);
            memcpy(reward, sqlite3_column_blob(q, 6), reward_bytes);
            *steps = count;
            *ended = (uint32_t)end;
        }
    }
    whole = whole && got != SQLITE_CORRUPT && (s->format == 1 || got != SQLITE_DONE || !is);
    if (rc == 0 && !whole) {
        sqlite3_finalize(q);
        return ds_store_damaged(s, e, "the episode of evaluation %llu", (unsigned long long)id);
    }
    return ds_store_end(s, q, got, rc, e);
}

/* ---- reports ---- */

int ds_store_scan_progress(ds_store *s, ds_store_visit_progress *visit, void *ctx, ds_error *e)
{
    report_reader r = {NULL};
    uint64_t id = 0;
    int has = 0, step = SQLITE_ROW, rc = ds_store_has_table(s, "progress", &has, e);
    if (rc != 0 || !has || s->format == 1) {
        return rc;
    }
    rc = begin_reports(s, 1, &r) != 0 ? ds_store_fail(s, e, "reading") : 0;
    while (rc == 0 && (step = next_report(s, &r, &id)) == SQLITE_ROW) {
        rc = visit(ctx, id, &r.progress);
    }
    end_reports(&r);
    return rc != 0 || step == SQLITE_DONE || step == SQLITE_ROW ? rc
           : step == SQLITE_NOMEM
               ? ds_no_memory(e)
               : ds_store_damaged(s, e, "a report after evaluation %llu", (unsigned long long)id);
}

int ds_store_recommended_point(ds_store *s, double *x, int *has, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int step = SQLITE_DONE, rc = ds_store_has_table(s, "progress", has, e);
    if (rc != 0 || !*has) {
        return rc;
    }
    *has = 0;
    rc = ds_store_select(s, "SELECT x FROM progress WHERE x IS NOT NULL ORDER BY id DESC LIMIT 1", &q, e);
    if (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW &&
        (size_t)sqlite3_column_bytes(q, 0) == s->n * sizeof(double)) {
        memcpy(x, sqlite3_column_blob(q, 0), s->n * sizeof(double));
        *has = 1;
    }
    return ds_store_end(s, q, step, rc, e);
}
