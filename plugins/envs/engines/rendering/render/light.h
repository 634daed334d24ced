/* SPDX-License-Identifier: Apache-2.0 */
/* light.h - one colour per face from ambient and directional white light (Lambert), as gradSim draws with
 * SoftRas: c = t (ambient + directional max(0, n . direction)), n the unit normal (v2 - v1) x (v0 - v1). */
#ifndef DS_ENGINES_RENDER_LIGHT_H
#define DS_ENGINES_RENDER_LIGHT_H

#include "mesh.h"

typedef struct light {
    double ambient, directional;
    double direction[3]; /* towards the light, unit length */
} light;

/* Ambient 0.5 and directional 0.5 from above. */
light light_default(void);

/* color[3 faces] = the colours of the faces; texture is one colour per face (texture_stride 3), or one for
 * all (texture_stride 0). A face without area has no normal: ambient light alone. */
void light_faces(const light *l, const render_mesh *m, const double *p, const double *texture,
                 size_t texture_stride, double *color);

/* p_bar[3 vertices] += and texture_bar += (with the stride of the texture) the derivatives of a number
 * whose derivatives by the colours are color_bar; NULL for what is not wanted. On the terminator (n .
 * direction = 0) and for faces without area 0 stands for the derivative by positions. */
void light_faces_adjoint(const light *l, const render_mesh *m, const double *p, const double *texture,
                         size_t texture_stride, const double *color_bar, double *p_bar, double *texture_bar);

/* color_dot = the change of the colours along p_dot and texture_dot; NULL for what stands still. */
void light_faces_tangent(const light *l, const render_mesh *m, const double *p, const double *texture,
                         size_t texture_stride, const double *p_dot, const double *texture_dot,
                         double *color_dot);

#endif
