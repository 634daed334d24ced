/* SPDX-License-Identifier: Apache-2.0 */
/* episode.h - episodes to be shown: points simulated again, with all their frames, and display options.
 * Writers of files include this and nothing of the environment. Also the best point of a run, and metrics of
 * its episode. */
#ifndef DS_EPISODE_EPISODE_H
#define DS_EPISODE_EPISODE_H

#include "config/run_options.h"
#include "config/settings.h"
#include "results/results.h"
#include "snapshot/episode_scene.h"
#include "snapshot/snapshot.h"

/* One episode; the struct owns it. Texts are single lines, "" if unknown, and may contain any other
 * character: writers escape them. */
typedef struct ds_view_episode {
    char *title;     /* "torus, cmaes, seed 3, evaluation 17", "torus at center" */
    char *env, *opt; /* ids; opt is "" if the point is not from a run */
    char *settings;  /* settings of the environment that differ from the defaults */
    uint64_t seed;   /* seed of the run, else of the environment */
    uint64_t number; /* number of the evaluation in its run; 0 = not from a run */
    double loss;     /* as simulated now; not finite if there is none */
    uint64_t whole;  /* frames of a complete episode, including the start */
    ds_snapshot *scene;
} ds_view_episode;

/* Display options. Zero (or NULL) = not set: each format has its own default, and ignores options it cannot
 * use. */
typedef struct ds_view_options {
    int width, height;         /* pixels */
    double fps;                /* frames per second in the file */
    uint64_t every;            /* use every n-th frame, and the last one; 0 = chosen by the format */
    int camera_set;            /* azimuth and elevation are set */
    double azimuth, elevation; /* of the camera, degrees: from +z towards +x, above the horizon */
    double zoom;               /* 1 = the scene's box fits */
    double orbit;           /* rotation of the camera about the vertical, from first to last frame, degrees */
    const char *background; /* "#rrggbb", validated, or NULL */
    const char *caption;    /* text instead of the title; "" = none */
} ds_view_options;

/* The content of one file. */
typedef struct ds_view_episodes {
    /* side by side, in this order; each scene has at least one frame, and all of them */
    ds_view_episode *item;
    size_t count; /* at least 1 */
    ds_view_options options;
} ds_view_episodes;

/* Simulates the best evaluation (id 0) or evaluation `id` of the run in a folder; the run may still be
 * running. `over` (or NULL) holds settings that override those of the run. Clear *out in any case; frames by
 * DS_KEEP_*. The scene is NULL if the environment offers none (see ds_view_episode_seen()). Fails with
 * DS_EXIT_ENV if the episode fails. */
int ds_view_episode_of_run(const char *folder, uint64_t id, const ds_settings *over, uint32_t keep,
                           ds_view_episode *out, ds_error *e);

/* The same for a point (results/point.h) of the environment in the settings, with noise group 1. */
int ds_view_episode_of_point(const ds_settings *settings, const char *x, uint32_t keep, ds_view_episode *out,
                             ds_error *e);

/* Fails with DS_EXIT_PLUGIN if it has no scene. */
int ds_view_episode_seen(const ds_view_episode *episode, ds_error *e);

void ds_view_episode_clear(ds_view_episode *episode);
void ds_view_episodes_clear(ds_view_episodes *episodes);

/* ---- the best point of a run, and its metrics ---- */

typedef struct ds_best_episode {
    ds_run_options options;
    ds_scene_source source;
    double *x;          /* the best point */
    uint64_t noise_key; /* number of the evaluation that found it */
} ds_best_episode;

/* Creates a run's environment in a worker process, with the settings of its record or of run.ini. Close it in
 * any case. */
int ds_best_episode_open(const ds_result *run, ds_best_episode *out, ds_error *e);
int ds_best_episode_open_folder(const ds_result *run, ds_best_episode *out, ds_error *e);
void ds_best_episode_close(ds_best_episode *episode);

/* A metric at the end of an episode. */
typedef struct ds_last_metric {
    char name[DS_SCENE_NAME_MAX];
    char unit[DS_SCENE_UNIT_MAX]; /* "" = none */
    double value;                 /* NaN where undefined */
} ds_last_metric;

/* The metrics of the best episode of a run, with the run.ini of its folder. *out is to be freed; NULL if
 * there are none. */
int ds_best_metrics(const ds_result *run, ds_last_metric **out, size_t *count, ds_error *e);

#endif
