/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the plasticine environments as its file describes it, and an instance of it. */
#ifndef MPM_INSTANCE_H
#define MPM_INSTANCE_H

#include "image.h"
#include "engines/physics/mpm/loss/target.h"
#include "yield.h"

#include <diffsim/helper/env_kit.h>

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

typedef struct mpm_env {
    ds_env_kit kit;  /* first */
    mpm_scene scene; /* the task's, for this variant */
    mpm_episode episode;
    mpm_image image;          /* loss = image */
    mpm_net net;              /* where a network is wired */
    uint32_t particles_asked; /* parameter `particles` */
    uint32_t observed_asked;  /* parameter `observed` */
    /* What is drawn of the last episode, once a scene is wanted. */
    double *positions;     /* [steps + 1][particles][3] */
    mpm_pose *poses;       /* [steps + 1][tools] */
    double *target_points; /* as many as the target, the last body, counts */
} mpm_env;

#endif
