/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - the record of a run in the formats of other programs: CSV, JSONL, NumPy, IOHanalyzer, COCO. */
#ifndef DS_RESULTS_EXPORT_H
#define DS_RESULTS_EXPORT_H

#include "base/error.h"
#include "store/store.h"

/* A run to export. */
typedef struct ds_export_run {
    ds_store *store;
    char *folder;
    char *env, *opt; /* ids */
    char *env_version, *opt_version;
    uint64_t seed, n, count;
    ds_named_variable *variables;    /* n of them; NULL = without names */
    int gradients;                   /* some evaluations have a gradient */
    char (*scalar)[DS_MAX_NAME + 1]; /* names of what the optimizer reported, in order of first report */
    size_t scalars;
    uint64_t best_id; /* 0 = none */
    double best;      /* +INFINITY = none */
} ds_export_run;

/* Opens the store in a result folder for reading, and finds the best loss. */
int ds_export_open(const char *folder, ds_export_run *out, ds_error *e);
void ds_export_close(ds_export_run *r);
void ds_export_plain(ds_export_run *r);

/* Writes one row per evaluation; `path` "-" is the standard output. Without `times` the columns that
 * differ from run to run (wall_s, at) are left out. In CSV the columns of x have the names of the
 * variables, those of the gradient "g." and the name; a name that could be mistaken for another column
 * gets the prefix "x.". Without names, or after ds_export_plain(), they are x0, x1, ... and g0, g1, ...
 * Scalars that the optimizer reported before an evaluation are in columns progress.NAME at the end; JSON
 * lines have them in an object "progress", and its point as "recommended". */
int ds_export_csv(ds_export_run *r, const char *path, int times, ds_error *e);
int ds_export_jsonl(ds_export_run *r, const char *path, int times, ds_error *e);

/* Writes arrays x, loss, best_loss, gradient, outcome, ..., and the names, units and groups of the
 * variables, if known; progress.NAME (NaN where nothing was reported), recommended and recommended_id if
 * the optimizer reported any. */
int ds_export_npz(ds_export_run *r, const char *path, int times, ds_error *e);

/* Closes the store until the run is woken: many runs would need many open files. */
void ds_export_sleep(ds_export_run *r);
int ds_export_wake(ds_export_run *r, ds_error *e);

/* Runs of a comparison, sorted by optimizer, environment, seed. */
typedef struct ds_export_set {
    ds_export_run *run;
    size_t count;
    const char **function; /* the environments: function k + 1 is function[k] */
    size_t functions;
} ds_export_set;

/* Writes folders for IOHanalyzer and iohinspector, or COCO's post-processing (cocopp), and FOLDER.json, which
 * maps their functions to environments. With several optimizers each has its own folder. Files of an earlier
 * export that FOLDER.json lists are removed. `folder` does not end with a slash. */
int ds_export_ioh(const ds_export_set *set, const char *folder, ds_error *e);
int ds_export_coco(const ds_export_set *set, const char *folder, ds_error *e);

/* Removes the files of an earlier export, which programs would count again: those that FOLDER.json lists, and
 * folders that become empty; other files stay. Does nothing without FOLDER.json. DS_EXIT_USAGE if it lists no
 * files (damaged, of an older dshost, or something else), DS_EXIT_IO if a file cannot be removed. */
int ds_export_remove_earlier(const char *folder, ds_error *e);

#endif
