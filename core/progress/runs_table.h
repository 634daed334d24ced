/* SPDX-License-Identifier: Apache-2.0 */
/* runs_table.h - what several runs came to, as a table on stderr. */
#ifndef DS_RUN_RUNS_TABLE_H
#define DS_RUN_RUNS_TABLE_H

#include <stddef.h>

/* The runs of one optimizer on one environment. */
typedef struct ds_runs_row {
    const char *env, *opt;
    double *loss;         /* best losses of the runs that ended well, +INFINITY = none; gets sorted */
    size_t done, planned; /* `done` losses */
    size_t failed;
    double wall_s; /* of all of them */
} ds_runs_row;

/* Rows with equal environments stand together; within them they get sorted by their median. Then says how to
 * see more of the folder. */
void ds_runs_table(ds_runs_row *row, size_t rows, const char *folder);

#endif
