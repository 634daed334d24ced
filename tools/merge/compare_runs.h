/* SPDX-License-Identifier: Apache-2.0 */
/* compare_runs.h - whether two result folders belong to one experiment. */
#ifndef DS_MERGE_COMPARE_RUNS_H
#define DS_MERGE_COMPARE_RUNS_H

#include "base/error.h"

/* Are two result folders of one experiment? DS_EXIT_CONFIG with the first line that differs, DS_EXIT_IO where
 * one is none. */
int ds_compare_runs(const char *folder, const char *other, ds_error *e);

#endif
