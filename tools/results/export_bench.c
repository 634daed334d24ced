/* SPDX-License-Identifier: Apache-2.0 */
/* export_bench.c - files for two benchmarking programs, one folder per optimizer.
 *
 * IOHanalyzer: the layout of IOHexperimenter, a .json file per environment with a table of the best loss so
 * far. COCO: the layout of its logger_bbob. Environments are functions 1, 2, ... with unknown optimum. */
#include "config.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "results/export.h"
#include "results/printer.h"
#include "store/run_folder.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 200,
    COCO_X_DIM = 22,    /* x is written below this dimension */
    COCO_FUNCTIONS = 24 /* of suite bbob: its post-processing knows no other suite */
};
static const double PRECISION = 1e-8;

/* An export in progress. */
typedef struct work {
    const ds_export_set *set;
    const char *folder;
    json_t *files; /* names of all files written, relative to the folder */
} work;

/* Best loss of all runs of an environment: replaces the unknown optimum. */
static double best_of_env(const ds_export_set *set, const char *env)
{
    double best = (double)INFINITY;
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->run[i].env, env) == 0 && set->run[i].best < best) {
            best = set->run[i].best;
        }
    }
    return best;
}

/* Writes what the formats cannot express to a file next to the folder, where other programs do not look:
 * which function is which environment, and the origin of the reference values. */
static int write_note(const work *w, const char *format, ds_error *e)
{
    const ds_export_set *set = w->set;
    json_t *o = json_object();
    json_t *functions = json_array();
    json_t *runs = json_array();
    for (size_t k = 0; k < set->functions; k++) {
        double best = best_of_env(set, set->function[k]);
        json_array_append_new(functions, json_pack("{s:I, s:o, s:o}", "id", (json_int_t)k + 1, "env",
                                                   ds_json_text(set->function[k]), "f_opt",
                                                   isfinite(best) ? json_real(best) : json_null()));
    }
    for (size_t i = 0; i < set->count; i++) {
        json_array_append_new(runs, ds_json_text(set->run[i].folder));
    }
    json_object_set_new(o, "format", json_string(format));
    json_object_set_new(o, "functions", functions);
    json_object_set_new(o, "f_opt_source",
                        json_string("best loss of the exported runs; the true optimum is not known"));
    json_object_set_new(o, "runs", runs);
    json_object_set(o, "files", w->files);
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    char *path = NULL;
    int rc = text == NULL || asprintf(&path, "%s.json", w->folder) < 0
                 ? ds_no_memory(e)
                 : ds_file_write_atomic(path, text, strlen(text), e);
    free(text);
    free(path);
    json_decref(o);
    return rc;
}

/* Opens a file in the folder or a subfolder. */
static int open_in(const work *w, const char *folder, const char *name, ds_printer **out, ds_error *e)
{
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(e) : ds_printer_open(path, out, e);
    if (rc == 0) {
        json_array_append_new(w->files, ds_json_text(path + strlen(w->folder) + 1));
    }
    free(path);
    return rc;
}

/* Makes a subfolder. */
static int make_in(const char *folder, const char *name, ds_error *e)
{
    char *path = ds_folder_path(folder, name);
    int rc = path == NULL ? ds_no_memory(e) : ds_folder_make_below(folder, path, e);
    free(path);
    return rc;
}

/* ---- runs by optimizer and environment ---- */

/* Length of the next part of the set with the same optimizer (and environment, if `env` is set); 0 = none.
 * The set is sorted by optimizer, then environment. */
static size_t part_length(const ds_export_set *set, size_t first, int env)
{
    size_t n = 0;
    while (first + n < set->count && strcmp(set->run[first + n].opt, set->run[first].opt) == 0 &&
           (!env || strcmp(set->run[first + n].env, set->run[first].env) == 0)) {
        n++;
    }
    return n;
}

static size_t function_of(const ds_export_set *set, const char *env)
{
    size_t k = 0;
    while (strcmp(set->function[k], env) != 0) {
        k++;
    }
    return k + 1;
}

typedef int write_function(const work *w, size_t first, size_t count, const char *folder, ds_error *e);

/* Checks the runs before an earlier export is removed. */
static int check_all(const ds_export_set *set, int need_losses, ds_error *e)
{
    for (size_t i = 0, n; i < set->count; i += n) {
        n = part_length(set, i, 1);
        for (size_t k = i; k < i + n; k++) {
            if (set->run[k].n != set->run[i].n) {
                return ds_fail(e, DS_EXIT_IO,
                               "%s and %s have the same name but different numbers of variables",
                               set->run[i].folder, set->run[k].folder);
            }
        }
        if (need_losses && !isfinite(best_of_env(set, set->run[i].env))) {
            return ds_fail(e, DS_EXIT_IO, "%s: no evaluation has a loss: nothing to export",
                           set->run[i].folder);
        }
    }
    return 0;
}

/* Calls `write` for the runs of every optimizer on every environment, with the folder itself for a single
 * optimizer, else with one subfolder each. */
static int for_all(const work *w, write_function *write, ds_error *e)
{
    const ds_export_set *set = w->set;
    int several = part_length(set, 0, 0) < set->count;
    int rc = 0;
    for (size_t i = 0; i < set->count && rc == 0;) {
        size_t n = part_length(set, i, 1);
        char *place = several ? ds_folder_path(w->folder, set->run[i].opt) : strdup(w->folder);
        rc = place == NULL ? ds_no_memory(e) : ds_folder_make_below(w->folder, place, e);
        rc = rc != 0 ? rc : write(w, i, n, place, e);
        free(place);
        i += n;
    }
    return rc;
}

/* ---- IOHanalyzer ---- */

/* One block: the first evaluation, each improvement, and the last one. */
static int ioh_block(ds_export_run *r, ds_printer *p, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    double best = (double)INFINITY;
    int step = 0;
    int rc = ds_export_wake(r, e);
    rc = rc != 0 ? rc : ds_cursor_open(r->store, 1, &c, e);
    ds_print(p, "evaluations raw_y\n");
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        int better = row.answer.loss < best;
        best = better ? row.answer.loss : best;
        if (better || row.id == 1 || row.id == r->count) {
            ds_print(p, isfinite(best) ? "%llu %.17g\n" : "%llu inf\n", (unsigned long long)row.id, best);
        }
    }
    ds_cursor_close(c);
    ds_export_sleep(r);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

/* {"evals": ..., "y": ..., "x": [...]} of the best evaluation. */
static json_t *ioh_best(ds_export_run *r, ds_error *e)
{
    json_t *o = json_object();
    ds_cursor *c = NULL;
    ds_row row;
    json_object_set_new(o, "evals", json_integer((json_int_t)r->best_id));
    json_object_set_new(o, "y", ds_json_real(r->best));
    if (r->best_id > 0 && ds_export_wake(r, e) == 0 && ds_cursor_open(r->store, r->best_id, &c, e) == 0 &&
        ds_cursor_next(c, &row, e) == 1) {
        json_object_set_new(o, "x", ds_json_reals(row.x, row.n));
    } else {
        json_object_set_new(o, "x", json_array());
    }
    ds_cursor_close(c);
    ds_export_sleep(r);
    return o;
}

static json_t *ioh_runs(const ds_export_set *set, size_t first, size_t count, ds_error *e)
{
    json_t *list = json_array();
    for (size_t i = first; i < first + count; i++) {
        json_t *o = json_pack("{s:o, s:I, s:o}", "instance", json_integer(1), "evals",
                              (json_int_t)set->run[i].count, "best", ioh_best(&set->run[i], e));
        json_array_append_new(list, o);
    }
    return list;
}

/* Bytes of a name that a file name uses: at most 60, of whole characters. */
static int short_length(const char *name)
{
    const size_t all = strlen(name);
    size_t used = 0, next = 0;
    while (next <= 60) {
        used = next;
        const size_t more = used < all ? ds_utf8_length(name + used, all - used) : 0;
        if (used == all) {
            break;
        }
        next += more > 0 ? more : 1;
    }
    return (int)used;
}

static int ioh_function(const work *w, size_t first, size_t count, const char *folder, ds_error *e)
{
    const ds_export_set *set = w->set;
    const ds_export_run *r = &set->run[first];
    size_t id = function_of(set, r->env);
    char data[NAME_BYTES], table[NAME_BYTES], index[NAME_BYTES];
    ds_printer *p = NULL;
    const int length = short_length(r->env);
    snprintf(data, sizeof(data), "data_f%zu_%.*s", id, length, r->env);
    snprintf(table, sizeof(table), "%.100s/IOHprofiler_f%zu_DIM%llu.dat", data, id, (unsigned long long)r->n);
    snprintf(index, sizeof(index), "IOHprofiler_f%zu_%.*s.json", id, length, r->env);
    int rc = make_in(folder, data, e);
    rc = rc != 0 ? rc : open_in(w, folder, table, &p, e);
    if (rc == 0) {
        for (size_t i = first; i < first + count && rc == 0; i++) {
            rc = ioh_block(&set->run[i], p, e);
        }
        rc = ds_printer_close(p, rc, e);
    }
    if (rc != 0) {
        return rc;
    }
    /* "evaluations" is not an attribute, because the reader in R would then number the rows itself. */
    json_t *scenario = json_pack("{s:I, s:s, s:o}", "dimension", (json_int_t)r->n, "path", table, "runs",
                                 ioh_runs(set, first, count, e));
    json_t *o = json_pack("{s:s, s:s, s:I, s:s, s:b, s:{s:s, s:s}, s:[], s:[s], s:[o]}", "version", "1.0.0",
                          "suite", "diffsim", "function_id", (json_int_t)id, "function_name", r->env,
                          "maximization", 0, "algorithm", "name", r->opt, "info", r->opt_version,
                          "experiment_attributes", "attributes", "raw_y", "scenarios", scenario);
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    rc = text == NULL ? ds_no_memory(e) : open_in(w, folder, index, &p, e);
    if (rc == 0) {
        ds_print_text(p, text);
        rc = ds_printer_close(p, 0, e);
    }
    free(text);
    json_decref(o);
    return rc;
}

/* Writes all files in place of an earlier export, and the note, which after a failure lists what was written.
 */
static int write_all(const ds_export_set *set, const char *folder, const char *format, write_function *write,
                     ds_error *e)
{
    const work w = {set, folder, json_array()};
    ds_error second = {0};
    int rc = w.files == NULL ? ds_no_memory(e) : check_all(set, strcmp(format, "coco") == 0, e);
    rc = rc != 0 ? rc : ds_export_remove_earlier(folder, e);
    if (rc == 0) {
        rc = for_all(&w, write, e);
        if (rc == 0) {
            rc = write_note(&w, format, e);
        } else if (json_array_size(w.files) > 0) {
            write_note(&w, format, &second);
        }
    }
    json_decref(w.files);
    return rc;
}

int ds_export_ioh(const ds_export_set *set, const char *folder, ds_error *e)
{
    return write_all(set, folder, "ioh", ioh_function, e);
}

/* ---- COCO ---- */

static void coco_row(ds_printer *p, const ds_row *row, double best, double f_opt)
{
    double f = isfinite(row->answer.loss) ? row->answer.loss : (double)NAN;
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
             "measured fitness | best measured fitness | x1 | x2...\n",
             f_opt);
}

/* Index of the last target 10^(k/5) that a distance to the optimum reaches; distances count as >= PRECISION.
 */
static int target_index(double distance)
{
    double d = distance < PRECISION ? PRECISION : distance;
    return (int)ceil(5.0 * log10(d) - 1e-9);
}

/* Does the logger write at this evaluation: 10^(i/20) rounded, or DIM * {1, 2, 5} * 10^i? */
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

/* Writes rows at new targets to `dat`, rows at these counts to `tdat`. */
static int coco_block(ds_export_run *r, ds_printer *dat, ds_printer *tdat, double f_opt, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    double best = (double)INFINITY;
    int reached = INT32_MAX;
    int step = 0;
    int rc = ds_export_wake(r, e);
    rc = rc != 0 ? rc : ds_cursor_open(r->store, 1, &c, e);
    coco_head(dat, f_opt);
    coco_head(tdat, f_opt);
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        best = row.answer.loss < best ? row.answer.loss : best;
        if (isfinite(best) && target_index(best - f_opt) < reached) {
            reached = target_index(best - f_opt);
            coco_row(dat, &row, best, f_opt);
        }
        if (isfinite(best) && (is_trigger(row.id, r->n) || row.id == r->count)) {
            coco_row(tdat, &row, best, f_opt);
        }
    }
    ds_cursor_close(c);
    ds_export_sleep(r);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

static int coco_data(const work *w, ds_export_run *runs, size_t count, const char *folder, const char *base,
                     double f_opt, ds_error *e)
{
    static const char *const ending[] = {"dat", "tdat", "rdat"};
    ds_printer *p[3] = {NULL, NULL, NULL};
    int rc = 0;
    for (int k = 0; k < 3 && rc == 0; k++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof(name), "%.100s.%s", base, ending[k]);
        rc = open_in(w, folder, name, &p[k], e);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = coco_block(&runs[i], p[0], p[1], f_opt, e);
        coco_head(p[2], f_opt); /* the record does not mark restarts */
    }
    for (int k = 0; k < 3; k++) {
        if (p[k] != NULL) {
            rc = ds_printer_close(p[k], rc, e);
        }
    }
    return rc;
}

static int coco_function(const work *w, size_t first, size_t count, const char *folder, ds_error *e)
{
    const ds_export_set *set = w->set;
    ds_export_run *runs = &set->run[first];
    size_t id = function_of(set, runs->env);
    double f_opt = best_of_env(set, runs->env);
    char place[NAME_BYTES], data[NAME_BYTES], index[NAME_BYTES];
    ds_printer *p = NULL;
    snprintf(place, sizeof(place), "data_f%zu", id);
    snprintf(data, sizeof(data), "data_f%zu/bbobexp_f%zu_DIM%llu_i1", id, id, (unsigned long long)runs[0].n);
    snprintf(index, sizeof(index), "bbobexp_f%zu_i1.info", id);
    int rc = make_in(folder, place, e);
    rc = rc != 0 ? rc : coco_data(w, runs, count, folder, data, f_opt, e);
    rc = rc != 0 ? rc : open_in(w, folder, index, &p, e);
    if (rc == 0) {
        ds_print(p,
                 "suite = 'bbob', funcId = %zu, DIM = %llu, Precision = %.3e, algId = '%s', coco_version = "
                 "'2.6.3'\n"
                 "%% %s, dshost %s\n%s.dat",
                 id, (unsigned long long)runs[0].n, PRECISION, runs[0].opt, runs[0].env, PACKAGE_VERSION,
                 data);
        for (size_t i = 0; i < count; i++) {
            ds_print(p, ", 1:%llu|%.1e", (unsigned long long)runs[i].count, runs[i].best - f_opt);
        }
        ds_print(p, "\n");
        rc = ds_printer_close(p, 0, e);
    }
    return rc;
}

int ds_export_coco(const ds_export_set *set, const char *folder, ds_error *e)
{
    if (set->functions > COCO_FUNCTIONS) {
        return ds_fail(e, DS_EXIT_IO,
                       "COCO's post-processing knows %d functions, but these are runs of %zu environments: "
                       "export them in parts",
                       COCO_FUNCTIONS, set->functions);
    }
    return write_all(set, folder, "coco", coco_function, e);
}
