/* SPDX-License-Identifier: Apache-2.0 */
/* softras_plain.h - reference implementation of the soft rasterizer, for tests and benchmarks. */
#ifndef DS_TEST_SOFTRAS_PLAIN_H
#define DS_TEST_SOFTRAS_PLAIN_H

#include "engines/rendering/render/softras.h"

/* Box filter: pixel (r, c) of the size x size image `out` is the mean of the 2 x 2 pixels (2r.., 2c..) of
 * `in`, which is twice as large. */
void image_halve(uint32_t size, uint32_t channels, const double *in, double *out);
/* in_bar = the derivatives by `in`, from the derivatives out_bar by `out`. */
void image_halve_adjoint(uint32_t size, uint32_t channels, const double *out_bar, double *in_bar);

/* As softras_draw() and softras_adjoint() of a new renderer, pixel by pixel over all faces, in the form of
 * the formulas: slow, one thread, no bins, no vectors. `image` NULL: derivatives only; image_bar NULL: image
 * only. */
ds_status softras_plain(const softras_options *o, const render_mesh *m, const camera *c, const double *p,
                        const double *color, double *image, const double *image_bar, const softras_bar *bar,
                        render_report *report);

#endif
