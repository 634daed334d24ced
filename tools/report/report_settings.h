/* SPDX-License-Identifier: Apache-2.0 */
/* report_settings.h - what the runs of a report were made with: versions and settings, as parts of its page.
 */
#ifndef DS_REPORT_REPORT_SETTINGS_H
#define DS_REPORT_REPORT_SETTINGS_H

#include <stdio.h>

#include "report/report.h"

/* How many runs are rows of tables; and which ones of which table, where there are any. any_version: those of
 * an environment count as one (ds_report_choice). */
size_t ds_report_rows(const ds_report *r);
void ds_report_put_sources(FILE *f, const ds_report *r, int any_version);

/* A table of all environments and optimizers with their plugins and versions. */
void ds_report_put_versions(FILE *f, const ds_report *r, int any_version);

/* All settings: of each environment, of each optimizer, and of the runs, once for all runs that share them.
 */
void ds_report_put_settings(FILE *f, const ds_report *r);

#endif
