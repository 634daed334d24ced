/* SPDX-License-Identifier: Apache-2.0 */
/* ladle.h - the surface of a ladle, to draw it. */
#ifndef MPM_LADLE_MESH_H
#define MPM_LADLE_MESH_H

#include <stdint.h>

enum {
    MPM_LADLE_RINGS = 25,
    MPM_LADLE_SECTORS = 48, /* columns */
    MPM_LADLE_POINTS = MPM_LADLE_RINGS * MPM_LADLE_SECTORS,
    MPM_LADLE_INDICES = (MPM_LADLE_RINGS - 1) * MPM_LADLE_SECTORS * 6
};

/* The half spherical shell of a ladle with this radius and half thickness, revolved about y: from the middle
 * outside over the rim to the middle inside. point: [MPM_LADLE_POINTS][3]; index: [MPM_LADLE_INDICES], three
 * per triangle. */
void mpm_ladle_mesh(double radius, double half, double *point, uint32_t *index);

#endif
