/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - opening runs for export, and writing text files in pieces. */
#include "config.h"

#include "results/export.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "results/results.h"
#include "store/run_folder.h"

/* ---- runs ---- */

static int read_texts(ds_export_run *r, ds_error *e)
{
    const struct {
        const char *key;
        char **to;
    } fact[] = {{"env", &r->env},
                {"opt", &r->opt},
                {"env_version", &r->env_version},
                {"opt_version", &r->opt_version}};
    int rc = 0;
    for (size_t i = 0; i < sizeof(fact) / sizeof(fact[0]) && rc == 0; i++) {
        rc = ds_store_get(r->store, fact[i].key, fact[i].to, e);
        if (rc == 0 && *fact[i].to == NULL) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: '%s' is missing", ds_store_path(r->store), fact[i].key);
        }
    }
    return rc;
}

static int read_seed(ds_export_run *r, ds_error *e)
{
    ds_settings s = {0};
    int rc = ds_store_get_settings(r->store, &s, e);
    const ds_setting *seed = ds_settings_find(&s, DS_SECTION_RUN, "seed");
    if (rc == 0 && seed != NULL) {
        r->seed = strtoull(seed->value, NULL, 10);
    }
    ds_settings_clear(&s);
    return rc;
}

/* Of a landscape the store has coordinates, not variables. */
static int read_names(ds_export_run *r, ds_error *e)
{
    uint64_t count = 0;
    int rc = ds_store_get_variables(r->store, &r->variables, &count, e);
    return rc != 0 || r->variables == NULL || count == r->n
               ? rc
               : ds_fail(e, DS_EXIT_IO, "%s: damaged: the names of its variables", ds_store_path(r->store));
}

void ds_export_plain(ds_export_run *r)
{
    free(r->variables);
    r->variables = NULL;
}

/* Takes the new names of a report. */
static int note_scalars(void *ctx, uint64_t id, const ds_row_progress *p)
{
    ds_export_run *r = ctx;
    (void)id;
    char name[DS_MAX_NAME + 1];
    for (const char *at = p->names; (at = ds_progress_name(at, name)) != NULL;) {
        size_t k = 0;
        while (k < r->scalars && strcmp(r->scalar[k], name) != 0) {
            k++;
        }
        if (k == r->scalars) {
            void *grown = realloc(r->scalar, (k + 1) * sizeof *r->scalar);
            if (grown == NULL) {
                return DS_EXIT_MEMORY;
            }
            r->scalar = grown;
            memcpy(r->scalar[r->scalars++], name, sizeof name);
        }
    }
    return 0;
}

/* One pass over all evaluations. */
static int survey(ds_export_run *r, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    int step = 0;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    r->best = (double)INFINITY;
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        r->gradients |= row.grad != NULL;
        r->count++;
        if (row.answer.loss < r->best) {
            r->best = row.answer.loss;
            r->best_id = row.id;
        }
    }
    ds_cursor_close(c);
    rc = rc != 0 || step < 0 ? rc : ds_store_scan_progress(r->store, note_scalars, r, e);
    return rc == DS_EXIT_MEMORY ? ds_no_memory(e) : rc != 0 ? rc : step < 0 ? e->status : 0;
}

void ds_export_sleep(ds_export_run *r)
{
    ds_store_close(r->store, NULL);
    r->store = NULL;
}

int ds_export_wake(ds_export_run *r, ds_error *e)
{
    return r->store != NULL ? 0 : ds_result_store(r->folder, &r->store, e);
}

int ds_export_open(const char *folder, ds_export_run *out, ds_error *e)
{
    int is_run = ds_folder_has_run(folder);
    char *path = ds_folder_path(folder, is_run ? "run.sqlite" : "landscape.sqlite");
    memset(out, 0, sizeof(*out));
    out->folder = strdup(folder);
    int rc = 0;
    if (path == NULL || out->folder == NULL) {
        rc = ds_no_memory(e);
    } else if (!is_run && !ds_folder_has_landscape(folder)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s holds no run (there is no run.sqlite)", folder);
    }
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_READ, &out->store, e);
    rc = rc != 0 ? rc : ds_store_verify(out->store, e);
    rc = rc != 0 ? rc : read_texts(out, e);
    rc = rc != 0 ? rc : read_seed(out, e);
    if (rc == 0) {
        out->n = ds_store_n(out->store);
        rc = is_run ? read_names(out, e) : 0;
        rc = rc != 0 ? rc : survey(out, e);
    }
    free(path);
    if (rc != 0) {
        ds_export_close(out);
    }
    return rc;
}

void ds_export_close(ds_export_run *r)
{
    ds_store_close(r->store, NULL);
    free(r->variables);
    free(r->scalar);
    free(r->folder);
    free(r->env);
    free(r->opt);
    free(r->env_version);
    free(r->opt_version);
    memset(r, 0, sizeof(*r));
}
