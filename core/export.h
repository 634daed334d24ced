/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - the record of a run in formats of other programs: CSV, JSONL, NumPy, IOHanalyzer, COCO. */
#ifndef DS_CORE_EXPORT_H
#define DS_CORE_EXPORT_H

#include "store.h"

/* One run to be exported. */
typedef struct ds_export_run {
    ds_store *store;
    char *folder;
    char *env, *opt; /* ids */
    char *env_version, *opt_version;
    uint64_t seed, n, count;
    int gradients;    /* some evaluations have one */
    uint64_t best_id; /* 0 = none */
    double best;      /* +INFINITY = none */
} ds_export_run;

/* Opens the store in a result folder for reading, and looks for the best loss. */
int ds_export_open(const char *folder, ds_export_run *out, ds_error *e);
void ds_export_close(ds_export_run *r);

/* One row per evaluation; `path` "-" is the standard output. Without `times` the columns that differ from run
 * to run (wall_s, at) are left out. */
int ds_export_csv(ds_export_run *r, const char *path, int times, ds_error *e);
int ds_export_jsonl(ds_export_run *r, const char *path, int times, ds_error *e);

/* Arrays x, loss, best, grad, outcome, grad_kind, group, cost_steps, bad_step, wall_s, at. */
int ds_export_npz(ds_export_run *r, const char *path, int times, ds_error *e);

/* Folders that IOHanalyzer and COCO's post-processing read; several runs of one environment and optimizer. */
int ds_export_ioh(ds_export_run *runs, size_t count, const char *folder, ds_error *e);
int ds_export_coco(ds_export_run *runs, size_t count, const char *folder, ds_error *e);

/* ---- output in pieces ---- */

typedef struct ds_printer ds_printer;

/* Opens `path` ("-" = standard output) for text. */
int ds_printer_open(const char *path, ds_printer **out, ds_error *e);
/* Adds text; failures are kept until close. */
void ds_print(ds_printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the file. `rc` of what came before: where it is not 0 the file is given up, and it is returned. */
int ds_printer_close(ds_printer *p, int rc, ds_error *e);

#endif
