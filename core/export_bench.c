/* SPDX-License-Identifier: Apache-2.0 */
/* export_bench.c - files of two benchmarking programs.
 *
 * IOHanalyzer: IOHprofiler/IOHanalyzer, data format page of its documentation. COCO: the layout that its
 * logger_bbob writes. Our environments are no function of their suites: funcId is 1, and the optimum is not
 * known. */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "file.h"
#include "folder.h"

enum { NAME_BYTES = 200, COCO_X_DIM = 22 /* x is written below this dimension */ };
static const double PRECISION = 1e-8;

/* All runs must be of one environment and optimizer. */
static int check_same(const ds_export_run *runs, size_t count, ds_error *e)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(runs[i].env, runs[0].env) != 0 || strcmp(runs[i].opt, runs[0].opt) != 0 ||
            runs[i].n != runs[0].n) {
            return ds_fail(e, DS_EXIT_IO, "%s and %s are runs of different environments or optimizers",
                           runs[0].folder, runs[i].folder);
        }
    }
    return 0;
}

static double best_of_all(const ds_export_run *runs, size_t count)
{
    double best = (double)INFINITY;
    for (size_t i = 0; i < count; i++) {
        best = runs[i].best < best ? runs[i].best : best;
    }
    return best;
}

/* What the formats cannot say: where the reference value comes from. */
static int write_note(const ds_export_run *runs, size_t count, const char *folder, const char *format,
                      ds_error *e)
{
    json_t *o = json_object();
    json_t *list = json_array();
    double best = best_of_all(runs, count);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_string(runs[i].folder));
    }
    json_object_set_new(o, "format", json_string(format));
    json_object_set_new(o, "env", json_string(runs[0].env));
    json_object_set_new(o, "opt", json_string(runs[0].opt));
    json_object_set_new(o, "f_opt", isfinite(best) ? json_real(best) : json_null());
    json_object_set_new(o, "f_opt_source",
                        json_string("best loss of the exported runs; the true optimum is not known"));
    json_object_set_new(o, "runs", list);
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    char *path = ds_folder_path(folder, "export.json");
    int rc = text == NULL || path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
                                          : ds_file_write_atomic(path, text, strlen(text), e);
    free(text);
    free(path);
    json_decref(o);
    return rc;
}

/* Opens a file of the folder. */
static int open_in(const char *folder, const char *name, ds_printer **out, ds_error *e)
{
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_printer_open(path, out, e);
    free(path);
    return rc;
}

/* Makes a folder in the folder. */
static int make_in(const char *folder, const char *name, ds_error *e)
{
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_folder_make(path, e);
    free(path);
    return rc;
}

/* ---- IOHanalyzer ---- */

/* One block: a row for each improvement and one for the last evaluation. */
static int ioh_block(ds_export_run *r, ds_printer *p, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    double best = (double)INFINITY;
    uint64_t printed = 0;
    int step = 0;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    ds_print(p, "\"function evaluation\" \"best-so-far f(x)\"\n");
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        if (row.loss < best) {
            best = row.loss;
            printed = row.id;
            ds_print(p, "%llu %.17g\n", (unsigned long long)row.id, best);
        }
    }
    ds_cursor_close(c);
    if (rc == 0 && step == 0 && printed < r->count && isfinite(best)) {
        ds_print(p, "%llu %.17g\n", (unsigned long long)r->count, best);
    }
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

int ds_export_ioh(ds_export_run *runs, size_t count, const char *folder, ds_error *e)
{
    char data[NAME_BYTES];
    ds_printer *p = NULL;
    int rc = check_same(runs, count, e);
    snprintf(data, sizeof(data), "data_f1_%.60s", runs[0].env);
    rc = rc != 0 ? rc : make_in(folder, data, e);
    snprintf(data, sizeof(data), "data_f1_%.60s/IOHprofiler_f1_DIM%llu_i1.dat", runs[0].env,
             (unsigned long long)runs[0].n);
    rc = rc != 0 ? rc : open_in(folder, data, &p, e);
    if (rc == 0) {
        for (size_t i = 0; i < count && rc == 0; i++) {
            rc = ioh_block(&runs[i], p, e);
        }
        rc = ds_printer_close(p, rc, e);
    }
    rc = rc != 0 ? rc : open_in(folder, "IOHprofiler_f1_i1.info", &p, e);
    if (rc == 0) {
        ds_print(p,
                 "suite = 'diffsim', funcId = 1, funcName = '%s', DIM = %llu, maximization = 'F', algId = "
                 "'%s', algInfo = "
                 "'%s'\n%%\n%s",
                 runs[0].env, (unsigned long long)runs[0].n, runs[0].opt, runs[0].opt_version, data);
        for (size_t i = 0; i < count; i++) {
            ds_print(p, ", 1:%llu|%.17g", (unsigned long long)runs[i].count, runs[i].best);
        }
        ds_print(p, "\n");
        rc = ds_printer_close(p, 0, e);
    }
    return rc != 0 ? rc : write_note(runs, count, folder, "ioh", e);
}

/* ---- COCO ---- */

static void coco_row(ds_printer *p, const ds_row *row, double best, double f_opt)
{
    double f = isfinite(row->loss) ? row->loss : (double)NAN;
    ds_print(p, "%llu %+.9e %+.9e %+.9e %+.9e", (unsigned long long)row->id, f - f_opt, best - f_opt, f,
             best);
    for (uint64_t i = 0; i < row->n && row->n < COCO_X_DIM; i++) {
        ds_print(p, " %+5.4e", row->x[i]);
    }
    ds_print(p, "\n");
}

static void coco_head(ds_printer *p, double f_opt)
{
    ds_print(p,
             "%% function evaluation | noise-free fitness - Fopt (%.12e) | best noise-free fitness - Fopt | "
             "measured "
             "fitness | best measured fitness | x1 | x2...\n",
             f_opt);
}

/* Index of the last target 10^(k/5) that is reached by a distance to the optimum; small distances count as
 * PRECISION. */
static int target_index(double distance)
{
    double d = distance < PRECISION ? PRECISION : distance;
    return (int)ceil(5.0 * log10(d) - 1e-9);
}

/* Is this an evaluation count at which the logger writes: 10^(i/20) rounded, or DIM * {1, 2, 5} * 10^i? */
static int is_trigger(uint64_t id, uint64_t n)
{
    double i = ceil(20.0 * log10((double)id) - 1e-9);
    for (double k = i - 1.0; k <= i; k += 1.0) {
        if ((uint64_t)floor(pow(10.0, k / 20.0) + 1e-9) == id) {
            return 1;
        }
    }
    uint64_t q = id % n == 0 ? id / n : 0;
    while (q >= 10 && q % 10 == 0) {
        q /= 10;
    }
    return q == 1 || q == 2 || q == 5;
}

/* Rows at new targets to `dat`, rows at counts to `tdat`. */
static int coco_block(ds_export_run *r, ds_printer *dat, ds_printer *tdat, double f_opt, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    double best = (double)INFINITY;
    int reached = INT32_MAX;
    int step = 0;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    coco_head(dat, f_opt);
    coco_head(tdat, f_opt);
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        best = row.loss < best ? row.loss : best;
        if (isfinite(best) && target_index(best - f_opt) < reached) {
            reached = target_index(best - f_opt);
            coco_row(dat, &row, best, f_opt);
        }
        if (isfinite(best) && (is_trigger(row.id, r->n) || row.id == r->count)) {
            coco_row(tdat, &row, best, f_opt);
        }
    }
    ds_cursor_close(c);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

static int coco_data(ds_export_run *runs, size_t count, const char *folder, const char *base, double f_opt,
                     ds_error *e)
{
    static const char *const ending[] = {"dat", "tdat", "rdat"};
    ds_printer *p[3] = {NULL, NULL, NULL};
    int rc = 0;
    for (int k = 0; k < 3 && rc == 0; k++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof(name), "%.100s.%s", base, ending[k]);
        rc = open_in(folder, name, &p[k], e);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = coco_block(&runs[i], p[0], p[1], f_opt, e);
        coco_head(p[2], f_opt); /* restarts are not marked in our record */
    }
    for (int k = 0; k < 3; k++) {
        if (p[k] != NULL) {
            rc = ds_printer_close(p[k], rc, e);
        }
    }
    return rc;
}

int ds_export_coco(ds_export_run *runs, size_t count, const char *folder, ds_error *e)
{
    char data[NAME_BYTES];
    ds_printer *p = NULL;
    double f_opt = best_of_all(runs, count);
    int rc = check_same(runs, count, e);
    if (rc == 0 && !isfinite(f_opt)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: no evaluation has a loss: nothing to export", runs[0].folder);
    }
    rc = rc != 0 ? rc : make_in(folder, "data_f1", e);
    snprintf(data, sizeof(data), "data_f1/bbobexp_f1_DIM%llu_i1", (unsigned long long)runs[0].n);
    rc = rc != 0 ? rc : coco_data(runs, count, folder, data, f_opt, e);
    rc = rc != 0 ? rc : open_in(folder, "bbobexp_f1_i1.info", &p, e);
    if (rc == 0) {
        ds_print(p,
                 "suite = 'diffsim', funcId = 1, DIM = %llu, Precision = %.3e, algId = '%s', coco_version = "
                 "'2.6.3'\n"
                 "%% %s, dshost %s\n%s.dat",
                 (unsigned long long)runs[0].n, PRECISION, runs[0].opt, runs[0].env, PACKAGE_VERSION, data);
        for (size_t i = 0; i < count; i++) {
            ds_print(p, ", 1:%llu|%.1e", (unsigned long long)runs[i].count, runs[i].best - f_opt);
        }
        ds_print(p, "\n");
        rc = ds_printer_close(p, 0, e);
    }
    return rc != 0 ? rc : write_note(runs, count, folder, "coco", e);
}
