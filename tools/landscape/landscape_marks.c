/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_marks.c - what is drawn on a slice: third-party points, such as published ones, read from a table
 * and kept in the folder as marks.csv; and the evaluations of runs, projected onto the slice. */
#include "config.h"

#include "base/file.h"
#include "base/json_text.h"
#include "landscape/landscape.h"
#include "results/point.h"
#include "results/printer.h"
#include "results/results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bad_line(const ds_landscape *l, const char *path, unsigned line, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%s:%u: %s: give NAME,COORDINATE,%s", path, line, why,
                   l->slice.dims == 1 ? "VALUE (a loss, or 50% of the largest one)" : "COORDINATE");
}

/* The series of this name; NULL if there are too many. */
static ds_mark *series(ds_landscape *l, const char *name)
{
    for (size_t k = 0; k < l->marks; k++) {
        if (strcmp(l->mark[k].name, name) == 0) {
            return &l->mark[k];
        }
    }
    if (l->marks == DS_MARKS_MAX) {
        return NULL;
    }
    ds_mark *m = &l->mark[l->marks++];
    *m = (ds_mark){.count = 0};
    snprintf(m->name, sizeof m->name, "%s", name);
    return m;
}

static int append(ds_mark *m, const double xy[2], int percent)
{
    ds_mark_point *grown = realloc(m->point, (m->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return DS_EXIT_MEMORY;
    }
    m->point = grown;
    m->point[m->count++] = (ds_mark_point){{xy[0], xy[1]}, percent};
    return 0;
}

static int take_line(ds_landscape *l, char *text, const char *path, unsigned line, ds_error *e)
{
    const int plane = l->slice.dims > 1;
    double xy[2];
    text[strcspn(text, "\r\n")] = '\0';
    if (text[0] == '\0' || text[0] == '#') {
        return 0;
    }
    char *second = strrchr(text, ','), *end;
    if (second == NULL) {
        return bad_line(l, path, line, plane ? "no coordinate" : "no value", e);
    }
    *second++ = '\0';
    char *first = strrchr(text, ',');
    if (first == NULL || first == text) {
        return bad_line(l, path, line, "no name, or only one number", e);
    }
    *first++ = '\0';
    xy[0] = strtod(first, &end);
    if (end == first || *end != '\0' || !isfinite(xy[0])) {
        return bad_line(l, path, line,
                        plane ? "the first coordinate is not a number" : "the coordinate is not a number", e);
    }
    xy[1] = strtod(second, &end);
    const int percent = *end == '%' && !plane;
    if (end == second || end[percent] != '\0' || !isfinite(xy[1])) {
        return bad_line(l, path, line,
                        plane ? "the second coordinate is not a number" : "the value is not a number", e);
    }
    if (strlen(text) >= DS_MARK_NAME) {
        return bad_line(l, path, line, "the name is too long", e);
    }
    ds_mark *m = series(l, text);
    if (m == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s:%u: more than %d names: use fewer", path, line, DS_MARKS_MAX);
    }
    return append(m, xy, percent) == 0 ? 0 : ds_fail(e, DS_EXIT_MEMORY, "out of memory for %s", path);
}

int ds_landscape_read_marks(ds_landscape *l, const char *path, ds_error *e)
{
    char *own = path == NULL ? ds_folder_path(l->session.folder, "marks.csv") : NULL, *text = NULL;
    const char *from = path != NULL ? path : own;
    size_t room = 0;
    int fd = from != NULL ? ds_file_open_input(from) : -1;
    int rc = from != NULL ? 0 : ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    if (rc == 0 && fd < 0 && (path != NULL || errno != ENOENT)) {
        rc = ds_fail(e, DS_EXIT_CONFIG, "%s: %s", from, ds_file_input_error(errno));
    }
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && f == NULL) {
        close(fd);
        rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory for %s", from);
    }
    for (unsigned line = 1; f != NULL && rc == 0 && getline(&text, &room, f) >= 0; line++) {
        rc = take_line(l, text, from, line, e);
    }
    if (f != NULL) {
        fclose(f);
    }
    free(text);
    free(own);
    return rc;
}

double ds_mark_value(const ds_landscape *l, const ds_mark_point *p)
{
    return p->percent ? 0.01 * p->xy[1] * l->measures.loss.loss.max : p->xy[1];
}

int ds_landscape_write_marks(const ds_landscape *l, ds_error *e)
{
    char *path = l->marks > 0 ? ds_folder_path(l->session.folder, "marks.csv") : NULL;
    ds_printer *p = NULL;
    if (l->marks == 0) {
        return 0;
    }
    int rc = path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_printer_open(path, &p, e);
    for (size_t k = 0; rc == 0 && k < l->marks; k++) {
        for (uint64_t i = 0; i < l->mark[k].count; i++) {
            const ds_mark_point *q = &l->mark[k].point[i];
            ds_print(p, "%s,%.17g,%.17g%s\n", l->mark[k].name, q->xy[0], q->xy[1], q->percent ? "%" : "");
        }
    }
    rc = p != NULL ? ds_printer_close(p, rc, e) : rc;
    free(path);
    return rc;
}

json_t *ds_landscape_marks_json(const ds_landscape *l)
{
    json_t *all = json_array();
    for (size_t k = 0; k < l->marks; k++) {
        json_t *points = json_array();
        for (uint64_t i = 0; i < l->mark[k].count; i++) {
            const ds_mark_point *q = &l->mark[k].point[i];
            json_array_append_new(points, ds_json_reals((double[]){q->xy[0], ds_mark_value(l, q)}, 2));
        }
        json_array_append_new(all, ds_json_object((ds_json_entry[]){{"name", ds_json_text(l->mark[k].name)},
                                                                    {"points", points},
                                                                    {NULL, NULL}}));
    }
    return all;
}

void ds_landscape_free_marks(ds_landscape *l)
{
    for (size_t k = 0; k < l->marks; k++) {
        free(l->mark[k].point);
    }
    l->marks = 0;
}

/* ---- runs ---- */

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
                 ? ds_fail(e, DS_EXIT_CONFIG, "%s holds no run (there is no run.sqlite)", what)
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
        return ds_fail(
            e, DS_EXIT_USAGE,
            "--path %.200s: a run is drawn on a plane, but this slice is a line: name a second axis",
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
