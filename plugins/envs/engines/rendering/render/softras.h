/* SPDX-License-Identifier: Apache-2.0 */
/* softras.h - soft rasterization of triangles, image and exact derivatives: S. Liu, T. Li, W. Chen, H. Li,
 * "Soft Rasterizer: A Differentiable Renderer for Image-based 3D Reasoning", ICCV 2019, as gradSim (K. M.
 * Jatavallabhula et al., ICLR 2021) uses it.
 *
 * With D the distance from the centre of a pixel to the boundary of face f in the image plane, s = D^2 /
 * sigma inside the face and -D^2 / sigma outside (faces with s < -ln 9999 are ignored):
 *
 *     A_f = 1 / (1 + exp(-s)),   alpha = 1 - prod_f (1 - A_f)
 *     C = sum_f omega_f c_f + omega_b c_b,   omega_f ~ A_f exp(zn_f / gamma),   omega_b ~ exp(eps / gamma)
 *
 * with omegas normalised to the sum 1, zn = (far - z) / (far - near), and z the depth of the face at the
 * pixel by barycentric coordinates clipped to [0, 1] (faces with z outside [near, far] give no colour). Both
 * sides of faces are visible. sigma = sigma_scale 1e-5 (256 / size)^2 in units of half an image: edges are
 * blurred over 0.4 pixels.
 *
 * Two deliberate differences from the published code: the derivatives by the edges use the coordinates of the
 * nearest boundary point (not the clipped barycentric ones), and depth depends on the positions of the
 * vertices in the image.
 *
 * With gamma = 1e-4 colours have hard edges: only alpha is smooth. SOFTRAS_RGBA (C and alpha separately)
 * therefore has jumps that no derivative sees; SOFTRAS_OVER fades them out with alpha. */
#ifndef DS_ENGINES_RENDER_SOFTRAS_H
#define DS_ENGINES_RENDER_SOFTRAS_H

#include "engines/rendering/render/camera.h"

#include <diffsim/base.h>

typedef enum softras_mode {
    SOFTRAS_ALPHA = 0, /* 1 channel: alpha */
    SOFTRAS_OVER = 1,  /* 4 channels: alpha C + (1 - alpha) background, alpha */
    SOFTRAS_RGBA = 2   /* 4 channels: C, alpha */
} softras_mode;

typedef struct softras_options {
    softras_mode mode;
    uint32_t size; /* pixels per side, RENDER_MIN_SIZE to RENDER_MAX_SIZE (half of that with antialias) */
    int antialias; /* 1: draws at twice the size, then averages 2 x 2 pixels */
    double sigma_scale;   /* > 0 */
    double gamma;         /* > 0: how sharply the nearest face wins, in units of zn */
    double eps;           /* zn of the background */
    double background[3]; /* c_b */
    uint32_t threads;     /* 1 to RENDER_MAX_THREADS; results do not depend on it */
    const char *isa; /* instruction set: baseline, avx2, avx512; NULL = DS_ISA or the best; same results */
} softras_options;

/* As gradSim: sigma_scale 1, gamma 1e-4, eps 1e-3, black, no antialiasing, one thread. */
softras_options softras_defaults(softras_mode mode, uint32_t size);

uint32_t softras_channels(softras_mode mode);

/* Holds the last image with the data for its derivatives. One thread at a time. */
typedef struct softras softras;

/* Copies the mesh. Returns NULL, with a line in `text`, if an option is out of range, an index is invalid, or
 * memory is short (see *status). */
softras *softras_create(const softras_options *o, const render_mesh *m, ds_status *status,
                        char text[RENDER_TEXT]);
void softras_destroy(softras *r);

/* Bytes held, without those of the threads. */
size_t softras_memory(const softras *r);

/* image[size][size][channels] of vertices p[3 vertices] with the colours color[3 faces] (mesh.h; NULL in mode
 * SOFTRAS_ALPHA). The image is always finite; `report` (may be NULL) counts what was not drawn. Returns
 * DS_E_ARG if camera_check() refuses the camera, or DS_E_NOMEM. */
ds_status softras_draw(softras *r, const camera *c, const double *p, const double *color, double *image,
                       render_report *report);

/* Where derivatives are added; NULL: not wanted. */
typedef struct softras_bar {
    double *p;           /* vertices x 3 */
    double *color;       /* faces x 3 */
    camera_pose *camera; /* near and far are constants */
} softras_bar;

/* Adds the derivatives of sum(image_bar * image) for the last image: J' w for any w. The set of pixels that a
 * face reaches, the nearest edge and what is clipped are held fixed; skipped faces have no derivatives.
 * Returns DS_E_STATE before the first image, or DS_E_NOMEM. */
ds_status softras_adjoint(softras *r, const double *image_bar, const softras_bar *bar);

/* Directions; NULL: unchanged. */
typedef struct softras_dot {
    const double *p, *color;
    const camera_pose *camera;
} softras_dot;

/* image_dot = J v: the change of the last image along a direction, with the same rules as the adjoint. */
ds_status softras_tangent(softras *r, const softras_dot *dot, double *image_dot);

#endif
