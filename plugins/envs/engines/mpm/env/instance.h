/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the plasticine environments as its file describes it, and an instance of it. */
#ifndef MPM_INSTANCE_H
#define MPM_INSTANCE_H

#include "episode.h"
#include "engines/mpm/loss/target.h"

#include <diffsim/host.h>

typedef struct mpm_task {
    mpm_scene scene;
    /* Changes the scene for variant 1..5, where more than the target differs; may be NULL. */
    void (*vary)(mpm_scene *scene, uint32_t variant);
    /* The built-in targets: the actions that make them,
     * [MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][action_dim], and the file beside the plugin that holds
     * the results; or, where that is NULL, where the particles go. */
    const double *moves;
    const char *target_file;
    mpm_place *place;
} mpm_task;

/* Frames and metrics of the last episode. */
typedef struct mpm_recording {
    uint64_t frames;       /* kept so far; 0 = none */
    double *positions;     /* [frames][particles][3] */
    mpm_pose *poses;       /* [frames][tools] */
    double *metrics;       /* [MPM_METRICS][steps + 1] */
    double *target_points; /* [target_count][3] */
    uint64_t target_count;
} mpm_recording;

enum { MPM_METRICS = 10 };

typedef struct mpm_env {
    const ds_host *host;
    mpm_scene scene; /* the task's, for this variant */
    mpm_episode episode;
    uint32_t particles_asked; /* parameter `particles` */
    uint32_t observed_asked;  /* parameter `observed` */
    mpm_recording recording;
} mpm_env;

#endif
