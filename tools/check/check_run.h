/* SPDX-License-Identifier: Apache-2.0 */
/* check_run.h - the conformance kit behind `dshost check`: runs each test in a process of its own. */
#ifndef DS_CHECK_CHECK_RUN_H
#define DS_CHECK_CHECK_RUN_H

#include "harness/check.h"

/* Runs the tests that are asked for and prints the report. 0, 4, 8, or 2 where --only, or one
 * of its texts, matches nothing. */
int ds_check_run(ds_check_options *o, ds_error *e);

/* In the child: runs a test by its id, or several between commas, and writes their lines to descriptor 3;
 * with `flight`, what it evaluates to the memory file in descriptor 4 (harness/check_flight.h); with `kept`,
 * descriptor 5 is ds_check_options.kept. */
int ds_check_child(ds_check_options *o, const char *ids, int flight, int kept, ds_error *e);

/* Prints ids and titles of the tests for a kind of plugin (0 = all). */
void ds_check_list(uint32_t kind);

#endif
