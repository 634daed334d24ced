/* SPDX-License-Identifier: Apache-2.0 */
/* bench_loop.h - works through an experiment: in this process alone, or with one process per rank of an MPI
 * job, where rank 0 owns the queue and every rank does the runs it is given, including their stores. */
#ifndef DS_BENCH_BENCH_LOOP_H
#define DS_BENCH_BENCH_LOOP_H

#include "bench/bench_state.h"
#include "ranks/ranks.h"

/* Does all open runs of the queue. `ranks` is NULL or has size 1 if this process is alone. Failed runs do not
 * end it; errors of the experiment itself (such as a full disk) do. *lost counts ranks that were given up
 * after a minute of silence; their runs were done by others. Returns 0 or an exit status; ds_bench_status()
 * gives that of the experiment. */
int ds_bench_loop(ds_bench_state *state, const ds_ranks *ranks, size_t *lost, ds_error *e);

/* Dismisses the other ranks if rank 0 does not reach its loop; otherwise they would wait forever. */
void ds_bench_dismiss(const ds_ranks *ranks);

/* The loop of the other ranks: ends when told to, or when rank 0 falls silent (*lost = 1). */
int ds_bench_follow(const ds_bench_plan *plan, const ds_ranks *ranks, size_t *lost, ds_error *e);

/* Before either loop: do all ranks see the same experiment? `status` and *e say how planning went here. On
 * rank 0 returns the first failure with its message; elsewhere 0 = continue, -1 = rank 0 reports the error.
 */
int ds_bench_agree(const ds_bench_plan *plan, const ds_ranks *ranks, int status, ds_error *e);

#endif
