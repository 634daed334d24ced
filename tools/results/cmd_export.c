/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c - `dshost export`: the records of all runs in a folder in another format. */
#include "config.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "results/export.h"
#include "results/results.h"
#include "store/run_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    const char *folder, *format, *out;
    int no_times, plain, any_version;
} request;

static const char usage[] =
    "usage: dshost export DIR --format csv|jsonl|npz|ioh|coco [OPTIONS]\n"
    "\n"
    "Writes the evaluations of the runs in DIR in another format: tables to export/ in the folder of each "
    "run,\n"
    "folders for comparisons to DIR/export/.\n"
    "\n"
    "  --format F    csv, jsonl, npz: one table per run; ioh, coco: a folder of finished runs for "
    "IOHanalyzer or COCO,\n"
    "                with one folder per optimizer if there are several; it replaces an earlier export\n"
    "  --out PATH    write there instead; - is the standard output (csv, jsonl)\n"
    "  --no-times    leave out the columns that differ from run to run (wall_s, at)\n"
    "  --plain       name the variables x0, x1, ... instead of using the environment's names\n"
    "  --any-version do not separate runs on different versions of an environment (ioh, coco)\n";

/* The ending of a file's name must match the format; a name without an ending matches all. */
static int check_out(const request *q, ds_error *e)
{
    static const struct {
        const char *format, *ending[4];
    } tables[] = {{"csv", {"csv", "txt", ""}}, {"jsonl", {"jsonl", "ndjson", ""}}, {"npz", {"npz", ""}}};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        if (strcmp(q->format, tables[k].format) == 0 && !ds_text_ends_with(q->out, tables[k].ending)) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "export: --out %.200s: --format %s writes a file that ends with .%s", q->out,
                           q->format, tables[k].ending[0]);
        }
    }
    return 0;
}

static const char *const formats[] = {"csv", "jsonl", "npz", "ioh", "coco"};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"format", .text = &q->format},
                             {"out", .text = &q->out},
                             {"no-times", .set = &q->no_times},
                             {"plain", .set = &q->plain},
                             {"any-version", .set = &q->any_version},
                             {"help", .usage = usage},
                             {0}};
    *q = (request){0};
    int rc = ds_arguments_read(argc, argv, "export", flags, -1, q, e);
    if (rc != 0) {
        return rc;
    }
    if (optind >= argc) {
        return ds_fail(e, DS_EXIT_USAGE, "export: name the result folder: dshost export DIR --format csv");
    }
    q->folder = argv[optind++];
    if (q->format == NULL) {
        return ds_fail(e, DS_EXIT_USAGE, "export: name a --format: csv, jsonl, npz, ioh or coco");
    }
    int known = 0;
    for (int k = 0; k < FORMATS; k++) {
        known |= strcmp(q->format, formats[k]) == 0;
    }
    if (!known) {
        return ds_fail(e, DS_EXIT_USAGE, "export: unknown format '%.40s': use csv, jsonl, npz, ioh or coco",
                       q->format);
    }
    ds_file_named(q->out);
    rc = q->out != NULL ? check_out(q, e) : 0;
    return rc != 0 ? rc : ds_arguments_end(argc, argv, "export", e);
}

/* Comparisons use finished runs only: the best loss and the end of an interrupted run would pass for the
 * optimum and the end of a finished one. */
static int keep_finished(ds_run_results *r, const char *folder, int any_version, ds_error *e)
{
    int rc = ds_results_disambiguate((ds_run_results *const[]){r}, 1, any_version, e);
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        const ds_result *run = &r->item[i];
        if (!ds_result_is_finished(run) && !run->damaged) { /* damaged runs have been reported already */
            ds_log(DS_LOG_WARNING, NULL, "left out: %s did not finish: %s, %llu evaluations", run->folder,
                   ds_result_open_reason(run), (unsigned long long)run->evaluations);
        }
    }
    if (rc == 0) {
        ds_results_keep_finished(r, NULL);
        rc = r->count == 0 ? ds_fail(e, DS_EXIT_IO, "%s holds no finished run", folder) : 0;
    }
    return rc;
}

/* Opens all runs in the folder, with their names in the experiment. */
static int open_all(const request *q, int finished, ds_export_run **out, size_t *count, size_t *damaged,
                    ds_error *e)
{
    ds_run_results found;
    const char *folder = q->folder, *const folders[] = {folder};
    *count = 0;
    if (ds_folder_has_landscape(folder)) {
        *out = calloc(1, sizeof(**out));
        int failed = *out == NULL ? ds_no_memory(e) : ds_export_open(folder, *out, e);
        *count = failed == 0;
        return failed;
    }
    int rc = ds_results_read(folders, 1, &found, e);
    if (rc != 0) {
        return rc;
    }
    rc = finished ? keep_finished(&found, folder, q->any_version, e) : 0;
    *out = calloc(found.count, sizeof(**out));
    rc = rc != 0 ? rc : *out == NULL ? ds_no_memory(e) : 0;
    *damaged = finished && rc == 0 ? found.damaged : 0; /* these are reported and dropped */
    for (size_t i = 0; i < found.count && rc == 0; i++) {
        ds_export_run *r = &(*out)[*count];
        rc = ds_export_open(found.item[i].folder, r, e);
        if (rc == DS_EXIT_IO && found.count > 1) {
            ds_log(DS_LOG_WARNING, NULL, "left out: %s", e->text);
            *damaged += 1;
            rc = 0;
        } else if (rc == 0) {
            ds_export_sleep(r);
            free(r->env);
            free(r->opt);
            r->env = strdup(found.item[i].env);
            r->opt = strdup(found.item[i].opt);
            rc = r->env == NULL || r->opt == NULL ? ds_no_memory(e) : 0;
            *count += 1;
        }
    }
    ds_results_clear(&found);
    return rc;
}

/* One table per run: DIR/export/evaluations.FORMAT. */
static int export_table(const request *q, ds_export_run *r, const char *name, ds_error *e)
{
    if (strcmp(q->format, "csv") == 0) {
        return ds_export_csv(r, name, !q->no_times, e);
    }
    if (strcmp(q->format, "jsonl") == 0) {
        return ds_export_jsonl(r, name, !q->no_times, e);
    }
    if (strcmp(name, "-") == 0) {
        return ds_fail(e, DS_EXIT_USAGE, "export: --format npz cannot be written to the standard output");
    }
    return ds_export_npz(r, name, !q->no_times, e);
}

static int export_tables(const request *q, ds_export_run *runs, size_t count, ds_error *e)
{
    int rc = 0;
    if (q->out != NULL && count > 1) {
        return ds_fail(e, DS_EXIT_USAGE, "export: --out with --format %s takes one run, but %s holds %zu",
                       q->format, q->folder, count);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        char *folder = ds_folder_path(runs[i].folder, "export");
        if (q->plain) {
            ds_export_plain(&runs[i]);
        }
        char *name = NULL;
        rc = folder == NULL || asprintf(&name, "%s/evaluations.%s", folder, q->format) < 0
                 ? ds_no_memory(e)
                 : ds_export_wake(&runs[i], e);
        if (rc != 0) {
            /* nothing to write */
        } else if (q->out != NULL) {
            rc = export_table(q, &runs[i], q->out, e);
        } else {
            rc = ds_folder_make_below(runs[i].folder, folder, e);
            rc = rc != 0 ? rc : export_table(q, &runs[i], name, e);
            if (rc == 0) {
                printf("%s\n", name);
            }
        }
        ds_export_sleep(&runs[i]);
        free(folder);
        free(name);
    }
    return rc;
}

static int by_opt(const void *a, const void *b)
{
    const ds_export_run *x = a;
    const ds_export_run *y = b;
    int c = strcmp(x->opt, y->opt);
    c = c != 0 ? c : strcmp(x->env, y->env);
    c = c != 0 ? c : (x->seed > y->seed) - (x->seed < y->seed);
    return c != 0 ? c : strcmp(x->folder, y->folder);
}

/* The environments of runs that are sorted by environment. */
static int list_functions(const ds_export_run *runs, size_t count, ds_export_set *set, ds_error *e)
{
    set->function = calloc(count, sizeof(*set->function));
    if (set->function == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(runs[i].env, runs[i - 1].env) != 0) {
            set->function[set->functions++] = runs[i].env;
        }
    }
    return 0;
}

/* A name for the folder that does not end with a slash or a dot, the same for all spellings, because
 * FOLDER.json is next to it. To be freed; NULL without memory. */
static char *place_of(const char *folder)
{
    char *place = realpath(folder, NULL); /* if it exists */
    place = place != NULL ? place : strdup(folder);
    for (size_t n = place != NULL ? strlen(place) : 0; n > 1 && place[n - 1] == '/'; n--) {
        place[n - 1] = '\0';
    }
    return place;
}

static int export_folder(const request *q, ds_export_run *runs, size_t count, ds_error *e)
{
    char *folder = NULL;
    ds_export_set set = {runs, count, NULL, 0};
    if ((q->out != NULL ? asprintf(&folder, "%s", q->out)
                        : asprintf(&folder, "%s/export/%s", q->folder, q->format)) < 0) {
        return ds_no_memory(e);
    }
    int rc = q->out == NULL ? ds_folder_make_below(q->folder, folder, e) : 0;
    char *place = rc == 0 ? place_of(folder) : NULL;
    rc = rc == 0 && place == NULL ? ds_no_memory(e) : rc;
    if (rc == 0 && strcmp(folder, "-") == 0) {
        rc = ds_fail(e, DS_EXIT_USAGE, "export: --format %s writes a folder, not the standard output",
                     q->format);
    } else if (rc == 0 && (place[0] == '\0' || strcmp(place, "/") == 0)) {
        rc = ds_fail(e, DS_EXIT_USAGE, "export: --out '%s': name a separate folder", folder);
    }
    rc = rc != 0 ? rc : list_functions(runs, count, &set, e);
    qsort(runs, count, sizeof(*runs), by_opt);
    rc = rc != 0                         ? rc
         : strcmp(q->format, "ioh") == 0 ? ds_export_ioh(&set, place, e)
                                         : ds_export_coco(&set, place, e);
    if (rc == 0) {
        printf("%s\n", folder);
    }
    free(set.function);
    free(folder);
    free(place);
    return rc;
}

static int export_runs(const request *q, ds_error *e)
{
    ds_export_run *runs = NULL;
    size_t opened = 0, damaged = 0;
    const int folder = strcmp(q->format, "ioh") == 0 || strcmp(q->format, "coco") == 0;
    int rc = open_all(q, folder, &runs, &opened, &damaged, e);
    if (rc == 0 && opened == 0) {
        rc = ds_results_left_out(damaged, e);
    } else if (rc == 0) {
        if (folder && ds_folder_has_landscape(q->folder)) {
            rc = ds_fail(e, DS_EXIT_USAGE, "export: --format %s is for runs, but %.200s holds a landscape",
                         q->format, q->folder);
        }
        rc = rc != 0 ? rc : folder ? export_folder(q, runs, opened, e) : export_tables(q, runs, opened, e);
        rc = rc != 0 ? rc : ds_results_left_out(damaged, e);
    }
    for (size_t i = 0; i < opened; i++) {
        ds_export_close(&runs[i]);
    }
    free(runs);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q;
    int rc = parse(argc, argv, &q, e);
    return rc != 0 ? rc : export_runs(&q, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
