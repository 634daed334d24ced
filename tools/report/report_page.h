/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h - a report as one HTML file: no script, no file beside it is needed, prints on A4, fits
 * narrow screens, follows the colour scheme of the reader. */
#ifndef DS_REPORT_REPORT_PAGE_H
#define DS_REPORT_REPORT_PAGE_H

#include "report/report.h"

/* How a report was asked for, as text for a shell. */
typedef struct ds_report_origin {
    const char *command;   /* makes it again */
    const char *first;     /* folder or table: it names the page */
    const char *folders;   /* and tables with the runs, as `plot` takes them, too */
    const char *only;      /* the cells that were chosen; NULL = all */
    const char *reference; /* that was asked for; NULL = the default one */
    const char *pool;      /* the key whose variants are one environment; NULL = none */
    int any_version;       /* versions of an environment are no difference */
    int page_only;         /* leave no files of the figures, and no links to them */
    int metrics;           /* ds_report_metrics() was called: write metrics.csv and metric_cells.csv */
} ds_report_origin;

/* Writes `folder`/index.html, the tables as CSV, and the figures as SVG and CSV in `folder`/figures/, which
 * stays empty with page_only. */
int ds_report_page(const ds_report *r, const char *folder, const ds_report_origin *origin, ds_error *e);

#endif
