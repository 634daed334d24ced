/* SPDX-License-Identifier: Apache-2.0 */
/* dibr_internal.h - how a pixel of DIB-R gets its colour from interpolated attributes. */
#ifndef DS_ENGINES_RENDER_DIBR_INTERNAL_H
#define DS_ENGINES_RENDER_DIBR_INTERNAL_H

#include "engines/rendering/render/dibr.h"

/* Attributes of a vertex, or interpolated at a pixel; 0 if a mode does not use them. */
typedef struct dibr_attributes {
    double color[3], uv[2], normal[3], position[3];
} dibr_attributes;
enum { DIBR_ATTRIBUTES = sizeof(dibr_attributes) / sizeof(double) };

/* The colour of a pixel with the attributes `a`, seen from `eye`. */
void dibr_shade(const dibr_options *o, const dibr_surface *s, const double eye[3], const dibr_attributes *a,
                double rgb[3]);

/* *a_bar += and the texture and harmonics of *bar +=, eye_bar += (NULL: not wanted) the derivatives, from the
 * derivatives g by the colour. Also the lighting of *bar. */
void dibr_shade_adjoint(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const double g[3], dibr_attributes *a_bar,
                        const dibr_surface *bar, double eye_bar[3]);

/* *rgb_dot = the change of the colour along the changes of the attributes, the eye, and the texture and
 * harmonics of *dot (NULL: unchanged), and its lighting. */
void dibr_shade_tangent(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const dibr_attributes *a_dot, const dibr_dot *dot,
                        const double eye_dot[3], double rgb_dot[3]);

/* The 9 bands of the harmonics along a unit vector, and their derivatives. */
void dibr_bands(const double n[3], double band[DIBR_HARMONIC_BANDS]);

#endif
