/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_run_path.c - the evaluations of a run, projected onto a slice. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_internal.h"
#include "results/results.h"
#include "results/point.h"

static int read_rows(const ds_landscape *l, ds_store *store, ds_run_path *t, ds_error *e)
{
    ds_cursor *cursor = NULL;
    ds_row row;
    uint64_t count = 0;
    int step = 0;
    int rc = ds_store_count(store, &count, e);
    if (rc == 0) {
        t->c = malloc((2 * count + 1) * sizeof *t->c);
        t->distance = malloc((count + 1) * sizeof *t->distance);
        t->loss = malloc((count + 1) * sizeof *t->loss);
        rc = t->c == NULL || t->distance == NULL || t->loss == NULL
                 ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
                 : ds_cursor_open(store, 1, &cursor, e);
    }
    while (rc == 0 && t->count < count && (step = ds_cursor_next(cursor, &row, e)) == 1) {
        t->distance[t->count] = ds_slice_project(&l->slice, row.x, t->c + 2 * t->count);
        t->loss[t->count] = row.answer.loss;
        t->count++;
    }
    ds_cursor_close(cursor);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

/* "cmaes seed 3" */
static void title_of(ds_store *store, ds_run_path *t)
{
    char *opt = NULL;
    ds_settings s;
    memset(&s, 0, sizeof s);
    ds_store_get(store, "opt", &opt, NULL);
    const ds_setting *seed =
        ds_store_get_settings(store, &s, NULL) == 0 ? ds_settings_find(&s, DS_SECTION_RUN, "seed") : NULL;
    snprintf(t->title, sizeof t->title, "%.40s seed %.20s", opt != NULL ? opt : "?",
             seed != NULL ? seed->value : "0");
    ds_settings_clear(&s);
    free(opt);
}

static int read_trail(const ds_landscape *l, const char *folder, ds_run_path *t, ds_error *e)
{
    ds_store *store = NULL;
    char what[300];
    snprintf(what, sizeof what, "--path %.200s", folder);
    t->folder = strdup(folder);
    int rc = t->folder == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
             : !ds_folder_has_run(folder)
                 ? ds_fail(e, DS_EXIT_CONFIG, "%s: there is no run (no run.sqlite)", what)
                 : ds_result_whole(folder, &store, e);
    rc = rc != 0 ? rc
                 : ds_provenance_compare(store, what, l->session.env_module->id, l->session.env->params, e);
    if (rc == 0 && ds_store_n(store) != l->slice.n) {
        rc = ds_point_wrong_count(what, l->session.env_module->id, ds_store_n(store), l->slice.n, e);
    }
    rc = rc != 0 ? rc : read_rows(l, store, t, e);
    if (rc == 0) {
        title_of(store, t);
    }
    ds_store_close(store, NULL);
    return rc;
}

int ds_landscape_read_trails(ds_landscape *l, const char *const *folders, size_t count, ds_error *e)
{
    int rc = 0;
    if (count > 0 && l->slice.dims < 2) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "--path %.200s: a run is drawn on a plane, this slice is a line: give a second axis",
                       folders[0]);
    }
    l->trail = calloc(count + 1, sizeof *l->trail);
    if (l->trail == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    for (size_t k = 0; k < count && rc == 0; k++) {
        l->trails = k + 1;
        rc = read_trail(l, folders[k], &l->trail[k], e);
    }
    return rc;
}

void ds_landscape_free_trails(ds_landscape *l)
{
    for (size_t k = 0; k < l->trails; k++) {
        free(l->trail[k].folder);
        free(l->trail[k].c);
        free(l->trail[k].distance);
        free(l->trail[k].loss);
    }
    free(l->trail);
}
