/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - vectors of the fast engine, written with the compiler's vector extension. The float type
 * (MPM_REAL_BITS: 64 or 32) and the number of lanes (MPM_LANES: 4, 8 or 16) are parameters: the sources are
 * compiled once for each combination in use. */
#ifndef MPM_FAST_LANES_H
#define MPM_FAST_LANES_H

#include <stdint.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

/* A vector holds either one number for each of VL particles, or 4 numbers (x, y, z and one more) for each of
 * QUADS particles: "quads". */
#define VL MPM_LANES
#define QUADS (VL / 4)
#define R(number) ((real)(number))
#define INLINE static inline __attribute__((always_inline))
/* A function for a whole chunk of particles: compiled once, which is fast, and so that all passes compute the
 * same bits (the compiler fuses multiplications and additions depending on the surrounding code). */
#define CHUNK_STEP static __attribute__((noinline))

#if MPM_REAL_BITS == 64
typedef double real;
typedef int64_t whole;
#define MPM_SQRT __builtin_sqrt
#else
typedef float real;
typedef int32_t whole;
#define MPM_SQRT __builtin_sqrtf
#endif
typedef real vec __attribute__((vector_size(VL * MPM_REAL_BITS / 8), may_alias));
typedef real loose_vec
    __attribute__((vector_size(VL * MPM_REAL_BITS / 8), aligned(MPM_REAL_BITS / 8), may_alias));
typedef whole mask __attribute__((vector_size(VL * MPM_REAL_BITS / 8), may_alias));
typedef int32_t ints __attribute__((vector_size(VL * 4)));
typedef int32_t loose_ints __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef real quad __attribute__((vector_size(4 * MPM_REAL_BITS / 8), may_alias));
typedef real loose_quad
    __attribute__((vector_size(4 * MPM_REAL_BITS / 8), aligned(MPM_REAL_BITS / 8), may_alias));

INLINE vec load(const real *from)
{
    return *(const loose_vec *)from;
}

INLINE void store(real *to, vec a)
{
    *(loose_vec *)to = a;
}

#if MPM_REAL_BITS == 64 && VL == 4 && !defined(__AVX__)
/* The compiler keeps vectors wider than a register in memory and builds shuffled or copied numbers one by
 * one, which waits for memory each time. So these operations are written with two halves. */
#define HALVES 1
typedef real half __attribute__((vector_size(16), may_alias));

typedef union halves {
    vec all;
    half half[2];
} halves;

INLINE vec of_halves(half low, half high)
{
    halves r;
    r.half[0] = low;
    r.half[1] = high;
    return r.all;
}

INLINE half low_half(vec a)
{
    const halves r = {.all = a};
    return r.half[0];
}

INLINE half high_half(vec a)
{
    const halves r = {.all = a};
    return r.half[1];
}

INLINE vec all(real a)
{
    const half both = {a, a};
    return of_halves(both, both);
}
#else
/* Written out: 0 + a would be an addition, since 0 + -0 is 0. */
INLINE vec all(real a)
{
#if VL == 4
    return (vec){a, a, a, a};
#elif VL == 8
    return (vec){a, a, a, a, a, a, a, a};
#else
    return (vec){a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a};
#endif
}
#endif

INLINE vec choose(mask m, vec a, vec b)
{
    return (vec)((m & (mask)a) | (~m & (mask)b));
}

INLINE mask less(vec a, vec b)
{
#if defined(HALVES)
    vec low = of_halves((half)(low_half(a) < low_half(b)), (half)(high_half(a) < high_half(b)));
    return (mask)low;
#else
    return a < b;
#endif
}

/* b if a number is NaN, as choose(less(a, b), a, b), for which there is one instruction. */
INLINE vec least(vec a, vec b)
{
#if MPM_REAL_BITS == 64 && VL == 8 && defined(__AVX512F__)
    return (vec)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif MPM_REAL_BITS == 32 && VL == 16 && defined(__AVX512F__)
    return (vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif MPM_REAL_BITS == 64 && VL == 4 && defined(__AVX__)
    return (vec)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif MPM_REAL_BITS == 32 && VL == 8 && defined(__AVX__)
    return (vec)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return choose(less(a, b), a, b);
#endif
}

INLINE vec most(vec a, vec b)
{
#if MPM_REAL_BITS == 64 && VL == 8 && defined(__AVX512F__)
    return (vec)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif MPM_REAL_BITS == 32 && VL == 16 && defined(__AVX512F__)
    return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif MPM_REAL_BITS == 64 && VL == 4 && defined(__AVX__)
    return (vec)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif MPM_REAL_BITS == 32 && VL == 8 && defined(__AVX__)
    return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return choose(less(b, a), a, b);
#endif
}

/* Largest whole number not above a, for |a| < 2^22. */
INLINE vec whole_part(vec a)
{
#if MPM_REAL_BITS == 64 && VL == 8 && defined(__AVX512F__)
    return (vec)_mm512_roundscale_pd((__m512d)a, _MM_FROUND_TO_NEG_INF);
#elif MPM_REAL_BITS == 32 && VL == 16 && defined(__AVX512F__)
    return (vec)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEG_INF);
#elif MPM_REAL_BITS == 64 && VL == 4 && defined(__AVX__)
    return (vec)_mm256_floor_pd((__m256d)a);
#elif MPM_REAL_BITS == 32 && VL == 8 && defined(__AVX__)
    return (vec)_mm256_floor_ps((__m256)a);
#else
    const vec magic = all(MPM_REAL_BITS == 64 ? R(6755399441055744.0) : R(12582912.0));
    vec r = (a + magic) - magic;
    return r - choose(less(a, r), all(R(1)), all(R(0)));
#endif
}

INLINE vec root(vec a)
{
#if defined(HALVES)
    half low = low_half(a), high = high_half(a);
    return of_halves((half){MPM_SQRT(low[0]), MPM_SQRT(low[1])},
                     (half){MPM_SQRT(high[0]), MPM_SQRT(high[1])});
#else
    vec r = a;
    for (int l = 0; l < VL; l++) {
        r[l] = MPM_SQRT(a[l]);
    }
    return r;
#endif
}

/* MPM_FUSED: the bits need not equal those of other instruction sets (local.mk): from an estimate of 14 bits
 * by Newton's method, to about the last bit. */
INLINE vec inverse_root(vec a)
{
#if defined(MPM_FUSED) && defined(__AVX512F__) && VL * MPM_REAL_BITS == 512
#if MPM_REAL_BITS == 64
    vec r = (vec)_mm512_rsqrt14_pd((__m512d)a);
    r += r * (R(0.5) - R(0.5) * (a * r) * r);
#else
    vec r = (vec)_mm512_rsqrt14_ps((__m512)a);
#endif
    return r + r * (R(0.5) - R(0.5) * (a * r) * r);
#else
    return R(1) / root(a);
#endif
}

INLINE real largest_lane(vec a)
{
    real r = a[0];
    for (int l = 1; l < VL; l++) {
        r = a[l] > r ? a[l] : r;
    }
    return r;
}

/* The same four numbers for every quad. A broadcasting load needs no arithmetic unit, unlike a shuffle. */
INLINE vec load_quad(const real *from)
{
#if MPM_REAL_BITS == 64 && VL == 8 && defined(__AVX512F__)
    return (vec)_mm512_broadcast_f64x4(*(const __m256d_u *)from);
#elif MPM_REAL_BITS == 32 && VL == 16 && defined(__AVX512F__)
    return (vec)_mm512_broadcast_f32x4(*(const __m128_u *)from);
#elif MPM_REAL_BITS == 32 && VL == 8 && defined(__AVX__)
    return (vec)_mm256_broadcast_ps((const __m128 *)from);
#elif VL == 4
    return load(from);
#else
    vec r;
    for (int l = 0; l < VL; l++) {
        r[l] = from[l % 4];
    }
    return r;
#endif
}

/* A quad from each of QUADS places, `at` numbers after them. */
INLINE vec load_quads(const real *const from[QUADS], ptrdiff_t at)
{
#if VL == 4
    return load(from[0] + at);
#elif MPM_REAL_BITS == 64 && VL == 8 && defined(__AVX512F__)
    return (vec)_mm512_insertf64x4(_mm512_castpd256_pd512(*(const __m256d_u *)(from[0] + at)),
                                   *(const __m256d_u *)(from[1] + at), 1);
#elif MPM_REAL_BITS == 32 && VL == 8 && defined(__AVX__)
    return (vec)_mm256_insertf128_ps(_mm256_castps128_ps256(*(const __m128_u *)(from[0] + at)),
                                     *(const __m128_u *)(from[1] + at), 1);
#elif MPM_REAL_BITS == 32 && VL == 16 && defined(__AVX512F__)
    __m256 low = _mm256_castps128_ps256(*(const __m128_u *)(from[0] + at)),
           high = _mm256_castps128_ps256(*(const __m128_u *)(from[2] + at));
    low = _mm256_insertf128_ps(low, *(const __m128_u *)(from[1] + at), 1);
    high = _mm256_insertf128_ps(high, *(const __m128_u *)(from[3] + at), 1);
    return (vec)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
#error no quads
#endif
}

/* Keeps the compiler from fusing a product with a sum. With 4 lanes it may: results depend on it. */
INLINE vec rounded(vec a)
{
#if defined(MPM_FUSED) && VL > 4
    __asm__("" : "+v"(a));
#endif
    return a;
}

INLINE vec quad_constant(real x, real y, real z, real w)
{
#if defined(HALVES)
    return of_halves((half){x, y}, (half){z, w});
#else
    vec r;
    for (int l = 0; l < VL; l++) {
        r[l] = l % 4 == 0 ? x : l % 4 == 1 ? y : l % 4 == 2 ? z : w;
    }
    return r;
#endif
}

/* Stores data that is not needed soon past the caches; `to` is aligned to whole vectors. */
INLINE void stream(real *to, vec a)
{
#if defined(__AVX512F__) && VL * MPM_REAL_BITS == 512
    _mm512_stream_ps((float *)to, (__m512)a);
#elif defined(__AVX__) && VL * MPM_REAL_BITS == 256
    _mm256_stream_ps((float *)to, (__m256)a);
#else
    *(vec *)to = a;
#endif
}

/* Prefetches `reals` numbers. */
INLINE void fetch(const real *from, int reals)
{
    for (int i = 0; i < reals; i += 64 / (int)sizeof(real)) {
        __builtin_prefetch(from + i, 0, 2);
    }
}

#define SHUFFLE __builtin_shufflevector

#if defined(HALVES)
INLINE vec spread_half(vec a, int c)
{
    half from = c < 2 ? low_half(a) : high_half(a);
    return all(from[c % 2]);
}

INLINE half first_of(half a, half b)
{
    return SHUFFLE(a, b, 0, 2);
}

INLINE half last_of(half a, half b)
{
    return SHUFFLE(a, b, 1, 3);
}

INLINE half swapped(half a)
{
    return SHUFFLE(a, a, 1, 0);
}

#define SPREAD(a, c) spread_half(a, c)
#define SWAP_ONE(a) of_halves(swapped(low_half(a)), swapped(high_half(a)))
#define SWAP_TWO(a) of_halves(high_half(a), low_half(a))
#define FIRST_TWO(a, b) of_halves(first_of(low_half(a), low_half(b)), last_of(low_half(a), low_half(b)))
#define LAST_TWO(a, b) of_halves(first_of(high_half(a), high_half(b)), last_of(high_half(a), high_half(b)))
#define LOW_HALVES(a, b) of_halves(low_half(a), low_half(b))
#define HIGH_HALVES(a, b) of_halves(high_half(a), high_half(b))
#define ZIP_LOW(a, b) FIRST_TWO(a, b)
#define ZIP_HIGH(a, b) LAST_TWO(a, b)
#define ZIP_PAIRS_LOW(a, b) LOW_HALVES(a, b)
#define ZIP_PAIRS_HIGH(a, b) HIGH_HALVES(a, b)
#define EVEN_OF(a, b) of_halves(first_of(low_half(a), low_half(b)), first_of(high_half(a), high_half(b)))
#define ODD_OF(a, b) of_halves(last_of(low_half(a), low_half(b)), last_of(high_half(a), high_half(b)))
#define PAIRS_LOW(a, b) LOW_HALVES(a, b)
#define PAIRS_HIGH(a, b) HIGH_HALVES(a, b)
#elif VL == 4
#define SPREAD(a, c) SHUFFLE(a, a, c, c, c, c) /* component c of each quad in all its lanes */
#define SWAP_ONE(a) SHUFFLE(a, a, 1, 0, 3, 2)
#define SWAP_TWO(a) SHUFFLE(a, a, 2, 3, 0, 1)
#define FIRST_TWO(a, b) SHUFFLE(a, b, 0, 4, 1, 5) /* components 0, then 1 of the quads in a and b */
#define LAST_TWO(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define LOW_HALVES(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define HIGH_HALVES(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define ZIP_PAIRS_LOW(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define ZIP_PAIRS_HIGH(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
/* (a0, b0, a2, b2) of each quad; (a1, b1, a3, b3); (a0, a1, b0, b1); (a2, a3, b2, b3) */
#define EVEN_OF(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define ODD_OF(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#define PAIRS_LOW(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define PAIRS_HIGH(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#elif VL == 8
#define SPREAD(a, c) SHUFFLE(a, a, c, c, c, c, 4 + c, 4 + c, 4 + c, 4 + c)
#define SWAP_ONE(a) SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6)
#define SWAP_TWO(a) SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5)
#define FIRST_TWO(a, b) SHUFFLE(a, b, 0, 4, 8, 12, 1, 5, 9, 13)
#define LAST_TWO(a, b) SHUFFLE(a, b, 2, 6, 10, 14, 3, 7, 11, 15)
#define LOW_HALVES(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALVES(a, b) SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define ZIP_PAIRS_LOW(a, b) SHUFFLE(a, b, 0, 1, 8, 9, 2, 3, 10, 11)
#define ZIP_PAIRS_HIGH(a, b) SHUFFLE(a, b, 4, 5, 12, 13, 6, 7, 14, 15)
#define EVEN_OF(a, b) SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define ODD_OF(a, b) SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define PAIRS_LOW(a, b) SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define PAIRS_HIGH(a, b) SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define SPREAD(a, c)                                                                                         \
    SHUFFLE(a, a, c, c, c, c, 4 + c, 4 + c, 4 + c, 4 + c, 8 + c, 8 + c, 8 + c, 8 + c, 12 + c, 12 + c,        \
            12 + c, 12 + c)
#define SWAP_ONE(a) SHUFFLE(a, a, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define SWAP_TWO(a) SHUFFLE(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define FIRST_TWO(a, b) SHUFFLE(a, b, 0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29)
#define LAST_TWO(a, b) SHUFFLE(a, b, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31)
#define LOW_HALVES(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HIGH_HALVES(a, b) SHUFFLE(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define ZIP_LOW(a, b) SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define ZIP_PAIRS_LOW(a, b) SHUFFLE(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23)
#define ZIP_PAIRS_HIGH(a, b) SHUFFLE(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31)
#define EVEN_OF(a, b) SHUFFLE(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30)
#define ODD_OF(a, b) SHUFFLE(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31)
#define PAIRS_LOW(a, b) SHUFFLE(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define PAIRS_HIGH(a, b) SHUFFLE(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#endif

/* The low half of a and the high half of b; quad k of a vector. */
#if VL == 8
#define HALF_AND_HALF(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 12, 13, 14, 15)
#elif VL == 16
#define HALF_AND_HALF(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31)
#endif
#define QUAD_OF(a, k) SHUFFLE(a, a, 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3)

/* Components 0..2 of VL consecutive quads, one vector each. */
INLINE void quads_to_lanes(const real *quads, vec out[3])
{
    vec a = load(quads), b = load(quads + VL), c = load(quads + 2 * VL), d = load(quads + 3 * VL);
    vec ab = FIRST_TWO(a, b), cd = FIRST_TWO(c, d);
    out[0] = LOW_HALVES(ab, cd);
    out[1] = HIGH_HALVES(ab, cd);
    out[2] = LOW_HALVES(LAST_TWO(a, b), LAST_TWO(c, d));
}

/* The reverse; component 3 becomes 0. */
INLINE void lanes_to_quads(vec x, vec y, vec z, real *quads)
{
    vec none = all(R(0));
    vec xy = ZIP_LOW(x, y), zn = ZIP_LOW(z, none);
    store(quads, ZIP_PAIRS_LOW(xy, zn));
    store(quads + VL, ZIP_PAIRS_HIGH(xy, zn));
    xy = ZIP_HIGH(x, y);
    zn = ZIP_HIGH(z, none);
    store(quads + 2 * VL, ZIP_PAIRS_LOW(xy, zn));
    store(quads + 3 * VL, ZIP_PAIRS_HIGH(xy, zn));
}

/* The sum of the four lanes of each quad, in all of them. */
INLINE vec quad_sum(vec a)
{
    a += SWAP_ONE(a);
    return a + SWAP_TWO(a);
}

#endif
