/* SPDX-License-Identifier: Apache-2.0 */
/* setup_bodies.h - materials and bodies of a scene file. */
#ifndef MPM_SETUP_BODIES_H
#define MPM_SETUP_BODIES_H

#include "engines/physics/mpm/env/setup_values.h"

void mpm_setup_material_of(mpm_setup_reader *r, const scene_section *s);
/* All sections [body NAME]. */
void mpm_setup_bodies(mpm_setup_reader *r);
/* Adds the body of a section to a scene: the setup's, or that of target shapes. */
void mpm_setup_body(mpm_setup_reader *r, const scene_section *s, mpm_scene *scene);
/* The number of the body with a name; n_bodies if there is none. */
uint32_t mpm_setup_body_number(const mpm_task *task, const char *name);

/* ---- a body alone ---- */

/* What fills a scene of one body: the points of a .ply file, or `count` points inside a closed mesh. */
typedef struct mpm_filling {
    const char *path;
    double scale, center[3]; /* where the file's origin goes */
    uint32_t count;
} mpm_filling;

/* Fills a setup of zeros with this body alone, for programs that want its particles: an episode of one step,
 * with a small tool that does not move. Reports failures to the host. */
ds_status mpm_setup_fill(mpm_setup *setup, const mpm_filling *filling, const ds_host *host);

#endif
