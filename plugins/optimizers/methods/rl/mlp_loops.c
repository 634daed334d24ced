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

/* The tiles of spread() stay in registers: compilers map such vectors to the registers of the processor. */
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));
enum { LANES = 16, TILE = 4 };

INLINE void spread(size_t rows, size_t narrow, size_t width, const float *restrict x, const float *restrict w,
                   const float *restrict b, const float *restrict gate, int relu, float *restrict y)
{
    for (size_t r = 0; r < rows; r++, x += narrow, y += width, gate = gate ? gate + width : NULL) {
        size_t i = 0;
        for (; i + TILE * LANES <= width; i += TILE * LANES) {
            lanes sum[TILE] = {{0.0f}};
            for (size_t k = 0; k < narrow; k++) {
                const lanes *at = (const lanes *)(w + k * width + i);
                for (int t = 0; t < TILE; t++) {
                    sum[t] += x[k] * at[t];
                }
            }
            for (int t = 0; t < TILE; t++) {
                *(lanes *)(y + i + (size_t)t * LANES) = sum[t];
            }
        }
        for (; i < width; i++) {
            float sum = 0.0f;
            for (size_t k = 0; k < narrow; k++) {
                sum += x[k] * w[k * width + i];
            }
            y[i] = sum;
        }
        if (b) {
            bias(1, width, b, relu, y);
        }
        if (gate) {
            relu_slope(width, gate, y);
        }
    }
}

INLINE void gather(size_t rows, size_t narrow, size_t width, const float *restrict x, const float *restrict d,
                   float *restrict g, float *restrict sum)
{
    if (narrow > 0) {
        memset(g, 0, narrow * width * sizeof *g);
    }
    if (sum) {
        memset(sum, 0, width * sizeof *sum);
    }
    for (size_t r = 0; r < rows; r++, d += width) {
        for (size_t k = 0; k < narrow; k++) {
            for (size_t i = 0; i < width; i++) {
                g[k * width + i] += x[r * narrow + k] * d[i];
            }
        }
        if (sum) {
            for (size_t i = 0; i < width; i++) {
                sum[i] += d[i];
            }
        }
    }
}

typedef int int_lanes __attribute__((vector_size(64), aligned(4), may_alias));

/* Macros, not functions: the instruction set decides how a vector is passed. */
#define PICK(where, a, b) ((lanes)(((where) & (int_lanes)(a)) | (~(where) & (int_lanes)(b))))

/* Near 0 an odd polynomial, else 1 - 2/(exp(2|x|) + 1), both in all lanes: otherwise a compiler makes a
 * scalar loop of it. Coefficients: S. Moshier, Cephes, tanhf.c and expf.c. */
INLINE void tanh_lanes(const float *from, float *to)
{
    const lanes x = *(const lanes *)(const void *)from;
    const int_lanes bits = (int_lanes){0} + 0x7fffffff; /* all but the sign */
    lanes a = (lanes)((int_lanes)x & bits);
    a = PICK(a < 10.0f, a, (lanes){0} + 10.0f); /* NaN becomes 10, and itself again at the end */
    const lanes z = a * a;
    const lanes small =
        ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) *
             z -
         3.33332819422e-1f) *
            z * a +
        a;
    const lanes t = 2.0f * a;
    const int_lanes whole = __builtin_convertvector(t * 1.44269504088896341f + 0.5f, int_lanes);
    const lanes n = __builtin_convertvector(whole, lanes);
    const lanes r = t - n * 0.693359375f + n * 2.12194440e-4f;
    const lanes p =
        ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r +
         1.6666665459e-1f) *
            r +
        5.0000001201e-1f;
    const lanes power = (lanes)((whole + 127) << 23);
    const lanes e = (p * r * r + r + 1.0f) * power;
    const lanes large = 1.0f - 2.0f / (e + 1.0f);
    const lanes size = PICK(a < 0.625f, small, large);
    const lanes y = (lanes)(((int_lanes)size & bits) | ((int_lanes)x & ~bits));
    *(lanes *)(void *)to = PICK(x == x, y, x);
}

/* No restrict: x may be y. */
INLINE void squash(size_t count, const float *x, float *y)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        tanh_lanes(x + i, y + i);
    }
    if (i < count) {
        float rest[LANES] = {0};
        memcpy(rest, x + i, (count - i) * sizeof *x);
        tanh_lanes(rest, rest);
        memcpy(y + i, rest, (count - i) * sizeof *y);
    }
}

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

typedef double wide_lanes __attribute__((vector_size(128)));

/* Lanes are added by halves, the upper one to the lower one. */
INLINE void squares(size_t count, const float *restrict g, double *sum)
{
    double part[LANES] = {0};
    wide_lanes all = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const wide_lanes d = __builtin_convertvector(*(const lanes *)(const void *)(g + i), wide_lanes);
        all += d * d;
    }
    memcpy(part, &all, sizeof part);
    for (size_t k = 0; i < count; i++, k++) {
        part[k] += (double)g[i] * (double)g[i];
    }
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t k = 0; k < half; k++) {
            part[k] += part[half + k];
        }
    }
    *sum = part[0];
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

#define VARIANTS(name, parameters, arguments)                                                                \
    static void name##_portable parameters                                                                   \
    {                                                                                                        \
        name arguments;                                                                                      \
    }                                                                                                        \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                                       \
    {                                                                                                        \
        name arguments;                                                                                      \
    }                                                                                                        \
    __attribute__((target(AVX512))) static void name##_avx512 parameters                                     \
    {                                                                                                        \
        name arguments;                                                                                      \
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

#define VARIANTS(name, parameters, arguments)                                                                \
    void loop_##name parameters                                                                              \
    {                                                                                                        \
        name arguments;                                                                                      \
    }
#endif

VARIANTS(bias, (size_t rows, size_t width, const float *b, int relu, float *y), (rows, width, b, relu, y))

VARIANTS(spread,
         (size_t rows, size_t narrow, size_t width, const float *x, const float *w, const float *b,
          const float *gate, int relu, float *y),
         (rows, narrow, width, x, w, b, gate, relu, y))

VARIANTS(gather,
         (size_t rows, size_t narrow, size_t width, const float *x, const float *d, float *g, float *sum),
         (rows, narrow, width, x, d, g, sum))

VARIANTS(relu_slope, (size_t count, const float *y, float *d), (count, y, d))

VARIANTS(squash, (size_t count, const float *x, float *y), (count, x, y))

VARIANTS(adam,
         (size_t count, float scale, float b1, float b2, float rate, float root, float eps, const float *g,
          float *m, float *v, float *w),
         (count, scale, b1, b2, rate, root, eps, g, m, v, w))

VARIANTS(adam_slow,
         (size_t count, float scale, float c1, float c2, float rate, float root, float eps, const float *g,
          float *m, float *v, float *w),
         (count, scale, c1, c2, rate, root, eps, g, m, v, w))

VARIANTS(squares, (size_t count, const float *g, double *sum), (count, g, sum))

VARIANTS(tanh_slope, (size_t count, const float *y, float *d), (count, y, d))

VARIANTS(average, (size_t count, float share, const float *w, float *target), (count, share, w, target))
