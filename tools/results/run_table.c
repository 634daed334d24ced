/* SPDX-License-Identifier: Apache-2.0 */
/* run_table.c - reads runs.csv of a report, joins its rows with runs of folders, and selects cells (see
 * run_table.h). */
#include "config.h"

#include "results/run_table.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "results/csv.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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

/* A header with one field, which a program with another separator wrote. */
static int is_other_separator(const ds_csv *c)
{
    return c->fields == 1 && strpbrk(c->field[0], ";\t") != NULL;
}

/* Does a header field name the column? Surrounding blanks are ignored. */
static int is_named(const char *field, const char *name)
{
    const size_t blank = strspn(field, " "), n = strlen(name);
    return strncmp(field + blank, name, n) == 0 && field[blank + n + strspn(field + blank + n, " ")] == '\0';
}

/* Finds the index of each column; SIZE_MAX = missing. */
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
                return ds_fail(e, DS_EXIT_CONFIG, "%.300s: two columns are named \"%s\"", c->path,
                               columns[k].name);
            }
            at[k] = i;
        }
        if (at[k] == SIZE_MAX && columns[k].needed && got > 0 && is_other_separator(c)) {
            return ds_fail(e, DS_EXIT_CONFIG,
                           "%.300s: its fields are separated by %s: write commas between the fields and "
                           "points in numbers",
                           c->path, strchr(c->field[0], ';') != NULL ? "semicolons" : "tabs");
        }
        if (at[k] == SIZE_MAX && columns[k].needed) {
            return ds_fail(e, DS_EXIT_CONFIG,
                           "%.300s: there is no column \"%s\"; runs.csv of dshost report has it", c->path,
                           columns[k].name);
        }
    }
    return 0;
}

static int refuse(const ds_csv *c, const column *k, const char *text, const char *expected, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%.300s:%zu: %s \"%.60s\": expected %s", c->path, c->line, k->name,
                   text, expected);
}

/* Missing losses: empty as the report writes them, or as other programs do. */
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
    if ((all->count & (all->count - 1)) == 0) { /* at 0, 1, 2, 4, ... the array is full */
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

/* Marks the rows, from `first` on, of an environment that has an unfinished one. */
static int mark_environment(ds_run_results *all, size_t first, const ds_result *open, ds_error *e)
{
    for (size_t i = first; i < all->count; i++) {
        ds_result *r = &all->item[i];
        if (r->error == NULL && strcmp(r->env, open->env) == 0 &&
            (r->error = strdup(is_unfinished(r) ? "unfinished when the table was written"
                                                : "its loss is that after an unknown number of evaluations: "
                                                  "the table has unfinished runs of the environment")) ==
                NULL) {
            return ds_no_memory(e);
        }
    }
    ds_log(DS_LOG_WARNING, NULL,
           "%s: an unfinished run of %s: all rows of that environment are left out, because the table does "
           "not say after how many evaluations their losses were found",
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

/* ---- joining tables and folders ---- */

static int append_all(ds_run_results *r, ds_run_results *tables, ds_error *e)
{
    if (tables->count > 0) {
        ds_result *grown = realloc(r->item, (r->count + tables->count) * sizeof *grown);
        if (grown == NULL) {
            return ds_no_memory(e);
        }
        memcpy(grown + r->count, tables->item, tables->count * sizeof *grown);
        r->item = grown;
        r->count += tables->count;
        tables->count = 0; /* *r owns the contents now */
    }
    return 0;
}

/* End of the runs on the environment of run i, which are adjacent. */
static size_t end_of_env(const ds_run_results *r, size_t i)
{
    size_t end = i;
    while (end < r->count && strcmp(r->item[end].env, r->item[i].env) == 0) {
        end++;
    }
    return end;
}

static const ds_result *first_of_table(const ds_run_results *r, size_t i, size_t end)
{
    for (; i < end; i++) {
        if (r->item[i].table != NULL && ds_result_counts(&r->item[i])) {
            return &r->item[i];
        }
    }
    return NULL;
}

static void drop_unfinished(ds_run_results *r, size_t i, size_t end, const ds_result *row)
{
    size_t dropped = 0;
    for (; i < end; i++) {
        dropped += r->item[i].partial != 0;
        r->item[i].partial = 0;
    }
    if (dropped > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: %zu unfinished run%s left out: what runs of %s had found after fewer "
               "evaluations is not known",
               row->env, dropped, dropped == 1 ? " is" : "s are", row->table);
    }
}

static void warn_of_budgets(const ds_run_results *r, size_t i, size_t end, const ds_result *row)
{
    for (; i < end; i++) {
        const ds_result *other = &r->item[i];
        if (ds_result_counts(other) && other->budget != row->budget) {
            ds_log(DS_LOG_WARNING, NULL,
                   "%s: runs with different budgets are compared as they ended: %s (%" PRIu64
                   "), %s (%" PRIu64 ")",
                   row->env, row->where, row->budget, ds_result_where(other), other->budget);
            return;
        }
    }
}

int ds_run_table_join(ds_run_results *r, ds_run_results *tables, int any_version, ds_error *e)
{
    const int any = tables->count > 0;
    int rc = append_all(r, tables, e);
    return rc == 0 && any ? ds_results_tell_apart(&r, 1, any_version, e) : rc;
}

/* ---- runs in two sources ---- */

static int same_cell_and_seed(const ds_result *a, const ds_result *b)
{
    return a->seed == b->seed && strcmp(a->env, b->env) == 0 && strcmp(a->opt, b->opt) == 0;
}

/* A run pooled here is identified by its name, a run pooled earlier by its folder. */
static int is_of_other_variant(const ds_result *a, const ds_result *b)
{
    size_t n = 0, m = 0;
    if (a->variant != NULL && b->variant != NULL) {
        return strcmp(a->variant, b->variant) != 0;
    }
    const char *x = ds_result_variant_folder(a, &n), *y = ds_result_variant_folder(b, &m);
    return n > 0 && m > 0 && (n != m || memcmp(x, y, n) != 0);
}

/* May these be one run in two sources? Copies of a folder count separately, also in a table that has both. */
static int may_be_one(const ds_result *a, const ds_result *b)
{
    if (a->table == NULL || b->table == NULL || strcmp(a->table, b->table) != 0) {
        return !is_of_other_variant(a, b);
    }
    return a->folder[0] != '\0' && strcmp(a->folder, b->folder) == 0;
}

static int is_one(const ds_result *a, const ds_result *b)
{
    return a->best_loss == b->best_loss && a->budget == b->budget;
}

static int refuse_twins(const ds_result *a, const ds_result *b, ds_error *e)
{
    char versions[120] = "";
    const char *x = a->env_version != NULL ? a->env_version : "",
               *y = b->env_version != NULL ? b->env_version : "";
    if (strcmp(x, y) != 0) {
        snprintf(versions, sizeof versions, ", on versions %.40s and %.40s of the environment", x, y);
    }
    return ds_fail(e, DS_EXIT_CONFIG,
                   "%.250s and %.250s both describe %.60s/%.60s, seed %" PRIu64
                   ", but best losses are %s and %s, budgets "
                   "%" PRIu64 " and %" PRIu64 "%s: leave one of them out",
                   ds_result_where(a), ds_result_where(b), a->env, a->opt, a->seed, DS_TEXT_OF(a->best_loss),
                   DS_TEXT_OF(b->best_loss), a->budget, b->budget, versions);
}

/* Is row `at` one of the runs from `first` on that stay? 1, 0, or -1 after filling *e. */
static int is_known(const ds_run_results *r, size_t first, size_t end, size_t at, const char *dropped,
                    ds_error *e)
{
    const ds_result *row = &r->item[at], *other = NULL;
    for (size_t i = first; i < end; i++) {
        const ds_result *b = &r->item[i];
        if (dropped[i] || !ds_result_is_finished(b) || (b->table != NULL && i >= at) || !may_be_one(row, b)) {
            continue;
        }
        if (is_one(row, b)) {
            return 1;
        }
        other = other == NULL ? b : other;
    }
    return other == NULL ? 0 : (refuse_twins(other, row, e), -1);
}

static int mark_repeated(const ds_run_results *r, char *dropped, ds_error *e)
{
    for (size_t i = 0, end; i < r->count; i = end) {
        for (end = i; end < r->count && same_cell_and_seed(&r->item[i], &r->item[end]); end++) {
        }
        for (size_t k = i; k < end; k++) {
            const int row = r->item[k].table != NULL && ds_result_is_finished(&r->item[k]);
            const int known = row ? is_known(r, i, end, k, dropped, e) : 0;
            if (known < 0) {
                return e->status;
            }
            dropped[k] = (char)known;
        }
    }
    return 0;
}

static int drop_repeated(ds_run_results *r, ds_error *e)
{
    char *dropped = calloc(r->count + 1, 1);
    size_t kept = 0;
    int rc = dropped == NULL ? ds_no_memory(e) : mark_repeated(r, dropped, e);
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        if (dropped[i]) {
            ds_result_clear(&r->item[i]);
        } else {
            r->item[kept++] = r->item[i];
        }
    }
    r->count = rc == 0 ? kept : r->count;
    free(dropped);
    return rc;
}

int ds_run_table_settle(ds_run_results *r, ds_error *e)
{
    int rc = drop_repeated(r, e);
    for (size_t i = 0, end; rc == 0 && i < r->count; i = end) {
        end = end_of_env(r, i);
        const ds_result *row = first_of_table(r, i, end);
        if (row != NULL) {
            drop_unfinished(r, i, end, row);
            warn_of_budgets(r, i, end, row);
        }
    }
    return rc;
}

/* ---- selecting cells, as `dshost bench --only` does ---- */

static const char between[] = " \t,";

/* The patterns of a list; `item` points into `text`. */
typedef struct patterns {
    char *text, **item, *used;
    size_t count;
} patterns;

static void patterns_free(patterns *p)
{
    free(p->text);
    free(p->item);
    free(p->used);
}

static int patterns_make(patterns *p, const char *list, ds_error *e)
{
    char *rest = NULL;
    *p = (patterns){strdup(list), calloc(strlen(list) + 1, sizeof *p->item), calloc(strlen(list) + 1, 1), 0};
    if (p->text == NULL || p->item == NULL || p->used == NULL) {
        patterns_free(p);
        return ds_no_memory(e);
    }
    for (char *word = strtok_r(p->text, between, &rest); word != NULL;
         word = strtok_r(NULL, between, &rest)) {
        p->item[p->count++] = word;
    }
    return 0;
}

static int is_wanted(patterns *p, const ds_result *r)
{
    char name[512];
    int found = 0;
    snprintf(name, sizeof name, "%s/%s", r->env, r->opt);
    for (size_t i = 0; i < p->count; i++) {
        const int hit = fnmatch(p->item[i], name, 0) == 0;
        p->used[i] = (char)(p->used[i] | hit);
        found |= hit;
    }
    return found;
}

static void keep(ds_run_results *r, patterns *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (is_wanted(p, &r->item[i])) {
            r->item[kept++] = r->item[i];
        } else {
            r->damaged -= (size_t)r->item[i].damaged;
            ds_result_clear(&r->item[i]);
        }
    }
    r->count = kept;
}

int ds_run_table_only(ds_run_results *const *set, size_t sets, const char *list, ds_error *e)
{
    patterns p;
    char first[256] = "";
    size_t left = 0, all = 0;
    int rc = patterns_make(&p, list, e);
    if (rc != 0) {
        return rc;
    }
    for (size_t s = 0; s < sets; s++) {
        if (all == 0 && set[s]->count > 0) {
            snprintf(first, sizeof first, "%.120s/%.120s", set[s]->item[0].env, set[s]->item[0].opt);
        }
        all += set[s]->count;
        keep(set[s], &p);
        left += set[s]->count;
    }
    for (size_t i = 0; left > 0 && i < p.count; i++) {
        if (!p.used[i]) {
            ds_log(DS_LOG_WARNING, NULL, "--only %s matches no run (cells are named ENV/OPT)", p.item[i]);
        }
    }
    patterns_free(&p);
    return left > 0
               ? 0
               : ds_fail(e, DS_EXIT_USAGE,
                         "--only %.200s matches none of %zu runs (cells are named ENV/OPT; the first is %s)",
                         list, all, first);
}
