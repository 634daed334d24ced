/* SPDX-License-Identifier: Apache-2.0 */
/* setup.h - the task that a scene file describes. Sections: [scene], [grid], [material NAME], [body NAME],
 * [tool NAME], [target], [target NAME], [actions], [loss], [loss NAME], [camera]; docs/scenes.md lists their
 * keys. */
#ifndef MPM_SETUP_H
#define MPM_SETUP_H

#include "engines/data/scene_params.h"
#include "engines/physics/mpm/env/env.h"

/* Owns what the task refers to. */
typedef struct mpm_setup {
    mpm_task task;
    mpm_choices choices;
    scene_file *file;
    mpm_scene shapes;     /* that fill the target */
    mpm_domain domain;    /* of a section [grid] */
    scene_params cameras; /* mpm_image_params, of sections [camera] and [loss] */
    ds_memory memory;
} mpm_setup;

/* Fills a setup of zeros, which must stay where it is, from a file that scene_file_read() or
 * scene_file_parse() has opened (NULL: no memory), and owns it. A target file that is missing beside the
 * scene is looked for among the data of the plugins. Reports the first mistake to the host, with file and
 * line. */
ds_status mpm_setup_read(mpm_setup *setup, scene_file *file, const ds_host *host);
/* What fills a scene of one body: the points of a .ply file, or `count` points inside a closed mesh. */
typedef struct mpm_filling {
    const char *path;
    double scale, center[3]; /* where the file's origin goes */
    uint32_t count;
} mpm_filling;

/* Fills a setup of zeros with this body alone, for programs that want its particles: an episode of one step,
 * with a small tool that does not move. Reports failures to the host. */
ds_status mpm_setup_fill(mpm_setup *setup, const mpm_filling *filling, const ds_host *host);
void mpm_setup_free(mpm_setup *setup);

/* Opens the scene of a preset: the file, or with preset small the one that its key `small` names. NULL
 * without memory. */
scene_file *mpm_setup_file(const char *path, bool is_small);

#endif
