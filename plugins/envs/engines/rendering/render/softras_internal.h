/* SPDX-License-Identifier: Apache-2.0 */
/* softras_internal.h - faces in the image plane; shared with the reference implementation in the tests. */
#ifndef DS_ENGINES_RENDER_SOFTRAS_INTERNAL_H
#define DS_ENGINES_RENDER_SOFTRAS_INTERNAL_H

#include "engines/rendering/render/image.h"
#include "engines/rendering/render/softras.h"

/* ln(1e4 - 1): a face reaches a pixel outside it while A is at least 1e-4. */
#define SOFTRAS_REACH 9.210240366975849

/* Twice the area in the image plane below which a face is a line. */
#define SOFTRAS_FLAT 1e-12

/* sigma of an image of this size. */
double softras_sigma(const softras_options *o);
/* Pixels per side before averaging: twice the size with antialiasing. */
uint32_t softras_drawn_size(const softras_options *o);
/* Returns 0, or 1 and a line. */
int softras_check(const softras_options *o, char text[RENDER_TEXT]);

/* Classifies a face by the images q of its corners (camera_project()). */
typedef enum softras_kind {
    SOFTRAS_DRAWN,
    SOFTRAS_LINE, /* drawn, without area */
    SOFTRAS_BEHIND,
    SOFTRAS_BROKEN
} softras_kind;
softras_kind softras_kind_of(const camera *c, const uint32_t v[3], const double *q, const double *color);

/* Pixels that a face may reach, and its place in a report. */
render_box softras_box(const softras_options *o, const double *const at[3]);
void softras_count(softras_kind kind, const render_box *box, render_report *report);

#endif
