/* SPDX-License-Identifier: Apache-2.0 */
/* best_episode.h - the best point of a run, ready to be simulated once more, with the plugin of its
 * environment; and what the metrics of that episode say. */
#ifndef DS_EPISODE_BEST_EPISODE_H
#define DS_EPISODE_BEST_EPISODE_H

#include "config/run_options.h"
#include "results/results.h"
#include "snapshot/episode_scene.h"

typedef struct ds_best_episode {
    ds_run_options options;
    ds_scene_source source;
    double *x;          /* the best point */
    uint64_t noise_key; /* of the evaluation that found it */
} ds_best_episode;

/* Makes a run's environment, in a process of its own: by the settings of its record, or as run.ini in its
 * folder says it. To be closed in any case. */
int ds_best_episode_open(const ds_result *run, ds_best_episode *out, ds_error *e);
int ds_best_episode_open_folder(const ds_result *run, ds_best_episode *out, ds_error *e);
void ds_best_episode_close(ds_best_episode *episode);

/* A metric at the end of an episode. */
typedef struct ds_last_metric {
    char name[DS_SCENE_NAME_MAX];
    char unit[DS_SCENE_UNIT_MAX]; /* "" = none */
    double value;                 /* NaN where undefined */
} ds_last_metric;

/* The metrics of the best episode of a run, by the run.ini of its folder; *out is to be freed, NULL where
 * there are none. */
int ds_best_metrics(const ds_result *run, ds_last_metric **out, size_t *count, ds_error *e);

#endif
