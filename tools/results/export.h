/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - the record of a run in formats of other programs: CSV, JSONL, NumPy, IOHanalyzer, COCO. */
#ifndef DS_RESULTS_EXPORT_H
#define DS_RESULTS_EXPORT_H

#include "store/store.h"

/* One run to be exported. */
typedef struct ds_export_run {
    ds_store *store;
    char *folder;
    char *env, *opt; /* ids */
    char *env_version, *opt_version;
    uint64_t seed, n, count;
    ds_named_variable *variables; /* n; NULL = without names */
    int gradients;                /* some evaluations have one */
    char (*scalar)[DS_MAX_NAME +
                   1]; /* names of what the optimizer reported, in the order of their first report */
    size_t scalars;
    uint64_t best_id; /* 0 = none */
    double best;      /* +INFINITY = none */
} ds_export_run;

/* Opens the store in a result folder for reading, and looks for the best loss. */
int ds_export_open(const char *folder, ds_export_run *out, ds_error *e);
void ds_export_close(ds_export_run *r);
void ds_export_plain(ds_export_run *r);

/* One row per evaluation; `path` "-" is the standard output. Without `times` the columns that differ from run
 * to run (wall_s, at) are left out. The columns of x in CSV are headed by the names of the variables, those
 * of the gradient by "g." and the name: "x." goes before a name that could be taken for another column.
 * Without names, and in a run from which ds_export_plain() has taken them, they are x0, x1, ... and g0, g1,
 * ... Scalars that the optimizer reported before an evaluation are in columns progress.NAME at the end; JSON
 * lines have them in an object "progress", and its point as "recommended". */
int ds_export_csv(ds_export_run *r, const char *path, int times, ds_error *e);
int ds_export_jsonl(ds_export_run *r, const char *path, int times, ds_error *e);

/* Arrays x, loss, best_loss, gradient, outcome, ...; names, units and groups of the variables where they have
 * some; progress.NAME (NaN where nothing was reported), recommended and recommended_id where the optimizer
 * reported any. */
int ds_export_npz(ds_export_run *r, const char *path, int times, ds_error *e);

/* Closes the store until the run is woken again: many runs would need many open files. */
void ds_export_sleep(ds_export_run *r);
int ds_export_wake(ds_export_run *r, ds_error *e);

/* Runs for a comparison, sorted by optimizer, then environment, then seed. */
typedef struct ds_export_set {
    ds_export_run *run;
    size_t count;
    const char **function; /* the environments: function k + 1 is function[k] */
    size_t functions;
} ds_export_set;

/* Folders that IOHanalyzer and iohinspector, and COCO's post-processing (cocopp) read, and FOLDER.json that
 * says which of their functions is which environment. Where there are several optimizers each has a folder of
 * its own in it. Files that FOLDER.json knows of an earlier export are removed (export_earlier.h). `folder`
 * does not end with a slash. */
int ds_export_ioh(const ds_export_set *set, const char *folder, ds_error *e);
int ds_export_coco(const ds_export_set *set, const char *folder, ds_error *e);

#endif
