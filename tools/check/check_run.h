/* SPDX-License-Identifier: Apache-2.0 */
/* check_run.h - the conformance kit behind `dshost check`: its tests, and the parent that runs each of them
 * in a child process. */
#ifndef DS_CHECK_CHECK_RUN_H
#define DS_CHECK_CHECK_RUN_H

#include "harness/check.h"

/* Runs the selected tests and prints the report. Returns 0, DS_EXIT_PLUGIN, DS_EXIT_CHECK, or DS_EXIT_USAGE
 * where --only, or one of its texts, matches no test. */
int ds_check_run(ds_check_options *o, ds_error *e);

/* In the child: runs the tests `ids` (separated by commas) and writes their lines to descriptor 3. With
 * `flight`, descriptor 4 is the memory file of evaluations in progress (harness/check_crash.h); with `kept`,
 * descriptor 5 is ds_check_options.kept. */
int ds_check_child(ds_check_options *o, const char *ids, int flight, int kept, ds_error *e);

/* Prints ids and titles of the tests for a kind of plugin (0 = all). */
void ds_check_list(uint32_t kind);

#endif
