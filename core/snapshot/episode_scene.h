/* SPDX-License-Identifier: Apache-2.0 */
/* episode_scene.h - simulates one episode of an environment for its scene. */
#ifndef DS_SNAPSHOT_EPISODE_SCENE_H
#define DS_SNAPSHOT_EPISODE_SCENE_H

#include "evaluate/pool.h"
#include "snapshot/snapshot.h"

/* A source of scenes: a pool, and next to it a worker of its own (NULL until first needed), so that scenes
 * never disturb a run. A pool of one worker that nothing stops needs no other. */
typedef struct ds_scene_source {
    ds_pool *pool;
    ds_supervisor *supervisor;
} ds_scene_source;

/* Evaluates one point and copies its scene with the frames of DS_KEEP_*. *out is NULL where the environment
 * has no scene, or the evaluation failed (see *answer). */
int ds_episode_scene(ds_scene_source *source, const double *x, uint64_t noise_key, uint32_t keep,
                     ds_answer *answer, ds_snapshot **out, ds_error *e);

/* Ends the worker and closes the pool. */
void ds_scene_source_close(ds_scene_source *source);

#endif
