/* SPDX-License-Identifier: Apache-2.0 */
/* render.h - draws one frame of a scene into pixels, in software: no display, no graphics library. */
#ifndef DS_RENDER_RENDER_H
#define DS_RENDER_RENDER_H

#include <stdint.h>

#include "snapshot/snapshot.h"

/* What of a scene is drawn. */
enum {
    DS_RENDER_SCENE = 1,  /* material, tools, fixed bodies */
    DS_RENDER_TARGET = 2, /* the target as a solid body (its first kept frame), with the fixed bodies */
    DS_RENDER_TRACE =
        8, /* the way of its rigid bodies through the kept frames so far, where few of them move */
    DS_RENDER_GHOST = 4 /* with DS_RENDER_SCENE: the target as a translucent body over the scene */
};

/* From where a scene is seen, and what is behind it. A function that takes one takes NULL for the usual one:
 * a three-quarter view of info.box as a whole, on white. */
typedef struct ds_render_eye {
    int turned;                /* do the angles hold? else those of the usual view */
    double azimuth, elevation; /* degrees, from +z towards +x, and above the horizon */
    double zoom;               /* 1 = the box fills the picture */
    int around; /* is it one of many places on a circle about the scene? Then all have one distance */
    uint32_t background; /* 0xRRGGBB */
} ds_render_eye;

/* The usual one, to be changed. */
ds_render_eye ds_render_usual_eye(const ds_snapshot *s);

/* Draws kept frame k of a scene that is not flat into width x height pixels 0x00RRGGBB, row by row from the
 * top, as seen by `eye` (or NULL). Elements with
 * non-finite positions are left out. The same input gives the same pixels. Returns 0 or DS_EXIT_MEMORY. */
int ds_render_seen(const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye, int width,
                   int height, uint32_t *pixels, ds_error *e);

/* The same by the usual eye. */
int ds_render(const ds_snapshot *s, uint64_t k, uint32_t what, int width, int height, uint32_t *pixels,
              ds_error *e);

/* Is there a target body, and is it better shown beside the scene (a dense shape) than over it (a marker)? */
int ds_render_has_target(const ds_snapshot *s);
int ds_render_target_beside(const ds_snapshot *s);

/* Are there frames between the first and the last from which a way can be drawn? */
int ds_render_has_trace(const ds_snapshot *s);

/* Where ds_render_seen() puts a point of the world in its picture, in pixels from the top left. 0
 * = nowhere. */
int ds_render_project(const ds_snapshot *s, const ds_render_eye *eye, int width, int height,
                      const double point[3], double xy[2]);

/* The radius with which particles (DS_BODY_POINTS) are drawn, m, by their first kept frame: dense ones are
 * drawn larger than they are. 0 for other shapes and for a scene without frames. */
double ds_render_radius(const ds_snapshot *s, uint64_t b);

/* How far above the horizon the camera stands, rad. */
double ds_render_elevation(const ds_snapshot *s);

/* A round length of the scene, m: the spacing of the grid on its floor. */
double ds_render_spacing(const ds_snapshot *s);

/* The colour (sRGB) of a body by its role and variety. */
uint32_t ds_render_color(uint32_t role, uint32_t variety);

#endif
