/* SPDX-License-Identifier: Apache-2.0 */
/* episode.h - episodes to be looked at: simulated once more from what a user names, with all their frames,
 * and how they are to be shown. What writes files of them includes this and nothing of the environment. */
#ifndef DS_EPISODE_EPISODE_H
#define DS_EPISODE_EPISODE_H

#include "config/settings.h"
#include "snapshot/snapshot.h"

/* One episode. Owned by the struct; texts are one line each, "" where there is nothing to say, and may hold
 * anything else: whoever writes them into a file escapes them by its rules. */
typedef struct ds_view_episode {
    char *title;     /* "torus, cmaes, seed 3, evaluation 17", "torus at center" */
    char *env, *opt; /* ids; opt is "" where the point is not of a run */
    char *settings;  /* of the environment: which scene it is, and what is not as it is by default */
    uint64_t seed;   /* of the run, else of the environment */
    uint64_t number; /* of the evaluation in its run; 0 = not of a run */
    double loss;     /* as simulated now; not finite where the episode has none */
    uint64_t whole;  /* frames of an episode that its rules do not end early, start included */
    ds_snapshot *scene;
} ds_view_episode;

/* How a user wants them shown. Zero (or NULL) in a field = not told: each format has its own habit, and one
 * that has no use for an option leaves it. */
typedef struct ds_view_options {
    int width, height;         /* pixels */
    double fps;                /* frames of the file per second of playing */
    uint64_t every;            /* take each so many-th frame, and the last one; 0 = what suits the format */
    int camera_set;            /* are azimuth and elevation told? */
    double azimuth, elevation; /* of the eye, degrees: from +z towards +x, above the horizon */
    double zoom;               /* 1 = the box of the scene fits */
    double orbit;           /* degrees by which the eye turns about the vertical from first to last frame */
    const char *background; /* "#rrggbb", checked, or NULL */
    const char *caption;    /* text instead of the title; "" = none */
} ds_view_options;

/* What is written into one file. */
typedef struct ds_view_episodes {
    ds_view_episode *item; /* side by side, in this order; the scene of each has a frame and all its frames */
    size_t count;          /* at least 1 */
    ds_view_options options;
} ds_view_episodes;

/* Simulates the best evaluation (id 0) or evaluation `id` of the run in a folder. The run may still go on.
 * `over` (or NULL) holds settings that win over those of the run. *out is to be cleared in any case; frames
 * by DS_KEEP_*. The scene is NULL where the environment offers none (ds_view_episode_seen() says so).
 * DS_EXIT_ENV where the episode fails. */
int ds_view_episode_of_run(const char *folder, uint64_t id, const ds_settings *over, uint32_t keep,
                           ds_view_episode *out, ds_error *e);

/* The same of a point (results/point.h) of the environment that the settings name, with its noise 1. */
int ds_view_episode_of_point(const ds_settings *settings, const char *x, uint32_t keep, ds_view_episode *out,
                             ds_error *e);

/* DS_EXIT_PLUGIN and a line where it has no scene. */
int ds_view_episode_seen(const ds_view_episode *episode, ds_error *e);

void ds_view_episode_clear(ds_view_episode *episode);
void ds_view_episodes_clear(ds_view_episodes *episodes);

#endif
