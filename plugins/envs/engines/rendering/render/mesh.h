/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.h - triangles, limits and reports shared by the renderers, and light on faces: one colour per face
 * from ambient and directional white light (Lambert), as gradSim draws with SoftRas: c = t (ambient +
 * directional max(0, n . direction)), n the unit normal (v2 - v1) x (v0 - v1). */
#ifndef DS_ENGINES_RENDER_MESH_H
#define DS_ENGINES_RENDER_MESH_H

#include <stddef.h>
#include <stdint.h>

enum {
    RENDER_MIN_SIZE = 8, /* pixels per side of a square image */
    RENDER_MAX_SIZE = 1024,
    RENDER_MAX_COUNT = 10000000, /* vertices, faces, particles */
    RENDER_MAX_THREADS = 256,
    RENDER_TEXT = 256 /* length of a message */
};

/* Triangles over vertices that the caller keeps. Positions are x y z per vertex, m, in world space, y up.
 * Several bodies form one mesh, with their vertices one after the other. Corners are counter-clockwise seen
 * from outside. */
typedef struct render_mesh {
    uint32_t vertices, faces;
    const uint32_t *face; /* faces x 3, each below `vertices` */
} render_mesh;

/* What happened to the faces (or particles) of one image. A face is skipped if one of its vertices is behind
 * the camera or in front of the near plane (`behind`), or is not finite or farther than 1e8 half images from
 * the centre, or has a colour that is not finite (`broken`). A face seen edge-on (no area in the image,
 * `flat`) is drawn as a line. A face next to the image that changes no pixel counts as `outside`. */
typedef struct render_report {
    uint32_t drawn, flat; /* `flat` is part of `drawn` */
    uint32_t behind, broken, outside;
} render_report;

/* Returns 0 if all indices are valid, else 1 and a line. */
int render_mesh_check(const render_mesh *m, char text[RENDER_TEXT]);

/* ---- light ---- */

typedef struct light {
    double ambient, directional;
    double direction[3]; /* towards the light, unit length */
} light;

/* Ambient 0.5 and directional 0.5 from above. */
light light_default(void);

/* color[3 faces] = the colours of the faces; `texture` is one colour per face (texture_stride 3), or one for
 * all (texture_stride 0). A face without area gets ambient light only. */
void light_faces(const light *l, const render_mesh *m, const double *p, const double *texture,
                 size_t texture_stride, double *color);

/* p_bar[3 vertices] += and texture_bar += (with the stride of the texture) the derivatives, from the
 * derivatives color_bar by the colours; NULL: not wanted. At n . direction = 0 and for faces without area the
 * derivative by positions is taken as 0. */
void light_faces_adjoint(const light *l, const render_mesh *m, const double *p, const double *texture,
                         size_t texture_stride, const double *color_bar, double *p_bar, double *texture_bar);

/* color_dot = the change of the colours along p_dot and texture_dot; NULL: unchanged. */
void light_faces_tangent(const light *l, const render_mesh *m, const double *p, const double *texture,
                         size_t texture_stride, const double *p_dot, const double *texture_dot,
                         double *color_dot);

/* *bar += the derivatives by the light; color_dot += the change of the colours along a change of it. */
void light_adjoint(const light *l, const render_mesh *m, const double *p, const double *texture,
                   size_t texture_stride, const double *color_bar, light *bar);
void light_tangent(const light *l, const render_mesh *m, const double *p, const double *texture,
                   size_t texture_stride, const light *dot, double *color_dot);

#endif
