/* SPDX-License-Identifier: Apache-2.0 */
/* run_table.h - runs that are only known as rows of a table, runs.csv of a report: how each ended, but not
 * its curve. */
#ifndef DS_TABLES_RUN_TABLE_H
#define DS_TABLES_RUN_TABLE_H

#include "results/results.h"

/* Is it the name of a table: does it end with .csv and is not a folder? */
int ds_run_table_is(const char *path);

/* Appends one run per row of a table, in order, with `table`, `where` and the contents of the columns; other
 * fields are empty. Columns are found by name, in any order; unknown ones are ignored. An empty, inf or nan
 * loss is missing. If the table has an unfinished run of an environment, all its rows there have losses after
 * an unknown number of evaluations: they get an `error`, with a warning. DS_EXIT_CONFIG for an invalid table,
 * with file and line or column; DS_EXIT_IO if it cannot be read. */
int ds_run_table_read(const char *path, ds_run_results *all, ds_error *e);
int ds_run_table_parse(const char *text, size_t size, const char *path, ds_run_results *all, ds_error *e);

/* Moves the runs of `tables` to *r, which holds runs of folders. Settings of table rows are unknown: runs
 * with the same name are taken for the same environment and optimizer, unless numbers of variables or
 * versions differ (ds_results_tell_apart(), also for any_version). */
int ds_run_table_join(ds_run_results *r, ds_run_results *tables, int any_version, ds_error *e);

/* Removes duplicates, once names are final. A run in a folder and a table, or in two tables, counts once (the
 * folder's); so do two rows of one table with the same folder. Runs are the same if environment, optimizer,
 * seed, best loss and budget are; DS_EXIT_CONFIG if only the first three are. On an environment with table
 * rows, unfinished runs of folders do not count, because the rows' losses after fewer evaluations are
 * unknown. That costs a warning, as do different budgets. */
int ds_run_table_settle(ds_run_results *r, ds_error *e);

/* Keeps the runs whose ENV/OPT matches one of the patterns, separated by blanks or commas. A pattern without
 * a match costs a warning; DS_EXIT_USAGE if no run is left. */
int ds_run_table_only(ds_run_results *const *set, size_t sets, const char *patterns, ds_error *e);

#endif
