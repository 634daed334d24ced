/* SPDX-License-Identifier: Apache-2.0 */
/* report_point.h - the best point of a run as a table, with names and units from its record. */
#ifndef DS_REPORT_REPORT_POINT_H
#define DS_REPORT_REPORT_POINT_H

#include <stdio.h>

#include "results/results.h"

/* Writes the table, folded, of the first variables, headed "The best point", with `of` behind it; nothing
 * where the run has no best point or its record cannot be read. */
void ds_report_point(FILE *f, const ds_result *run, const char *of);

#endif
