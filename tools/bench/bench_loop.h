/* SPDX-License-Identifier: Apache-2.0 */
/* bench_loop.h - works an experiment off: this process alone, or one process per rank of an MPI job, where
 * rank 0 owns the queue and every rank runs what it is told, with the stores of its runs. */
#ifndef DS_BENCH_BENCH_LOOP_H
#define DS_BENCH_BENCH_LOOP_H

#include "bench/bench_state.h"
#include "ranks/ranks.h"

/* Works off all open runs of the queue. `ranks` is NULL or has size 1 where this process is alone. Failed
 * runs do not end it; errors of the experiment itself (a full disk, for example) do. *lost is the number of
 * ranks that were given up, because they said nothing for a minute; what they had in hand was done by others.
 * Returns 0 or an exit status; that of the experiment is ds_bench_status(). */
int ds_bench_loop(ds_bench_state *state, const ds_ranks *ranks, size_t *lost, ds_error *e);

/* Sends the other ranks home where rank 0 does not reach its loop: else they would wait for ever. */
void ds_bench_dismiss(const ds_ranks *ranks);

/* What the ranks behind rank 0 do: until they are told to end, or hear nothing any more (*lost = 1). */
int ds_bench_follow(const ds_bench_plan *plan, const ds_ranks *ranks, size_t *lost, ds_error *e);

/* Before any of the two: do all ranks see the same experiment? `status` and `text` say how making the plan
 * went here. On rank 0 returns the first failure with its line; elsewhere 0 = go on, -1 = rank 0 has said
 * what is wrong. */
int ds_bench_agree(const ds_bench_plan *plan, const ds_ranks *ranks, int status, ds_error *e);

#endif
