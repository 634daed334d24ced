/* SPDX-License-Identifier: Apache-2.0 */
/* episode_scene.h - the scene of one episode of an environment, simulated for it. */
#ifndef DS_SNAPSHOT_EPISODE_SCENE_H
#define DS_SNAPSHOT_EPISODE_SCENE_H

#include "evaluate/pool.h"
#include "snapshot/snapshot.h"

/* Where scenes come from: a pool, and beside it a worker of its own, so that they never disturb a run; it
 * starts when first needed (NULL until then). */
typedef struct ds_scene_source {
    ds_pool *pool;
    ds_supervisor *supervisor;
} ds_scene_source;

/* Evaluates one point and copies its scene: frames by DS_KEEP_*. *out is NULL where the environment offers
 * none, or the evaluation failed (see *answer). */
int ds_episode_scene(ds_scene_source *source, const double *x, uint64_t noise_key, uint32_t keep,
                     ds_answer *answer, ds_snapshot **out, ds_error *e);

/* Ends the worker and closes the pool. */
void ds_scene_source_close(ds_scene_source *source);

#endif
