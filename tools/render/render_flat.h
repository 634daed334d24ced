/* SPDX-License-Identifier: Apache-2.0 */
/* render_flat.h - drawing on a canvas: a frame of a flat (2-D) scene with axes; axes and numbers over other
 * scenes. */
#ifndef DS_RENDER_RENDER_FLAT_H
#define DS_RENDER_RENDER_FLAT_H

#include "plot/canvas.h"
#include "render/render.h"

/* Draws kept frame k into the rectangle, seen along -z with equal scales of x and y. `what` and `eye` (zoom
 * and background) as in render.h; `text` is the text size relative to the default. */
void ds_flat_draw(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                  double x, double y, double w, double h, double text);

/* ---- text over scenes that are not flat: axes with a length, and numbers that pair marks with targets ----
 */

/* Draws over the image of ds_render_seen() of kept frame k at x, y with this size; `text` is the text size
 * relative to the default. */
void ds_overlay_draw(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                     double x, double y, int w, int h, double text);

/* Does each target belong to one mark: rigid bodies with equal numbers of elements? */
int ds_overlay_has_pairs(const ds_snapshot *s);

#endif
