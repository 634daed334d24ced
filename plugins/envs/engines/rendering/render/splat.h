/* SPDX-License-Identifier: Apache-2.0 */
/* splat.h - clouds of particles as soft discs: silhouettes seen by any number of cameras, with exact
 * derivatives.
 *
 * A particle of radius r (m) at depth Z has the support R^2 = (2 r s / Z)^2 + (2 / size)^2 in the image plane
 * (s: scale of the camera), and with u = (distance to its centre)^2 / R^2
 *
 *     a(u) = opacity (1 - u)^3 for u < 1, else 0;   alpha = 1 - prod_i (1 - a_i).
 *
 * The profile has compact support and two continuous derivatives. It needs no exponential and no cut-off, at
 * which the image would jump, as a Gaussian or a logistic edge would. With opacity < 1 no pixel hides the
 * particles behind it from the derivative. The opacity falls to one half at 0.91 r. The second term of R^2 is
 * one pixel, so that even a small disc is never lost between pixel centres. */
#ifndef DS_ENGINES_RENDER_SPLAT_H
#define DS_ENGINES_RENDER_SPLAT_H

#include "engines/rendering/render/camera.h"

#include <diffsim/base.h>

typedef struct splat_options {
    uint32_t size;    /* pixels per side, RENDER_MIN_SIZE to RENDER_MAX_SIZE */
    uint32_t cameras; /* 1 to 64 */
    double opacity;   /* in (0, 0.99] */
    uint32_t threads;
    const char *isa; /* as softras_options */
} splat_options;

/* One camera, opacity 0.9, one thread. */
splat_options splat_defaults(uint32_t size);

/* Holds the last images with the data for their derivatives. */
typedef struct splat splat;

/* Returns NULL, with a line in `text`, as softras_create(). */
splat *splat_create(const splat_options *o, uint32_t particles, ds_status *status, char text[RENDER_TEXT]);
void splat_destroy(splat *s);
size_t splat_memory(const splat *s);

/* image[cameras][size][size] = alpha of particles p[3 particles] with radius[particles] (radius_stride 1) or
 * one radius for all (0), > 0. Particles in front of the near plane, behind a camera, or not finite are not
 * drawn (mesh.h); particles beyond far are. `report` (may be NULL) sums over the cameras. Returns DS_E_ARG
 * for an unusable camera, or DS_E_NOMEM. */
ds_status splat_draw(splat *s, const camera *c, const double *p, const double *radius, size_t radius_stride,
                     double *image, render_report *report);

/* p_bar[3 particles] +=, radius_bar += (with its stride: 1, or 0 for one common number), bar[cameras] +=
 * derivatives of sum(image_bar * image) for the last images; NULL: not wanted. Returns DS_E_STATE before the
 * first image. */
ds_status splat_adjoint(splat *s, const double *image_bar, double *p_bar, double *radius_bar,
                        size_t radius_stride, camera_pose *bar);

/* image_dot[cameras][size][size] = the change of the last images along p_dot[3 particles], radius_dot (with
 * its stride) and dot[cameras]; NULL: unchanged. Returns DS_E_STATE before the first image, or DS_E_NOMEM. */
ds_status splat_tangent(splat *s, const double *p_dot, const double *radius_dot, size_t radius_stride,
                        const camera_pose *dot, double *image_dot);

/* splat_draw() and splat_adjoint() without bins, threads and vectors, for tests; image_bar NULL: images only.
 */
ds_status splat_plain(const splat_options *o, uint32_t particles, const camera *c, const double *p,
                      const double *radius, size_t radius_stride, double *image, const double *image_bar,
                      double *p_bar, double *radius_bar, camera_pose *bar);

#endif
