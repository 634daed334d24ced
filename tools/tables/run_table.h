/* SPDX-License-Identifier: Apache-2.0 */
/* run_table.h - runs of which only a row in a table is left: runs.csv of a report, which tells how each of
 * them ended, but not how it got there. */
#ifndef DS_TABLES_RUN_TABLE_H
#define DS_TABLES_RUN_TABLE_H

#include "results/results.h"

/* Is it the name of a table: does it end with .csv and is no folder? */
int ds_run_table_is(const char *path);

/* Appends a run for each row of a table, in its order, with `table`, `where` and the numbers and texts that
 * the columns have; others are left as they are in an empty run. Columns are found by their names, in any
 * order; unknown ones are passed over. A loss that is empty, inf or nan is none. Rows of an environment on
 * which the table has an unfinished run have losses after a number of evaluations that is not told: they get
 * an `error`, with a warning. DS_EXIT_CONFIG for what is no such table, in one line with file and line or
 * column; DS_EXIT_IO where it cannot be read. */
int ds_run_table_read(const char *path, ds_run_results *all, ds_error *e);
int ds_run_table_parse(const char *text, size_t size, const char *path, ds_run_results *all, ds_error *e);

/* Tables among runs of folders (join.c). The runs of `tables`, which is then empty, join those of *r.
 * Settings of a table's runs are not known: what has one name is taken for one environment and one optimizer,
 * unless numbers of variables or versions differ (ds_results_tell_apart(), also of any_version). */
int ds_run_table_join(ds_run_results *r, ds_run_results *tables, int any_version, ds_error *e);

/* Then, once names are final, what tables and folders tell of each other. A run that is told of
 * twice, in a folder and a table or in two tables, counts once, the folder's; in one table, where
 * two rows have one folder, too. It is the same where environment, optimizer, seed, best loss and
 * budget are; DS_EXIT_CONFIG where only the first three are. On an environment with runs of tables,
 * unfinished runs of folders do not count, since nothing is known of a row after fewer evaluations:
 * that costs a warning, as do different budgets. */
int ds_run_table_settle(ds_run_results *r, ds_error *e);

/* Keeps the runs whose ENV/OPT matches one of the patterns, which have blanks or commas between them
 * (only.c). A pattern that matches none costs a warning; DS_EXIT_USAGE where no run is left. */
int ds_run_table_only(ds_run_results *const *set, size_t sets, const char *patterns, ds_error *e);

#endif
