/* SPDX-License-Identifier: Apache-2.0 */
/* dibr_internal.h - what the files of the interpolating rasterizer share: what is interpolated over a
 * face, and how a pixel gets its colour from it (dibr_shade.c). */
#ifndef DS_ENGINES_RENDER_DIBR_INTERNAL_H
#define DS_ENGINES_RENDER_DIBR_INTERNAL_H

#include "dibr.h"

/* Of a vertex, and interpolated of a pixel; what a mode does not use is 0. */
typedef struct dibr_attributes {
    double color[3], uv[2], normal[3], position[3];
} dibr_attributes;
enum { DIBR_ATTRIBUTES = sizeof(dibr_attributes) / sizeof(double) };

/* The colour of a pixel with the attributes `a`, seen from `eye`. */
void dibr_shade(const dibr_options *o, const dibr_surface *s, const double eye[3], const dibr_attributes *a,
                double rgb[3]);

/* *a_bar += and the texture and harmonics of *bar +=, eye_bar += (NULL: not wanted) the derivatives of
 * what has the derivatives g by the colour. */
void dibr_shade_adjoint(const dibr_options *o, const dibr_surface *s, const double eye[3],
                        const dibr_attributes *a, const double g[3], dibr_attributes *a_bar,
                        const dibr_surface *bar, double eye_bar[3]);

/* The 9 bands of the harmonics along a unit vector, and their derivatives. */
void dibr_bands(const double n[3], double band[DIBR_HARMONIC_BANDS]);
void dibr_bands_adjoint(const double n[3], const double band_bar[DIBR_HARMONIC_BANDS], double n_bar[3]);

#endif
