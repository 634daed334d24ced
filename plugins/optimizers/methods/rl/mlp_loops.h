/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_loops.h - the loops of networks in single precision: matrix products of layers up to LOOP_LARGE
 * weights, with what follows them, activations, and the steps of Adam.
 *
 * Each is compiled for several instruction sets; the widest that the processor has is taken. Elements are
 * independent of each other and a sum goes from its first term to its last, so that all of them give the same
 * bits, and a row of a batch the same for every number of rows. Only products and tanh use fused
 * multiply-add, where the processor has it and the mode is not the portable one (docs/portable.md). A matrix
 * is stored row by row.
 */
#ifndef DS_METHODS_MLP_LOOPS_H
#define DS_METHODS_MLP_LOOPS_H

#include <stddef.h>

/* Arrays for these loops begin at multiples of 64 bytes, which saves a third of their time: `count`
 * floats take loop_room(count), and loop_memory() gives `count` zeros there, NULL without memory;
 * release with free(). */
size_t loop_room(size_t count);
float *loop_memory(size_t count);

/* Up to here a product through these loops is faster than one of BLAS, which copies both factors. */
enum { LOOP_LARGE = 256 * 256 };

/* For tests: at most instruction set 0 baseline, 1 AVX2, 2 AVX-512 (the default) from now on, and whether
 * products and tanh are fused where the set can. Returns which set it is on this processor. */
int loop_limit(int most, int fused);

/* y = max(0, y + b) for each row, or y + b where relu = 0. */
void loop_bias(size_t rows, size_t width, const float *b, int relu, float *y);

enum { LOOP_LINEAR, LOOP_TANH, LOOP_RELU };

/* y = f(X W + b), rows x width, or, where there is `of` (rows x width, values of f), X W times the slope of f
 * there. */
typedef struct loop_factors {
    size_t rows, depth, width;
    const float *x; /* rows x depth: the elements of a row are `step` apart, rows are `row_step` apart */
    size_t row_step, step; /* depth, 1; 1, rows for a factor that is stored as its transpose */
    const float *w;        /* depth x width */
    const float *b;        /* width; NULL = 0 */
    int f;                 /* LOOP_LINEAR, ... */
    const float *of;       /* NULL; not with LOOP_LINEAR, whose slope is 1 */
} loop_factors;

void loop_product(const loop_factors *p, float *y);

/* y = x W^T for a short side `width`, or few rows: x rows x depth, W width x depth. A sum has sixteen
 * parts. */
void loop_dots(size_t rows, size_t depth, size_t width, const float *x, const float *w, float *y);

/* sum = sums of the columns of d, rows x width. */
void loop_sums(size_t rows, size_t width, const float *d, float *sum);

/* a (rows x columns) transposed. */
void loop_transpose(size_t rows, size_t columns, const float *a, float *out);

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
