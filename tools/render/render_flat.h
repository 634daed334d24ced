/* SPDX-License-Identifier: Apache-2.0 */
/* render_flat.h - draws one frame of a flat (2-D) scene with axes on a canvas. */
#ifndef DS_RENDER_RENDER_FLAT_H
#define DS_RENDER_RENDER_FLAT_H

#include "plot/canvas.h"
#include "render/render.h"

/* Draws kept frame k into the rectangle, seen along -z, x and y to the same scale; `what` and `eye` (its zoom
 * and background) as in render.h, the size of the text in times of the usual one. */
void ds_flat_draw(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                  double x, double y, double w, double h, double text);

#endif
