/* SPDX-License-Identifier: Apache-2.0 */
/* bench_merge.h - puts the parts of an experiment, made by `dshost bench --shard`, together in one folder. */
#ifndef DS_MERGE_BENCH_MERGE_H
#define DS_MERGE_BENCH_MERGE_H

#include <stddef.h>

#include "base/error.h"

typedef struct ds_merge_counts {
    size_t copied, kept, missing; /* runs that were taken over, that were there already, that no part has */
    size_t done, all;
    size_t left_out; /* locked by a process that works on them, or damaged */
    int status;      /* exit status of the first of these */
} ds_merge_counts;

/* Copies the runs of all parts to `out`, where of each run the one with the most evaluations counts. All
 * parts must be of the same experiment (bench.ini), also what `out` may hold already; else DS_EXIT_CONFIG.
 * Runs that cannot be had now are left out. The parts stay as they are. A merge can be repeated. */
int ds_bench_merge(const char *out, const char *const *parts, size_t count, ds_merge_counts *counts,
                   ds_error *e);

#endif
