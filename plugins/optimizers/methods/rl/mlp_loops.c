/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_loops.c - see mlp_loops.h: first the loops, then their variants for instruction sets. */
#include "methods/rl/mlp_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ISA_X86 1
#endif

#include "common/isa.h"

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

INLINE void relu_slope(size_t count, const float *restrict y, float *restrict d)
{
    for (size_t i = 0; i < count; i++) {
        d[i] = y[i] > 0.0f ? d[i] : 0.0f;
    }
}

enum { SQUARE_PARTS = 16 }; /* of loop_squares() */

#define LANES 4
#include "methods/rl/mlp_lanes.h"
#define LANES 8
#include "methods/rl/mlp_lanes.h"
#define LANES 16
#include "methods/rl/mlp_lanes.h"

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

/* ---- variants ---- */

#ifdef ISA_X86
#ifdef __clang__
#define AVX512 "avx512f,avx512dq,avx512vl"
#else
#define AVX512 "avx512f,avx512dq,avx512vl,prefer-vector-width=512"
#endif

static int most_wide = 2;

/* The instruction set that the environment variable DS_ISA allows; all sets give the same bits. */
__attribute__((constructor)) static void read_limit(void)
{
    most_wide = isa_choose(NULL) - ISA_BASELINE;
}

/* The widest instruction set of this processor: 0 portable, 1 AVX2, 2 AVX-512. */
static int widest(void)
{
    const int has = isa_widest() - ISA_BASELINE;
    return has < most_wide ? has : most_wide;
}

int loop_limit(int most)
{
    most_wide = most;
    return widest();
}

#define VARIANTS_OF(name, parameters, arguments, portable, avx2, avx512)                                     \
    static void name##_portable parameters                                                                   \
    {                                                                                                        \
        portable arguments;                                                                                  \
    }                                                                                                        \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                                       \
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
int loop_limit(int most)
{
    (void)most;
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

LANE_VARIANTS(spread,
              (size_t rows, size_t narrow, size_t width, const float *x, const float *w, const float *b,
               const float *gate, int relu, float *y),
              (rows, narrow, width, x, w, b, gate, relu, y))

LANE_VARIANTS(gather,
              (size_t rows, size_t narrow, size_t width, const float *x, const float *d, float *g,
               float *sum),
              (rows, narrow, width, x, d, g, sum))

VARIANTS(relu_slope, (size_t count, const float *y, float *d), (count, y, d))

LANE_VARIANTS(squash, (size_t count, const float *x, float *y), (count, x, y))

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
