/* SPDX-License-Identifier: Apache-2.0 */
/* report_point.h - the best point of a run as a table, with names and units from its record, and what the
 * optimizers reported about their searches. */
#ifndef DS_REPORT_REPORT_POINT_H
#define DS_REPORT_REPORT_POINT_H

#include <stdio.h>

#include "report/report.h"

/* Writes the table, folded, of the first variables, headed "The best point", with `of` behind it; nothing
 * where the run has no best point or its record cannot be read. */
void ds_report_point(FILE *f, const ds_result *run, const char *of);

/* Writes a table, folded, with the scalars of the best run of each optimizer on environment `env`: their
 * range and a line over the run. Nothing where no optimizer reported any. */
void ds_report_progress(FILE *f, const ds_report *r, size_t env);

#endif
