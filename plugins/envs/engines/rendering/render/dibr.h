/* SPDX-License-Identifier: Apache-2.0 */
/* dibr.h - rasterization by interpolation, with a soft silhouette on the background: W. Chen et al.,
 * "Learning to Predict 3D Objects with an Interpolation-based Differentiable Renderer", NeurIPS 2019.
 *
 * A pixel whose centre lies in a front face (its outside is visible) shows the nearest such face by linearly
 * interpolated depth, with attributes interpolated by barycentric coordinates in the image; alpha = 1. Any
 * other pixel shows the background with alpha = 1 - prod_f (1 - exp(-7000 D_f^2)), D_f the distance in the
 * image plane to the 30 nearest front faces whose bounding box, grown by 0.02, contains the pixel (ties by
 * index). The 4 channels of the image are colour and alpha. There is no derivative by depth, and none of the
 * silhouette by covered pixels; the faces that a pixel shows and reaches are held fixed.
 *
 * Colours:
 * - DIBR_COLOR: one per vertex.
 * - DIBR_TEXTURE: an image, looked up bilinearly at the interpolated u v in [0, 1], from its lower left
 *   corner;
 *   outside, its edge.
 * - DIBR_PHONG: (ambient + diffuse max(0, n.l)) t + specular max(r.e, 1e-5)^shine, clamped to [0, 1],
 *   r = 2 (n.l) n - l.
 * - DIBR_HARMONICS: t times the light of 9 spherical harmonics along n (R. Ramamoorthi, P. Hanrahan, SIGGRAPH
 *   2001).
 *
 * t is the colour of the vertices, or of the texture if there is one; n the interpolated and normalised
 * normal of the vertices (the mean of their faces' normals, weighted by area); e the direction to the eye, in
 * world space. Faces are counter-clockwise seen from outside. */
#ifndef DS_ENGINES_RENDER_DIBR_H
#define DS_ENGINES_RENDER_DIBR_H

#include "engines/rendering/render/camera.h"

#include <diffsim/base.h>

enum { DIBR_HARMONIC_BANDS = 9, DIBR_NEAREST = 30, DIBR_CHANNELS = 4 };

typedef enum dibr_mode { DIBR_COLOR = 0, DIBR_TEXTURE = 1, DIBR_PHONG = 2, DIBR_HARMONICS = 3 } dibr_mode;

typedef struct dibr_options {
    dibr_mode mode;
    uint32_t size; /* pixels per side */
    double background[3];
    double light[3]; /* DIBR_PHONG: unit vector towards the light */
    double ambient, diffuse, specular, shine;
    uint32_t texture_width, texture_height; /* 0: vertex colours */
    uint32_t threads;                       /* results do not depend on it */
} dibr_options;

/* Black background, one thread, light from above; ambient 0.5, diffuse 0.5, no specular, shine 1. */
dibr_options dibr_defaults(dibr_mode mode, uint32_t size);

/* The light of DIBR_PHONG: unit vector towards it, shares, exponent of the shine. */
typedef struct dibr_lighting {
    double light[3], ambient, diffuse, specular, shine;
} dibr_lighting;

/* The surface; what a mode does not use may be NULL. Also used for derivatives, which are added. */
typedef struct dibr_surface {
    double *p;               /* vertices x 3, m */
    double *color;           /* vertices x 3; without texture */
    double *uv;              /* vertices x 2 */
    double *texture;         /* height x width x 3, row 0 on top */
    double *harmonics;       /* 9 coefficients */
    dibr_lighting *lighting; /* derivatives only: the options and dibr_light() set it */
} dibr_surface;

typedef struct dibr dibr;

/* As softras_create(). */
dibr *dibr_create(const dibr_options *o, const render_mesh *m, ds_status *status, char text[RENDER_TEXT]);
void dibr_destroy(dibr *r);

/* Replaces the light of the options for the following images; all numbers must be finite, the shine >= 0. */
void dibr_light(dibr *r, const dibr_lighting *l);

/* Draws image[size][size][4], as softras_draw(). The surface must not change until the derivatives are taken.
 */
ds_status dibr_draw(dibr *r, const camera *c, const dibr_surface *s, double *image, render_report *report);

/* Adds to *bar (NULL members: not wanted) and *camera_bar (may be NULL) the derivatives of sum(image_bar *
 * image) for the last image. */
ds_status dibr_adjoint(dibr *r, const double *image_bar, const dibr_surface *bar, camera_pose *camera_bar);

/* Directions; NULL: unchanged. */
typedef struct dibr_dot {
    const double *p, *color, *uv, *texture, *harmonics;
    const camera_pose *camera;
    const dibr_lighting *lighting;
} dibr_dot;

/* image_dot = J v: the change of the last image along a direction, with the same rules. Returns DS_E_STATE
 * before the first image. */
ds_status dibr_tangent(dibr *r, const dibr_dot *dot, double *image_dot);

#endif
