/* SPDX-License-Identifier: Apache-2.0 */
/* check_report.h - the report of the conformance kit: TAP version 13 as the tests end, or one JSON object. */
#ifndef DS_CHECK_CHECK_REPORT_H
#define DS_CHECK_CHECK_REPORT_H

#include "harness/check.h"

typedef struct ds_check_result {
    const ds_check_test *test;
    ds_check_lines lines;
    double wall; /* seconds */
} ds_check_result;

typedef struct ds_check_report {
    const ds_check_options *options;
    uint32_t kind;  /* 0 = the plugin cannot be loaded */
    uint64_t flags; /* DS_ENV_* or DS_OPT_* */
    char id[64];
    ds_check_result *result;
    size_t count;
    size_t failed, skipped;
} ds_check_report;

void ds_check_report_begin(ds_check_report *r);
void ds_check_report_result(ds_check_report *r, size_t i);

/* The exit status: 0, DS_EXIT_CHECK, or DS_EXIT_PLUGIN where the plugin does not load. */
int ds_check_report_end(ds_check_report *r, int loads, ds_error *e);

#endif
