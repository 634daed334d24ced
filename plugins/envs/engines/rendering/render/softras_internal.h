/* SPDX-License-Identifier: Apache-2.0 */
/* softras_internal.h - what the files of the soft rasterizer share: the faces in the image plane
 * (softras_faces.c), what becomes of the tiles (softras.c), and the oracle of both (softras_plain.c). */
#ifndef DS_ENGINES_RENDER_SOFTRAS_INTERNAL_H
#define DS_ENGINES_RENDER_SOFTRAS_INTERNAL_H

#include "bins.h"
#include "softras.h"

/* ln(1e4 - 1): a pixel outside of a face is reached while A is at least 1e-4. */
#define SOFTRAS_REACH 9.210240366975849

/* Twice the area, in the image plane, below which a face is a line. */
#define SOFTRAS_FLAT 1e-12

/* sigma of an image of this size. */
double softras_sigma(const softras_options *o);
/* Pixels per side of what is drawn: twice the size with antialiasing. */
uint32_t softras_drawn_size(const softras_options *o);
/* 0, or 1 and a line. */
int softras_check(const softras_options *o, char text[RENDER_TEXT]);

/* What a face is, from the images q of its corners (camera_project()). */
typedef enum softras_kind {
    SOFTRAS_DRAWN,
    SOFTRAS_LINE, /* drawn, without area */
    SOFTRAS_BEHIND,
    SOFTRAS_BROKEN
} softras_kind;
softras_kind softras_kind_of(const camera *c, const uint32_t v[3], const double *q, const double *color);

/* Pixels that a face may reach, and what it counts as in a report. */
render_box softras_box(const softras_options *o, const double *const at[3]);
void softras_count(softras_kind kind, const render_box *box, render_report *report);

/* The faces for the kernels, from the images of the vertices; those that are not drawn have an empty box. */
void softras_faces(const softras_options *o, const render_mesh *m, const camera *c, const double *q,
                   const double *color, softras_face *face, render_report *report);

/* As softras_draw() and softras_adjoint() of a new renderer, pixel by pixel over all faces, written as the
 * formulas are: slow, for tests of the fast one and for measurements. One thread, no binning, no vectors.
 * `image` NULL: derivatives only, image_bar NULL: the image only. */
ds_status softras_plain(const softras_options *o, const render_mesh *m, const camera *c, const double *p,
                        const double *color, double *image, const double *image_bar, const softras_bar *bar,
                        render_report *report);

#endif
