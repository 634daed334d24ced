/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h - a report as one HTML file: no script, no file beside it is needed, prints well. */
#ifndef DS_CORE_REPORT_PAGE_H
#define DS_CORE_REPORT_PAGE_H

#include "report.h"

/* Writes `folder`/index.html, the figures as SVG and CSV in `folder`/figures/, and the tables as CSV.
 * `command` is how to make it again. */
int ds_report_page(const ds_report *r, const char *folder, const char *command, ds_error *e);

#endif
