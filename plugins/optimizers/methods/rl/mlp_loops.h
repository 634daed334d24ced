/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_loops.h - the loops of networks in single precision that are not large matrix products: layers with
 * few inputs or outputs, activations, and the steps of Adam.
 *
 * Each is compiled for several instruction sets; the widest that the processor has is taken. Elements are
 * independent of each other and sums over a batch go from its first row to its last, without fused
 * multiply-add, so that all of them give the same bits. A matrix is stored row by row; `narrow` dimensions
 * are the short ones.
 */
#ifndef DS_METHODS_MLP_LOOPS_H
#define DS_METHODS_MLP_LOOPS_H

#include <stddef.h>

/* Arrays for these loops begin at multiples of 64 bytes, which saves a third of their time: `count`
 * floats take loop_room(count), and loop_memory() gives `count` zeros there, NULL without memory;
 * release with free(). */
size_t loop_room(size_t count);
float *loop_memory(size_t count);

/* Layers with at most this many inputs (outputs) use the loops here instead of a matrix product. */
enum { LOOP_NARROW = 8 };

/* For tests: at most instruction set 0 portable, 1 AVX2, 2 AVX-512 (the default) from now on. Returns which
 * of them it is on this processor. */
int loop_limit(int most);

/* y = max(0, y + b) for each row, or y + b where relu = 0. */
void loop_bias(size_t rows, size_t width, const float *b, int relu, float *y);

/* y = x W + b (b = NULL: x W), with relu max(0, .) of it, and where there is a `gate` (rows x width) 0 where
 * that is not above 0: x rows x narrow, W narrow x width. */
void loop_spread(size_t rows, size_t narrow, size_t width, const float *x, const float *w, const float *b,
                 const float *gate, int relu, float *y);

/* g = x^T d, narrow x width, and, where not NULL, sum = sums of the columns of d: x rows x narrow, d rows
 * x width. */
void loop_gather(size_t rows, size_t narrow, size_t width, const float *x, const float *d, float *g,
                 float *sum);

/* d = 0 where y = 0: the slope of max(0, .). */
void loop_relu_slope(size_t count, const float *y, float *d);

/* tanh of `count` values, to 2 units in the last place. In place is fine. */
void loop_squash(size_t count, const float *x, float *y);

/* d *= 1 - y^2: the slope of tanh. */
void loop_tanh_slope(size_t count, const float *y, float *d);

/* m = b1 m + (1 - b1) g', v = b2 v + (1 - b2) g'^2, w -= rate m / (root sqrt(v) + eps) with g' = scale g,
 * clipped to +-1e15, whose square does not overflow. */
void loop_adam(size_t count, float scale, float b1, float b2, float rate, float root, float eps,
               const float *g, float *m, float *v, float *w);

/* The same by c = 1 - b: m += c1 (g' - m), v += c2 (g'^2 - v). For decays so near 1 that 1 - b is not known
 * in single precision. */
void loop_adam_slow(size_t count, float scale, float c1, float c2, float rate, float root, float eps,
                    const float *g, float *m, float *v, float *w);

/* *sum = sum of the squares, in double, in sixteen parts. */
void loop_squares(size_t count, const float *g, double *sum);

/* target += share (w - target) */
void loop_average(size_t count, float share, const float *w, float *target);

#endif
