/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - runs of tables among those of folders (see run_table.h). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "tables/run_table.h"

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
        tables->count = 0; /* what its runs own is of *r now */
    }
    return 0;
}

/* Where the runs of the environment of run i end: they lie together. */
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
               "%s: %zu unfinished run%s left out: what runs of %s had found after fewer evaluations is not "
               "known",
               row->env, dropped, dropped == 1 ? " is" : "s are", row->table);
    }
}

static void warn_of_budgets(const ds_run_results *r, size_t i, size_t end, const ds_result *row)
{
    for (; i < end; i++) {
        const ds_result *other = &r->item[i];
        if (ds_result_counts(other) && other->budget != row->budget) {
            ds_log(DS_LOG_WARNING, NULL,
                   "%s: runs with different budgets are put side by side as they ended: %s (%" PRIu64
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

/* ---- repeated runs ---- */

static int same_cell_and_seed(const ds_result *a, const ds_result *b)
{
    return a->seed == b->seed && strcmp(a->env, b->env) == 0 && strcmp(a->opt, b->opt) == 0;
}

/* What was pooled here is known by its name; what had been pooled before, by its folder. */
static int is_of_other_variant(const ds_result *a, const ds_result *b)
{
    size_t n = 0, m = 0;
    if (a->variant != NULL && b->variant != NULL) {
        return strcmp(a->variant, b->variant) != 0;
    }
    const char *x = ds_result_variant_folder(a, &n), *y = ds_result_variant_folder(b, &m);
    return n > 0 && m > 0 && (n != m || memcmp(x, y, n) != 0);
}

/* May these be one run, told of twice? Copies of a folder count each, here as in the table that has both. */
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

static int refuse(const ds_result *a, const ds_result *b, ds_error *e)
{
    char versions[120] = "";
    const char *x = a->env_version != NULL ? a->env_version : "",
               *y = b->env_version != NULL ? b->env_version : "";
    if (strcmp(x, y) != 0) {
        snprintf(versions, sizeof versions, ", on versions %.40s and %.40s of the environment", x, y);
    }
    return ds_fail(e, DS_EXIT_CONFIG,
                   "%.250s and %.250s tell of %.60s/%.60s, seed %" PRIu64
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
    return other == NULL ? 0 : (refuse(other, row, e), -1);
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
