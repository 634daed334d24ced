/* SPDX-License-Identifier: Apache-2.0 */
/* render.h - draws one frame of a scene into pixels, in software: no display and no graphics library needed.
 */
#ifndef DS_RENDER_RENDER_H
#define DS_RENDER_RENDER_H

#include "snapshot/snapshot.h"

#include <stdint.h>

/* What to draw of a scene. */
enum {
    DS_RENDER_SCENE = 1,  /* material, tools, fixed bodies */
    DS_RENDER_TARGET = 2, /* the target as a solid body (its first kept frame), and the fixed bodies */
    DS_RENDER_TRACE =
        8, /* the trajectories of its rigid bodies through the kept frames so far, if few of them move */
    DS_RENDER_GHOST = 4 /* with DS_RENDER_SCENE: the target as a translucent body over the scene */
};

/* Camera and background. NULL = the default: all of info.box from the scene's own camera, else in a
 * three-quarter view, on white. */
typedef struct ds_render_eye {
    int turned;                /* use the angles; 0 = those of the default view */
    double azimuth, elevation; /* degrees, from +z towards +x, and above the horizon */
    double zoom;               /* 1 = the box fills the image */
    int around; /* one of several positions on a circle around the scene, which all have the same distance */
    uint32_t background; /* 0xRRGGBB */
} ds_render_eye;

/* The form of ds_render_eye_read(), for messages and usage texts. */
#define DS_RENDER_EYE "AZIMUTH,ELEVATION[,ZOOM]: -360..360, -90..90 degrees, 0.05..50"

/* Reads a camera in that form, such as "30,20"; zoom is 1 unless given. Returns 0 for another text. */
int ds_render_eye_read(const char *text, ds_render_eye *out);

/* The default camera, to be changed. */
ds_render_eye ds_render_usual_eye(const ds_snapshot *s);

/* Draws kept frame k of a scene that is not flat into width x height pixels 0x00RRGGBB, row by row from the
 * top, as seen from `eye` (NULL = default). Elements with positions that are not finite are left out. The
 * same input gives the same pixels. Returns 0 or DS_EXIT_MEMORY. */
int ds_render_seen(const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye, int width,
                   int height, uint32_t *pixels, ds_error *e);

/* The same from the default camera. */
int ds_render(const ds_snapshot *s, uint64_t k, uint32_t what, int width, int height, uint32_t *pixels,
              ds_error *e);

/* Is there a target body that is better shown next to the scene (a dense shape) than over it (a marker)? */
int ds_render_has_target(const ds_snapshot *s);
int ds_render_target_beside(const ds_snapshot *s);

/* Are there frames between the first and the last to draw a trajectory from? */
int ds_render_has_trace(const ds_snapshot *s);

/* The position of a point of the world in the image of ds_render_seen(), in pixels from the top left. Returns
 * 0 if it is not visible. */
int ds_render_project(const ds_snapshot *s, const ds_render_eye *eye, int width, int height,
                      const double point[3], double xy[2]);

/* The radius in m with which particles (DS_BODY_POINTS) are drawn, from their first kept frame: dense ones
 * are enlarged. 0 for other shapes and for a scene without frames. */
double ds_render_radius(const ds_snapshot *s, uint64_t b);

/* Elevation of the camera above the horizon, rad. */
double ds_render_elevation(const ds_snapshot *s);

/* A round length of the scene, m: the spacing of the floor grid. */
double ds_render_spacing(const ds_snapshot *s);

/* The colour (sRGB) of a body by role and variety. */
uint32_t ds_render_color(uint32_t role, uint32_t variety);

#endif
