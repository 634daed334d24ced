/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - averaging of images and their mean square difference (see image.h). */
#include "image.h"

void image_halve(uint32_t size, uint32_t channels, const double *in, double *out)
{
    const size_t row = 2 * (size_t)size * channels;
    for (size_t r = 0; r < size; r++) {
        for (size_t c = 0; c < size; c++) {
            const double *a = in + 2 * r * row + 2 * c * channels;
            for (size_t k = 0; k < channels; k++) {
                out[(r * size + c) * channels + k] =
                    0.25 * ((a[k] + a[channels + k]) + (a[row + k] + a[row + channels + k]));
            }
        }
    }
}

void image_halve_adjoint(uint32_t size, uint32_t channels, const double *out_bar, double *in_bar)
{
    const size_t row = 2 * (size_t)size * channels;
    for (size_t r = 0; r < 2 * (size_t)size; r++) {
        for (size_t c = 0; c < 2 * (size_t)size; c++) {
            const double *g = out_bar + (r / 2 * size + c / 2) * channels;
            for (size_t k = 0; k < channels; k++) {
                in_bar[r * row + c * channels + k] = 0.25 * g[k];
            }
        }
    }
}

/* Eight sums side by side, so that additions do not wait for each other, joined in one order. */
enum { SUMS = 8 };

double image_mean_square(size_t n, const double *a, const double *b)
{
    double sum[SUMS] = {0}, all = 0;
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS) {
        for (size_t k = 0; k < SUMS; k++) {
            double d = a[i + k] - b[i + k];
            sum[k] += d * d;
        }
    }
    for (; i < n; i++) {
        sum[i % SUMS] += (a[i] - b[i]) * (a[i] - b[i]);
    }
    for (size_t k = 0; k < SUMS; k++) {
        all += sum[k];
    }
    return all / (double)n;
}

void image_mean_square_adjoint(size_t n, const double *a, const double *b, double weight, double *a_bar)
{
    const double factor = 2 * weight / (double)n;
    for (size_t i = 0; i < n; i++) {
        a_bar[i] += factor * (a[i] - b[i]);
    }
}
