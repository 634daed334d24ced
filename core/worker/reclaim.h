/* SPDX-License-Identifier: Apache-2.0 */
/* estate.h - what a worker has in hand, and what becomes of it when the worker is dead. */
#ifndef DS_WORKER_RECLAIM_H
#define DS_WORKER_RECLAIM_H

#include "worker/process.h"
#include "worker/ring.h"

/* The slot that worker w holds, and that is its to finish; NULL = none. */
ds_slot *ds_reclaim_held(const ds_ring *s, uint32_t w);

/* Answers for the evaluation that a dead worker, with wait status `status`, had in hand, with a time limit of
 * `timeout` seconds; 0 = it had none. */
int ds_reclaim_slots(ds_ring *s, uint32_t w, const ds_process *m, double timeout, int status);

/* Its successor looks at every ticket that may have been taken and skips what is done or held by others. */
void ds_reclaim_hand_over(ds_ring *s, uint32_t w);

#endif
