/* SPDX-License-Identifier: Apache-2.0 */
/* report_csv.h - the numbers of a report's tables as CSV files. */
#ifndef DS_REPORT_REPORT_CSV_H
#define DS_REPORT_REPORT_CSV_H

#include "report/report.h"

/* A row for each finished run, each cell, and each optimizer. */
int ds_report_runs_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_cells_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_summary_csv(const ds_report *r, const char *path, ds_error *e);

#endif
