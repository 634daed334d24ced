/* SPDX-License-Identifier: Apache-2.0 */
/* softras_plain.h - softras.h pixel by pixel over all faces, written as its formulas are: slow, for tests
 * of the fast one and for measurements. One thread, no binning, no vectors. */
#ifndef DS_ENGINES_RENDER_SOFTRAS_PLAIN_H
#define DS_ENGINES_RENDER_SOFTRAS_PLAIN_H

#include "softras.h"

/* As softras_draw() and softras_adjoint() of a new renderer; `image` NULL: derivatives only, image_bar
 * NULL: the image only. */
ds_status softras_plain(const softras_options *o, const render_mesh *m, const camera *c, const double *p,
                        const double *color, double *image, const double *image_bar, const softras_bar *bar,
                        render_report *report);

#endif
