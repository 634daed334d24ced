/* SPDX-License-Identifier: Apache-2.0 */
/* run_table.c - reads runs.csv of a report (see run_table.h). */
#include "config.h"

#include "tables/run_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "tables/csv.h"

enum { FILE_MAX = 64 << 20, ROWS_MAX = 100000 };

/* What a column holds, and where it goes. */
typedef enum kind { NAME, TEXT, WORD, COUNT, POSITIVE, LOSS, SECONDS, HASH, MEAN } kind;
typedef struct column {
    const char *name;
    kind kind;
    int needed;
    size_t to;
} column;

static const column columns[] = {
    {"environment", NAME, 1, offsetof(ds_result, env)},
    {"optimizer", NAME, 1, offsetof(ds_result, opt)},
    {"seed", COUNT, 1, offsetof(ds_result, seed)},
    {"variables", POSITIVE, 1, offsetof(ds_result, n)},
    {"budget", COUNT, 1, offsetof(ds_result, budget)},
    {"evaluations", COUNT, 1, offsetof(ds_result, evaluations)},
    {"gradients", COUNT, 1, offsetof(ds_result, gradients)},
    {"best_loss", LOSS, 1, offsetof(ds_result, best_loss)},
    {"cost_steps", COUNT, 1, offsetof(ds_result, cost_steps)},
    {"evaluation_s", SECONDS, 1, offsetof(ds_result, evaluation_s)},
    {"wall_s", SECONDS, 1, offsetof(ds_result, wall_s)},
    {"ended", WORD, 1, offsetof(ds_result, ended)},
    {"version_environment", TEXT, 1, offsetof(ds_result, env_version)},
    {"version_optimizer", TEXT, 1, offsetof(ds_result, opt_version)},
    {"version_dshost", TEXT, 0, offsetof(ds_result, host_version)},
    {"folder", TEXT, 0, offsetof(ds_result, folder)},
    {"processor", TEXT, 0, offsetof(ds_result, processor)},
    {"arithmetic", TEXT, 0, offsetof(ds_result, arithmetic)},
    {"losses", HASH, 0, offsetof(ds_result, losses)},
    {"first_loss", MEAN, 0, offsetof(ds_result, first_loss)},
    {"recommended", MEAN, 0, offsetof(ds_result, recommended)},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

int ds_run_table_is(const char *path)
{
    struct stat s;
    return ds_text_ends_with(path, (const char *const[]){"csv", NULL}) &&
           !(stat(path, &s) == 0 && S_ISDIR(s.st_mode));
}

/* ---- rows ---- */

/* A header of one field that other programs would split. */
static int is_other_separator(const ds_csv *c)
{
    return c->fields == 1 && strpbrk(c->field[0], ";\t") != NULL;
}

/* Does a field of the header name the column? Blanks about it do not count. */
static int is_named(const char *field, const char *name)
{
    const size_t blank = strspn(field, " "), n = strlen(name);
    return strncmp(field + blank, name, n) == 0 && field[blank + n + strspn(field + blank + n, " ")] == '\0';
}

/* Where each column stands; SIZE_MAX = nowhere. */
static int read_header(ds_csv *c, size_t at[COLUMNS], ds_error *e)
{
    const int got = ds_csv_next(c, e);
    if (got < 0) {
        return e->status;
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        at[k] = SIZE_MAX;
        for (size_t i = 0; got > 0 && i < c->fields; i++) {
            if (!is_named(c->field[i], columns[k].name)) {
                continue;
            }
            if (at[k] != SIZE_MAX) {
                return ds_fail(e, DS_EXIT_CONFIG, "%.300s: two columns \"%s\"", c->path, columns[k].name);
            }
            at[k] = i;
        }
        if (at[k] == SIZE_MAX && columns[k].needed && got > 0 && is_other_separator(c)) {
            return ds_fail(
                e, DS_EXIT_CONFIG,
                "%.300s: its fields are separated by %s: write it with commas between the fields and points "
                "in numbers",
                c->path, strchr(c->field[0], ';') != NULL ? "semicolons" : "tabs");
        }
        if (at[k] == SIZE_MAX && columns[k].needed) {
            return ds_fail(e, DS_EXIT_CONFIG, "%.300s: no column \"%s\"; a runs.csv of dshost report has it",
                           c->path, columns[k].name);
        }
    }
    return 0;
}

static int refuse(const ds_csv *c, const column *k, const char *text, const char *expected, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: %s \"%.60s\": expected %s", c->path, c->line, k->name,
                   text, expected);
}

/* Losses that are none: empty as report writes them, or as other programs do. */
static int is_no_loss(const char *text)
{
    static const char *const none[] = {"", "inf", "+inf", "infinity", "nan", "-nan", "NA"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (strcasecmp(text, none[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static int take_real(const ds_csv *c, const column *k, const char *text, double *to, ds_error *e)
{
    *to = (double)INFINITY;
    if (k->kind == LOSS ? is_no_loss(text) : text[0] == '\0') {
        return 0;
    }
    if (!ds_parse_real(text, to) || !isfinite(*to) || (k->kind == SECONDS && *to < 0)) {
        return refuse(c, k, text,
                      k->kind == LOSS ? "a number, or nothing for no valid loss" : "seconds, 0 or more", e);
    }
    return 0;
}

static int take_text(const ds_csv *c, const column *k, const char *text, char **to, ds_error *e)
{
    if (text[0] == '\0' && (k->kind == NAME || k->kind == WORD)) {
        return refuse(c, k, text, k->kind == NAME ? "a name" : "how the run ended", e);
    }
    *to = text[0] != '\0' ? strdup(text) : NULL;
    if (text[0] != '\0' && *to == NULL) {
        return ds_no_memory(e);
    }
    if (k->kind == NAME) {
        ds_result_clean_name(*to);
    }
    return 0;
}

/* Whole numbers; other programs write 1000 as 1000.0. */
static int take_count(const char *text, uint64_t *to)
{
    const size_t digits = strspn(text, "0123456789");
    char whole[32];
    if (ds_parse_seed(text, to)) {
        return 1;
    }
    if (digits == 0 || digits >= sizeof whole || text[digits] != '.' ||
        text[digits + 1 + strspn(text + digits + 1, "0")] != '\0') {
        return 0;
    }
    snprintf(whole, sizeof whole, "%.*s", (int)digits, text);
    return ds_parse_seed(whole, to);
}

static int take(const ds_csv *c, const column *k, const char *text, ds_result *r, ds_error *e)
{
    void *to = (char *)r + k->to;
    switch (k->kind) {
    case COUNT:
    case POSITIVE:
        if (!take_count(text, to) || (k->kind == POSITIVE && *(uint64_t *)to == 0)) {
            return refuse(c, k, text, k->kind == POSITIVE ? "a whole number above 0" : "a whole number", e);
        }
        return 0;
    case HASH:
        if (text[0] != '\0' && !ds_parse_seed(text, to)) {
            return refuse(c, k, text, "the hash that dshost report writes, or nothing", e);
        }
        return 0;
    case MEAN:
        if (text[0] != '\0' && (!ds_parse_real(text, to) || !isfinite(*(double *)to))) {
            return refuse(c, k, text, "a number, or nothing", e);
        }
        return 0;
    case LOSS:
    case SECONDS:
        return take_real(c, k, text, to, e);
    default:
        return take_text(c, k, text, to, e);
    }
}

static ds_result *append(ds_run_results *all, ds_error *e)
{
    if ((all->count & (all->count - 1)) == 0) { /* 0, 1, 2, 4, ...: the array is full */
        ds_result *grown = realloc(all->item, (all->count == 0 ? 1 : 2 * all->count) * sizeof *grown);
        if (grown == NULL) {
            ds_no_memory(e);
            return NULL;
        }
        all->item = grown;
    }
    ds_result *r = &all->item[all->count++];
    *r = (ds_result){.recommended = NAN, .recommended_se = NAN, .first_loss = NAN};
    return r;
}

static int read_row(const ds_csv *c, const size_t at[COLUMNS], size_t fields, ds_run_results *all,
                    ds_error *e)
{
    if (c->fields != fields) {
        return ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: %zu fields, but the header has %zu", c->path, c->line,
                       c->fields, fields);
    }
    ds_result *r = append(all, e);
    if (r == NULL) {
        return e->status;
    }
    r->table = strdup(c->path);
    if (asprintf(&r->where, "%s:%zu", c->path, c->line) < 0) {
        r->where = NULL;
    }
    int rc = r->table == NULL || r->where == NULL ? ds_no_memory(e) : 0;
    for (size_t k = 0; rc == 0 && k < COLUMNS; k++) {
        rc = at[k] != SIZE_MAX ? take(c, &columns[k], c->field[at[k]], r, e) : 0;
    }
    if (rc == 0 && r->folder == NULL && (r->folder = strdup("")) == NULL) {
        rc = ds_no_memory(e);
    }
    return rc;
}

/* ---- tables ---- */

static int is_unfinished(const ds_result *r)
{
    return strcmp(r->ended, "unfinished") == 0;
}

/* Marks the rows of an environment from `first` on that has an unfinished one. */
static int mark_environment(ds_run_results *all, size_t first, const ds_result *open, ds_error *e)
{
    for (size_t i = first; i < all->count; i++) {
        ds_result *r = &all->item[i];
        if (r->error == NULL && strcmp(r->env, open->env) == 0 &&
            (r->error =
                 strdup(is_unfinished(r) ? "unfinished when the table was written"
                                         : "its loss is that after an unknown number of evaluations: the "
                                           "table has unfinished runs of the environment")) == NULL) {
            return ds_no_memory(e);
        }
    }
    ds_log(DS_LOG_WARNING, NULL,
           "%s: an unfinished run of %s: left out with all rows of that environment, whose losses are those "
           "after a number of evaluations that the table does not tell",
           open->where, open->env);
    return 0;
}

static int mark_unfinished(ds_run_results *all, size_t first, ds_error *e)
{
    int rc = 0;
    for (size_t i = first; rc == 0 && i < all->count; i++) {
        if (all->item[i].error == NULL && is_unfinished(&all->item[i])) {
            rc = mark_environment(all, first, &all->item[i], e);
        }
    }
    return rc;
}

int ds_run_table_parse(const char *text, size_t size, const char *path, ds_run_results *all, ds_error *e)
{
    size_t at[COLUMNS];
    const size_t first = all->count;
    ds_csv *c = malloc(sizeof *c);
    if (c == NULL) {
        return ds_no_memory(e);
    }
    ds_csv_begin(c, text, size, path);
    int rc = read_header(c, at, e), got = rc == 0;
    const size_t fields = c->fields;
    while (rc == 0 && (got = ds_csv_next(c, e)) > 0) {
        rc = all->count - first < ROWS_MAX
                 ? read_row(c, at, fields, all, e)
                 : ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: more than %d runs", path, c->line, ROWS_MAX);
    }
    rc = got < 0 ? e->status : rc;
    free(c);
    return rc != 0 ? rc : mark_unfinished(all, first, e);
}

int ds_run_table_read(const char *path, ds_run_results *all, ds_error *e)
{
    void *text = NULL;
    size_t size = 0;
    int rc = ds_file_read(path, FILE_MAX, &text, &size, DS_EXIT_IO, e);
    rc = rc != 0 ? rc : ds_run_table_parse(text, size, path, all, e);
    free(text);
    return rc;
}
