/* SPDX-License-Identifier: Apache-2.0 */
/* report_overview.h - the first part of a report's page: all optimizers on all environments at a glance, and
 * what the tests over all of them say. */
#ifndef DS_REPORT_REPORT_OVERVIEW_H
#define DS_REPORT_REPORT_OVERVIEW_H

#include <stdio.h>

#include "report/report.h"

/* A table of scores, coloured, with marks for what is significant, and its legend. */
void ds_report_put_overview(FILE *f, const ds_report *r);

/* What the score 0 is, in words, over all environments. */
const char *ds_report_zero_text(const ds_report *r);

/* What these numbers of runs can show at all. */
void ds_report_put_power(FILE *f, const ds_report *r);

/* The optimizers over all environments, with the tests. */
void ds_report_put_overall(FILE *f, const ds_report *r);

#endif
