/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c - `dshost export`: the record of a run, or of a series of runs, in another format. */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "export.h"
#include "folder.h"
#include "json_text.h"
#include "run_series.h"

enum { RUNS_MAX = 4096 };

typedef struct request {
    const char *folder, *format, *out;
    int times;
    int help;
} request;

typedef struct run_list {
    char *folder[RUNS_MAX];
    size_t count;
} run_list;

static const char *const formats[] = {"csv", "jsonl", "npz", "ioh", "coco"};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    static const struct option options[] = {{"format", required_argument, NULL, 'f'},
                                            {"out", required_argument, NULL, 'o'},
                                            {"no-times", no_argument, NULL, 'n'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int c;
    *q = (request){.times = 1};
    while ((c = ds_arguments_next(argc, argv, "export", options, e)) != -1) {
        switch (c) {
        case 'f':
            q->format = optarg;
            break;
        case 'o':
            q->out = optarg;
            break;
        case 'n':
            q->times = 0;
            break;
        case 'h':
            q->help = 1;
            return 0;
        default:
            return e->status;
        }
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
        return ds_fail(e, DS_EXIT_USAGE,
                       "export: unknown format '%.40s': csv, jsonl, npz, ioh or coco are possible",
                       q->format);
    }
    return ds_arguments_end(argc, argv, "export", e);
}

static int by_length_and_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    size_t m = strlen(x);
    size_t n = strlen(y);
    return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

/* The folder itself, or the runs seed-K in it. */
static int list_runs(const char *folder, run_list *list, ds_error *e)
{
    DIR *d = ds_folder_has_run(folder) || ds_folder_has_landscape(folder) ? NULL : opendir(folder);
    list->count = 0;
    if (d == NULL) {
        list->folder[0] = strdup(folder);
        list->count = list->folder[0] != NULL;
        return list->count == 1 ? 0 : ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    int more = 0;
    for (struct dirent *item; (item = readdir(d)) != NULL && !more;) {
        char *path = strncmp(item->d_name, "seed-", 5) == 0 ? ds_folder_path(folder, item->d_name) : NULL;
        int is_run = path != NULL && ds_folder_has_run(path);
        more = is_run && list->count == RUNS_MAX;
        if (is_run && !more) {
            list->folder[list->count++] = path;
        } else {
            free(path);
        }
    }
    closedir(d);
    if (more) {
        return ds_fail(e, DS_EXIT_USAGE, "%s holds more than %d runs: export them one by one", folder,
                       RUNS_MAX);
    }
    qsort(list->folder, list->count, sizeof(list->folder[0]), by_length_and_name);
    if (list->count == 0) {
        return ds_fail(e, DS_EXIT_IO, "%s holds no run (there is no run.sqlite)", folder);
    }
    return 0;
}

/* One table per run: DIR/export/evaluations.FORMAT. */
static int export_table(const request *q, ds_export_run *r, const char *name, ds_error *e)
{
    if (strcmp(q->format, "csv") == 0) {
        return ds_export_csv(r, name, q->times, e);
    }
    if (strcmp(q->format, "jsonl") == 0) {
        return ds_export_jsonl(r, name, q->times, e);
    }
    if (strcmp(name, "-") == 0) {
        return ds_fail(e, DS_EXIT_USAGE, "export: --format npz cannot go to the standard output");
    }
    return ds_export_npz(r, name, q->times, e);
}

static int export_tables(const request *q, ds_export_run *runs, size_t count, ds_error *e)
{
    int rc = 0;
    if (q->out != NULL && count > 1) {
        return ds_fail(e, DS_EXIT_USAGE, "export: --out with --format %s takes one run, %s holds %zu",
                       q->format, q->folder, count);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        char *folder = ds_folder_path(runs[i].folder, "export");
        size_t size = strlen(runs[i].folder) + 64;
        char *name = malloc(size);
        if (folder == NULL || name == NULL) {
            rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
        } else if (q->out != NULL) {
            rc = export_table(q, &runs[i], q->out, e);
        } else {
            snprintf(name, size, "%s/evaluations.%s", folder, q->format);
            rc = ds_folder_make(folder, e);
            rc = rc != 0 ? rc : export_table(q, &runs[i], name, e);
            if (rc == 0) {
                printf("%s\n", name);
            }
        }
        free(folder);
        free(name);
    }
    return rc;
}

static int export_folder(const request *q, ds_export_run *runs, size_t count, ds_error *e)
{
    size_t size = strlen(q->folder) + 64;
    char *folder = q->out != NULL ? strdup(q->out) : malloc(size);
    if (folder == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    if (q->out == NULL) {
        snprintf(folder, size, "%s/export/%s", q->folder, q->format);
    }
    int rc =
        strcmp(folder, "-") == 0
            ? ds_fail(e, DS_EXIT_USAGE, "export: --format %s makes a folder, not standard output", q->format)
        : strcmp(q->format, "ioh") == 0 ? ds_export_ioh(runs, count, folder, e)
                                        : ds_export_coco(runs, count, folder, e);
    if (rc == 0) {
        printf("%s\n", folder);
    }
    free(folder);
    return rc;
}

static int export_runs(const request *q, ds_error *e)
{
    run_list *list = calloc(1, sizeof(*list));
    ds_export_run *runs = NULL;
    size_t opened = 0;
    int rc = list == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : list_runs(q->folder, list, e);
    if (rc == 0) {
        runs = calloc(list->count, sizeof(*runs));
        rc = runs == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : 0;
    }
    while (rc == 0 && opened < list->count) {
        rc = ds_export_open(list->folder[opened], &runs[opened], e);
        opened += rc == 0;
    }
    if (rc == 0) {
        int folder = strcmp(q->format, "ioh") == 0 || strcmp(q->format, "coco") == 0;
        if (folder && ds_folder_has_landscape(q->folder)) {
            rc = ds_fail(e, DS_EXIT_USAGE, "export: --format %s is for runs, %.200s holds a landscape",
                         q->format, q->folder);
        }
        rc = rc != 0 ? rc : folder ? export_folder(q, runs, opened, e) : export_tables(q, runs, opened, e);
    }
    for (size_t i = 0; i < opened; i++) {
        ds_export_close(&runs[i]);
    }
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        free(list->folder[i]);
    }
    free(runs);
    free(list);
    return rc;
}

int ds_cmd_export(int argc, char **argv)
{
    request q;
    ds_error e = {0, ""};
    int rc = parse(argc, argv, &q, &e);
    if (rc == 0 && q.help) {
        printf("usage: dshost export DIR --format csv|jsonl|npz|ioh|coco [OPTIONS]\n\n"
               "Writes the evaluations of the run in DIR to DIR/export/ in another format.\n\n"
               "  --format F    csv, jsonl, npz: a table; ioh, coco: a folder for IOHanalyzer, or for COCO\n"
               "  --out PATH    write there instead; - is the standard output (csv, jsonl)\n"
               "  --no-times    leave out the columns that differ from run to run (wall_s, at)\n");
    } else if (rc == 0) {
        rc = export_runs(&q, &e);
    }
    if (rc == 0) {
        rc = ds_stdout_done(&e);
    }
    return rc != 0 ? ds_command_failed(&e) : DS_EXIT_OK;
}
