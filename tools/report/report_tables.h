/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.h - the tables of one environment in a report's page. */
#ifndef DS_REPORT_REPORT_TABLES_H
#define DS_REPORT_REPORT_TABLES_H

#include <stdio.h>

#include "report/report.h"

/* Best losses, tests against the reference, and costs, the lowest mean first. */
int ds_report_put_tables(FILE *f, const ds_report *r, size_t env, ds_error *e);

#endif
