/* SPDX-License-Identifier: Apache-2.0 */
/* pan_shape.h - the pan of pan.c as it is drawn: rings of points, and the triangles between them. */
#ifndef DS_ENGINES_CLOTH_PAN_SHAPE_H
#define DS_ENGINES_CLOTH_PAN_SHAPE_H

#include "touch.h"

#include <stdint.h>

enum {
    PAN_RINGS = 9,
    PAN_SECTORS = 40,
    PAN_POINTS = PAN_RINGS * PAN_SECTORS,
    PAN_CORNERS = 6 * (PAN_RINGS - 1) * PAN_SECTORS
};

/* PAN_CORNERS numbers of points, three for each triangle. */
void pan_shape_triangles(uint32_t *triangle);

/* The PAN_POINTS points (x, y, z) of a pan at a pose: a flat part with small steps, then the
 * profile of the rim. */
void pan_shape_points(const touch_pan *pan, const touch_pose *at, double *out);

#endif
