/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_output.h - what an optimizer gives the host besides its requests: reports
 * (diffsim/ext/draft/progress.h), kept until an evaluation takes them into the record, and files
 * (diffsim/ext/draft/files.h). */
#ifndef DS_STORE_OPTIMIZER_OUTPUT_H
#define DS_STORE_OPTIMIZER_OUTPUT_H

#include "store/store.h"

#include <diffsim/ext/draft/files.h>
#include <diffsim/ext/draft/progress.h>

enum { DS_REPORTS_TEXT = 200, DS_FILES_TEXT = 200 };

/* ---- reports ---- */

typedef struct ds_reports {
    uint64_t count; /* scalars since the last evaluation */
    char name[DS_MAX_SCALARS][DS_MAX_NAME + 1];
    double value[DS_MAX_SCALARS];
    double *x; /* the point recommended last, n values; NULL = none */
    int fresh; /* it was recommended since the last evaluation */
} ds_reports;

void ds_reports_close(ds_reports *r);

/* Reads a report about problem p into a struct of our size. Returns DS_OK, or DS_E_ARG with the breach in
 * `text`. */
ds_status ds_reports_read(ds_progress_report *own, const ds_progress_report *theirs, const ds_problem *p,
                          char text[DS_REPORTS_TEXT]);

/* Adds a report that was read; `x` is its point with all n variables of the environment, or NULL. Returns
 * DS_OK, DS_E_NOMEM, or DS_E_ARG with the breach in `text`. */
ds_status ds_reports_add(ds_reports *r, const ds_progress_report *report, uint64_t n, const double *x,
                         char text[DS_REPORTS_TEXT]);

/* Moves the collected reports into one block from malloc() for an evaluation of n variables. *out = NULL
 * where nothing was reported. Returns 0 or DS_EXIT_MEMORY. */
int ds_reports_take(ds_reports *r, uint64_t n, ds_row_progress **out, ds_error *e);

/* Drops the collected reports, because the record already has them. */
void ds_reports_skip(ds_reports *r);

/* ---- files ---- */

/* Checks whether an optimizer may leave this file in the folder of its run. Returns DS_OK, or DS_E_ARG with
 * the reason in `text`. */
ds_status ds_file_allowed(const char *name, const void *data, uint64_t bytes, char text[DS_FILES_TEXT]);

#endif
