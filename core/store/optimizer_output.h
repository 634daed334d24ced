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

/* Copies the fields of a report about problem p. DS_OK, or DS_E_ARG and in `text` what breaks the contract.
 */
ds_status ds_reports_read(ds_progress_report *own, const ds_progress_report *theirs, const ds_problem *p,
                          char text[DS_REPORTS_TEXT]);

/* Adds a report that was read; `x` is its point with all n variables of the environment, or NULL. DS_OK,
 * DS_E_NOMEM, or DS_E_ARG and in `text` what breaks the contract. */
ds_status ds_reports_add(ds_reports *r, const ds_progress_report *report, uint64_t n, const double *x,
                         char text[DS_REPORTS_TEXT]);

/* What an evaluation of n variables records, as one block from malloc(), and forgets it. *out = NULL where
 * nothing was reported. DS_EXIT_MEMORY on failure. */
int ds_reports_take(ds_reports *r, uint64_t n, ds_row_progress **out, ds_error *e);

/* Forgets the scalars, and that the point is new: a recorded evaluation has them. */
void ds_reports_skip(ds_reports *r);

/* ---- files ---- */

/* May an optimizer leave this file in the folder of its run? DS_OK, or DS_E_ARG and the reason in `text`. */
ds_status ds_file_allowed(const char *name, const void *data, uint64_t bytes, char text[DS_FILES_TEXT]);

#endif
