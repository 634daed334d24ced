/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_loops.c - see mlp_loops.h: first the loops, then their variants for instruction sets. */
#include "methods/rl/mlp_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ISA_X86 1
#endif

#include "common/isa.h"

#ifdef ISA_X86
#include <immintrin.h>
#endif
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

size_t loop_room(size_t count)
{
    return (count + 15) / 16 * 16;
}

float *loop_memory(size_t count)
{
    size_t bytes = loop_room(count) * sizeof(float);
    float *memory = aligned_alloc(64, bytes > 0 ? bytes : 64);
    if (memory) {
        memset(memory, 0, bytes);
    }
    return memory;
}

/* ---- loops ---- */

INLINE void bias(size_t rows, size_t width, const float *restrict b, int relu, float *restrict y)
{
    for (size_t r = 0; r < rows; r++, y += width) {
        if (relu) {
            for (size_t i = 0; i < width; i++) {
                float t = y[i] + b[i];
                y[i] = t < 0.0f ? 0.0f : t;
            }
        } else {
            for (size_t i = 0; i < width; i++) {
                y[i] += b[i];
            }
        }
    }
}

enum { SQUARE_PARTS = 16, DOT_PARTS = 16 }; /* of loop_squares() and loop_dots() */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
#define FOUR(from) (*(const four *)(const void *)(from))

/* By halves, the upper one to the lower one. */
INLINE float sum_of_parts(const float part[DOT_PARTS])
{
    const four sum = (FOUR(part) + FOUR(part + 8)) + (FOUR(part + 4) + FOUR(part + 12));
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* 4 x 4 elements of a matrix with `from` columns to one with `to`. */
INLINE void transpose_block(size_t from, size_t to, const float *restrict a, float *restrict out)
{
    const four a0 = FOUR(a), a1 = FOUR(a + from), a2 = FOUR(a + 2 * from), a3 = FOUR(a + 3 * from);
    const four low02 = __builtin_shufflevector(a0, a2, 0, 4, 1, 5),
               low13 = __builtin_shufflevector(a1, a3, 0, 4, 1, 5),
               high02 = __builtin_shufflevector(a0, a2, 2, 6, 3, 7),
               high13 = __builtin_shufflevector(a1, a3, 2, 6, 3, 7);
    *(four *)(void *)out = __builtin_shufflevector(low02, low13, 0, 4, 1, 5);
    *(four *)(void *)(out + to) = __builtin_shufflevector(low02, low13, 2, 6, 3, 7);
    *(four *)(void *)(out + 2 * to) = __builtin_shufflevector(high02, high13, 0, 4, 1, 5);
    *(four *)(void *)(out + 3 * to) = __builtin_shufflevector(high02, high13, 2, 6, 3, 7);
}

INLINE void relu_slope(size_t count, const float *restrict y, float *restrict d)
{
    for (size_t i = 0; i < count; i++) {
        d[i] = y[i] > 0.0f ? d[i] : 0.0f;
    }
}

#ifdef ISA_X86
#define AVX2 "avx2,fma"
#ifdef __clang__
#define AVX512 "avx512f,avx512dq,avx512vl"
#define BEGIN_TARGET_(text) _Pragma(#text)
#define BEGIN_TARGET(set)                                                                                    \
    BEGIN_TARGET_(clang attribute push(__attribute__((target(set))), apply_to = function))
#define END_TARGET _Pragma("clang attribute pop")
#else
#define AVX512 "avx512f,avx512dq,avx512vl,prefer-vector-width=512"
#define BEGIN_TARGET_(text) _Pragma(#text)
#define BEGIN_TARGET(set) _Pragma("GCC push_options") BEGIN_TARGET_(GCC target(set))
#define END_TARGET _Pragma("GCC pop_options")
#endif
#else
#define BEGIN_TARGET(set)
#define END_TARGET
#endif

#define LANES 4
#include "methods/rl/mlp_lanes.h"
BEGIN_TARGET(AVX2)
#define LANES 8
#include "methods/rl/mlp_lanes.h"
END_TARGET
BEGIN_TARGET(AVX512)
#define LANES 16
#include "methods/rl/mlp_lanes.h"
END_TARGET

/* c = 1 - b; with `slow` decays by c alone, b is not read: 1 - b is a rounded c. */
INLINE void adam_steps(size_t count, int slow, float scale, float b1, float c1, float b2, float c2,
                       float rate, float root, float eps, const float *restrict g, float *restrict m,
                       float *restrict v, float *restrict w)
{
    static const float huge = 1e15f;
    for (size_t i = 0; i < count; i++) {
        float gi = scale * g[i];
        gi = gi > huge ? huge : (gi < -huge ? -huge : gi);
        m[i] = slow ? m[i] + c1 * (gi - m[i]) : b1 * m[i] + c1 * gi;
        v[i] = slow ? v[i] + c2 * (gi * gi - v[i]) : b2 * v[i] + c2 * gi * gi;
        w[i] -= rate * m[i] / (root * sqrtf(v[i]) + eps);
    }
}

INLINE void adam(size_t count, float scale, float b1, float b2, float rate, float root, float eps,
                 const float *restrict g, float *restrict m, float *restrict v, float *restrict w)
{
    adam_steps(count, 0, scale, b1, 1.0f - b1, b2, 1.0f - b2, rate, root, eps, g, m, v, w);
}

INLINE void adam_slow(size_t count, float scale, float c1, float c2, float rate, float root, float eps,
                      const float *restrict g, float *restrict m, float *restrict v, float *restrict w)
{
    adam_steps(count, 1, scale, 0.0f, c1, 0.0f, c2, rate, root, eps, g, m, v, w);
}

INLINE void tanh_slope(size_t count, const float *restrict y, float *restrict d)
{
    for (size_t i = 0; i < count; i++) {
        d[i] *= 1.0f - y[i] * y[i];
    }
}

INLINE void average(size_t count, float share, const float *restrict w, float *restrict target)
{
    for (size_t i = 0; i < count; i++) {
        target[i] += share * (w[i] - target[i]);
    }
}

/* Blocks of 4 x 4 in registers, in blocks of 16 x 16: rows of a large matrix share few sets of the cache. */
void loop_transpose(size_t rows, size_t columns, const float *restrict a, float *restrict out)
{
    enum { SIDE = 16 };
    const size_t most_rows = rows / 4 * 4, most_columns = columns / 4 * 4;
    for (size_t top = 0; top < most_rows; top += SIDE) {
        const size_t end = top + SIDE < most_rows ? top + SIDE : most_rows;
        for (size_t left = 0; left < most_columns; left += SIDE) {
            const size_t right = left + SIDE < most_columns ? left + SIDE : most_columns;
            for (size_t r = top; r < end; r += 4) {
                for (size_t c = left; c < right; c += 4) {
                    transpose_block(columns, rows, a + r * columns + c, out + c * rows + r);
                }
            }
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = r < most_rows ? most_columns : 0; c < columns; c++) {
            out[c * rows + r] = a[r * columns + c];
        }
    }
}

/* ---- variants ---- */

#ifdef ISA_X86
static int most_wide = 2, is_fused = 1;

/* The instruction set that the environment variable DS_ISA allows. In portable mode, all with the bits of the
 * plainest one. */
__attribute__((constructor)) static void read_limit(void)
{
    const char *portable = getenv("DS_PORTABLE");
    is_fused = !(portable && strcmp(portable, "1") == 0);
    most_wide = (is_fused ? isa_choose(NULL) : isa_widest()) - ISA_BASELINE;
}

/* The widest instruction set of this processor: 0 portable, 1 AVX2, 2 AVX-512. */
static int widest(void)
{
    const int has = isa_widest() - ISA_BASELINE;
    return has < most_wide ? has : most_wide;
}

int loop_limit(int most, int fused)
{
    most_wide = most;
    is_fused = fused;
    return widest();
}

#define VARIANTS_OF(name, parameters, arguments, portable, avx2, avx512)                                     \
    static void name##_portable parameters                                                                   \
    {                                                                                                        \
        portable arguments;                                                                                  \
    }                                                                                                        \
    __attribute__((target(AVX2))) static void name##_avx2 parameters                                         \
    {                                                                                                        \
        avx2 arguments;                                                                                      \
    }                                                                                                        \
    __attribute__((target(AVX512))) static void name##_avx512 parameters                                     \
    {                                                                                                        \
        avx512 arguments;                                                                                    \
    }                                                                                                        \
    void loop_##name parameters                                                                              \
    {                                                                                                        \
        static void(*const table[]) parameters = {name##_portable, name##_avx2, name##_avx512};              \
        table[widest()] arguments;                                                                           \
    }
#else
static const int is_fused = 0;

int loop_limit(int most, int fused)
{
    (void)most;
    (void)fused;
    return 0;
}

#define VARIANTS_OF(name, parameters, arguments, portable, avx2, avx512)                                     \
    void loop_##name parameters                                                                              \
    {                                                                                                        \
        portable arguments;                                                                                  \
    }
#endif

/* Of a loop that the compiler turns into vectors, and of one that is written for each number of lanes. */
#define VARIANTS(name, parameters, arguments) VARIANTS_OF(name, parameters, arguments, name, name, name)
#define LANE_VARIANTS(name, parameters, arguments)                                                           \
    VARIANTS_OF(name, parameters, arguments, name##_4, name##_8, name##_16)

VARIANTS(bias, (size_t rows, size_t width, const float *b, int relu, float *y), (rows, width, b, relu, y))

static void loop_product_apart(const loop_factors *p, float *y);
static void loop_product_fused(const loop_factors *p, float *y);
LANE_VARIANTS(product_apart, (const loop_factors *p, float *y), (p, y))
LANE_VARIANTS(product_fused, (const loop_factors *p, float *y), (p, y))

void loop_product(const loop_factors *p, float *y)
{
    if (is_fused) {
        loop_product_fused(p, y);
    } else {
        loop_product_apart(p, y);
    }
}

LANE_VARIANTS(dots, (size_t rows, size_t depth, size_t width, const float *x, const float *w, float *y),
              (rows, depth, width, x, w, y))

LANE_VARIANTS(sums, (size_t rows, size_t width, const float *d, float *sum), (rows, width, d, sum))

VARIANTS(relu_slope, (size_t count, const float *y, float *d), (count, y, d))

static void loop_squash_apart(size_t count, const float *x, float *y);
static void loop_squash_fused(size_t count, const float *x, float *y);
LANE_VARIANTS(squash_apart, (size_t count, const float *x, float *y), (count, x, y))
LANE_VARIANTS(squash_fused, (size_t count, const float *x, float *y), (count, x, y))

void loop_squash(size_t count, const float *x, float *y)
{
    if (is_fused) {
        loop_squash_fused(count, x, y);
    } else {
        loop_squash_apart(count, x, y);
    }
}

VARIANTS(adam,
         (size_t count, float scale, float b1, float b2, float rate, float root, float eps, const float *g,
          float *m, float *v, float *w),
         (count, scale, b1, b2, rate, root, eps, g, m, v, w))

VARIANTS(adam_slow,
         (size_t count, float scale, float c1, float c2, float rate, float root, float eps, const float *g,
          float *m, float *v, float *w),
         (count, scale, c1, c2, rate, root, eps, g, m, v, w))

LANE_VARIANTS(squares, (size_t count, const float *g, double *sum), (count, g, sum))

VARIANTS(tanh_slope, (size_t count, const float *y, float *d), (count, y, d))

VARIANTS(average, (size_t count, float share, const float *w, float *target), (count, share, w, target))
