/* SPDX-License-Identifier: Apache-2.0 */
/* report_read.h - the runs that a report is about, of folders and of tables. */
#ifndef DS_REPORT_REPORT_READ_H
#define DS_REPORT_REPORT_READ_H

#include "report/report.h"

/* All runs of the sources, with names that tell apart what is different, each once; warnings as they come.
 * Exit status and message on failure; then nothing is to be cleared. */
int ds_report_read(const ds_report_choice *from, ds_run_results *out, ds_error *e);

/* How many of them are of folders. */
size_t ds_report_records(const ds_run_results *r);

#endif
