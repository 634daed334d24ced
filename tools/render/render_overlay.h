/* SPDX-License-Identifier: Apache-2.0 */
/* render_overlay.h - what is written over a picture of a scene that is not flat: axes with a length, and
 * which mark belongs to which target. */
#ifndef DS_RENDER_RENDER_OVERLAY_H
#define DS_RENDER_RENDER_OVERLAY_H

#include "plot/canvas.h"
#include "render/render.h"

/* Draws it over what ds_render_seen() has drawn of kept frame k at x, y with this size; the size of
 * the text in times of the usual one. */
void ds_overlay_draw(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                     double x, double y, int w, int h, double text);

/* Does the scene have targets of which each belongs to one mark: rigid bodies with as many elements? */
int ds_overlay_has_pairs(const ds_snapshot *s);

#endif
