/* SPDX-License-Identifier: Apache-2.0 */
/* report_csv.h - CSV files (RFC 4180) row by row, and the numbers of a report's tables as such. Numbers have
 * 17 digits; what is not finite is empty. */
#ifndef DS_REPORT_REPORT_CSV_H
#define DS_REPORT_REPORT_CSV_H

#include "report/report.h"

typedef struct ds_table ds_table;

/* `header` is the first line. NULL without memory; a later failure is told by ds_table_close(). */
ds_table *ds_table_new(const char *header);
void ds_table_free(ds_table *t);

/* Adds a row, by a letter per cell: t const char * (NULL = empty), n uint64_t, r double, R const double *
 * of so many cells as the letters R that follow each other. */
void ds_table_row(ds_table *t, const char *kinds, ...);

/* Writes the file atomically where rc is 0 and path is not NULL; frees `t`. Returns rc or what failed. */
int ds_table_close(ds_table *t, const char *path, int rc, ds_error *e);

/* A row for each finished run, each cell, and each optimizer. */
int ds_report_runs_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_cells_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_summary_csv(const ds_report *r, const char *path, ds_error *e);

/* A row for each metric of each run's best episode, and for each metric of each cell; just the header where
 * they were not measured. */
int ds_report_metrics_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_metric_cells_csv(const ds_report *r, const char *path, ds_error *e);

#endif
