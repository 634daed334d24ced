/* SPDX-License-Identifier: Apache-2.0 */
/* check_tests.h - the conformance kit behind `dshost check`: its tests, and running each of them in a child
 * process. */
#ifndef DS_CHECK_CHECK_TESTS_H
#define DS_CHECK_CHECK_TESTS_H

#include "harness/check.h"

/* The tests, each table ended by an id of NULL. */
extern const ds_check_test ds_check_load_tests[];     /* all plugins, before an instance is created */
extern const ds_check_test ds_check_instance_tests[]; /* environments and optimizers */
extern const ds_check_test ds_check_search_tests[];   /* optimizers; the rest is for environments */
extern const ds_check_test ds_check_eval_tests[], ds_check_pure_tests[], ds_check_gradient_tests[];
extern const ds_check_test ds_check_rows_tests[], ds_check_channel_tests[], ds_check_extension_tests[];
extern const ds_check_test ds_check_steps_tests[], ds_check_sweep_tests[];

/* In a table of others: channel.products (all elements together), channel.linear (unit vectors, sums,
 * multiples) and channel.elements (single elements). */
void ds_check_channel_products(ds_check *c);
void ds_check_channel_linear(ds_check *c);
void ds_check_channel_elements(ds_check *c);

/* Loads the plugin of the test into c->module; 0 after recording why that failed. */
int ds_check_load(ds_check *c);

/* Hidden tests that report to the parent: the kind of the plugin; time and bits of an evaluation. */
void ds_check_describe(ds_check *c);
void ds_check_env_measure(ds_check *c);
void ds_check_opt_measure(ds_check *c);

/* ---- running tests (check_run.c) ---- */

/* Runs the selected tests and prints the report. Returns 0, DS_EXIT_PLUGIN, DS_EXIT_CHECK, or DS_EXIT_USAGE
 * where --only, or one of its texts, matches no test. */
int ds_check_run(ds_check_options *o, ds_error *e);

/* In the child: runs the tests `ids` (separated by commas) and writes their lines to descriptor 3. With
 * `flight`, descriptor 4 is the memory file of evaluations in progress (harness/check_process.h); with
 * `kept`, descriptor 5 is ds_check_options.kept. */
int ds_check_child(ds_check_options *o, const char *ids, int flight, int kept, ds_error *e);

/* Prints ids and titles of the tests for a kind of plugin (0 = all). */
void ds_check_list(uint32_t kind);

#endif
