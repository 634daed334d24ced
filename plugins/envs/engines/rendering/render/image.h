/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - images as arrays of doubles, [row][column][channel], row 0 on top: averaging, and the mean square
 * of a difference. A video is its frames one after the other. */
#ifndef DS_ENGINES_RENDER_IMAGE_H
#define DS_ENGINES_RENDER_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Box filter: pixel (r, c) of the size x size image `out` is the mean of the 2 x 2 pixels (2r.., 2c..) of the
 * image `in`, which is twice as large. Their own adjoint up to the factor 1/4. */
void image_halve(uint32_t size, uint32_t channels, const double *in, double *out);
/* in_bar = the derivatives by `in` of what has the derivatives out_bar by `out`. */
void image_halve_adjoint(uint32_t size, uint32_t channels, const double *out_bar, double *in_bar);

/* Mean of (a - b)^2 over n numbers: the loss of an image, or of a video. */
double image_mean_square(size_t n, const double *a, const double *b);
/* a_bar[n] += weight 2 (a - b) / n, the derivatives of weight times that loss by a. */
void image_mean_square_adjoint(size_t n, const double *a, const double *b, double weight, double *a_bar);

#endif
