/* SPDX-License-Identifier: Apache-2.0 */
/* rl_worker.h - a worker's side of stepwise control: an instance for each of its lanes. */
#ifndef DS_WORKER_RL_WORKER_H
#define DS_WORKER_RL_WORKER_H

#include "plugin/instance.h"
#include "worker/ring.h"

typedef struct ds_worker_lanes {
    ds_episode lane[DS_EPISODE_LANES];
    double *x, *obs; /* what the plugin gets to see */
} ds_worker_lanes;

/* Makes another instance like the worker's own. */
typedef int ds_make_instance(void *ctx, ds_env **out, ds_error *e);

/* Makes the step in a slot. `own` is the worker's instance, which serves the first lane. */
void ds_worker_step(ds_worker_lanes *l, ds_ring *share, ds_slot *slot, ds_env *own, ds_make_instance *make,
                    void *ctx);
void ds_worker_lanes_close(ds_worker_lanes *l, const ds_env *own);

#endif
