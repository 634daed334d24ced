/* SPDX-License-Identifier: Apache-2.0 */
/* report_read.c - the runs that a report is about, of folders and of tables (see report.h). */
#include "config.h"

#include "report/report_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "tables/run_table.h"

static int same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A table that is named twice is read once, as is a folder. */
static int is_repeated(const ds_report_choice *from, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        if (same_file(from->source[i], from->source[k])) {
            return 1;
        }
    }
    return 0;
}

static int read_tables(const ds_report_choice *from, ds_run_results *tables, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->sources; i++) {
        if (ds_run_table_is(from->source[i]) && !is_repeated(from, i)) {
            rc = ds_run_table_read(from->source[i], tables, e);
        }
    }
    return rc;
}

static int read_folders(const ds_report_choice *from, ds_run_results *out, ds_error *e)
{
    const char **folder = calloc(from->sources + 1, sizeof *folder);
    size_t n = 0;
    if (folder == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < from->sources; i++) {
        if (!ds_run_table_is(from->source[i])) {
            folder[n++] = from->source[i];
        }
    }
    int rc = n > 0 ? ds_results_read(folder, n, out, e) : 0;
    free(folder);
    return rc;
}

static int read_all(const ds_report_choice *from, ds_run_results *out, ds_run_results *tables, ds_error *e)
{
    int rc = read_tables(from, tables, e); /* the quicker ones */
    rc = rc != 0 ? rc : read_folders(from, out, e);
    if (rc == 0 && out->count + tables->count == 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%.300s%s holds no run", from->source[0],
                     from->sources > 1 ? ", ..." : "");
    }
    return rc == 0 && from->only != NULL
               ? ds_run_table_only((ds_run_results *const[]){out, tables}, 2, from->only, e)
               : rc;
}

static void tell_unchecked(const ds_run_results *r)
{
    const ds_result *first = NULL;
    const size_t count = ds_results_unchecked(r, &first);
    if (count > 0) {
        ds_log(
            DS_LOG_WARNING, NULL,
            "%zu of %zu records have no checksums (store format 1, the first is %s): damage in their numbers "
            "is not noticed",
            count, ds_report_records(r), first->folder);
    }
}

size_t ds_report_records(const ds_run_results *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        count += r->item[i].table == NULL;
    }
    return count;
}

int ds_report_read(const ds_report_choice *from, ds_run_results *out, ds_error *e)
{
    ds_run_results tables = {NULL, 0, 0};
    *out = (ds_run_results){NULL, 0, 0};
    int rc = read_all(from, out, &tables, e);
    if (rc == 0) {
        ds_results_take_unfinished(out);
        rc = ds_results_disambiguate((ds_run_results *const[]){out}, 1, from->any_version, e);
    }
    rc = rc != 0 ? rc : ds_run_table_join(out, &tables, from->any_version, e);
    if (rc == 0) {
        ds_results_warn_mixed((ds_run_results *const[]){out}, 1);
        tell_unchecked(out);
    }
    if (rc == 0 && from->pool != NULL) {
        rc = ds_results_pool(out, from->pool, e);
        /* What pooling has given one name may differ in more than the pooled key, where rows of tables are
         * in it. */
        rc = rc != 0 ? rc : ds_results_tell_apart((ds_run_results *const[]){out}, 1, from->any_version, e);
    }
    rc = rc != 0 ? rc : ds_run_table_settle(out, e);
    rc = rc == 0 && from->pool != NULL ? ds_results_balance(out, from->pool, e) : rc;
    ds_results_clear(&tables);
    if (rc != 0) {
        ds_results_clear(out);
    }
    return rc;
}
