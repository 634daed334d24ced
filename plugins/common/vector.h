/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - vectors of VECTOR_LANES doubles (2, 4 or 8), for kernels compiled for several instruction sets.
 * Each lane computes what a scalar would; nothing is fused or added across lanes, so all sets give the same
 * bits. Compile with -ffp-contract=off; vectors wider than the registers of a set are slow. */
#ifndef DS_COMMON_VECTOR_H
#define DS_COMMON_VECTOR_H

#include <math.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef VECTOR_LANES
#define VECTOR_LANES 2
#endif

typedef double vec __attribute__((vector_size(8 * VECTOR_LANES)));
typedef int64_t vec_bits __attribute__((vector_size(8 * VECTOR_LANES))); /* all ones in a lane: yes */
typedef double vec_loose __attribute__((vector_size(8 * VECTOR_LANES), aligned(8), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vec vec_all(double a)
{
    return (vec){0} + a;
}

VEC_INLINE vec vec_load(const double *from)
{
    return *(const vec_loose *)from;
}

VEC_INLINE void vec_store(double *to, vec a)
{
    *(vec_loose *)to = a;
}

VEC_INLINE vec vec_choose(vec_bits yes, vec a, vec b)
{
    return (vec)((yes & (vec_bits)a) | (~yes & (vec_bits)b));
}

/* a where yes, else 0. */
VEC_INLINE vec vec_only(vec_bits yes, vec a)
{
    return (vec)(yes & (vec_bits)a);
}

/* Whether any lane says yes. */
VEC_INLINE int vec_any(vec_bits yes)
{
#if VECTOR_LANES == 8 && defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)yes) != 0;
#elif VECTOR_LANES == 4 && defined(__AVX__)
    return _mm256_movemask_pd((__m256d)yes) != 0;
#elif VECTOR_LANES == 2 && defined(__SSE2__)
    return _mm_movemask_pd((__m128d)yes) != 0;
#else
    int64_t one = 0;
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        one |= yes[lane];
    }
    return one != 0;
#endif
}

VEC_INLINE vec vec_least(vec a, vec b)
{
    return vec_choose((vec_bits)(a < b), a, b);
}

VEC_INLINE vec vec_most(vec a, vec b)
{
    return vec_choose((vec_bits)(a > b), a, b);
}

VEC_INLINE vec vec_clamp01(vec a)
{
    return vec_most(vec_least(a, vec_all(1)), vec_all(0));
}

VEC_INLINE vec vec_abs(vec a)
{
    return (vec)((vec_bits)a & INT64_MAX);
}

/* The size of a (not negative) with the sign of b. */
VEC_INLINE vec vec_sign(vec a, vec b)
{
    return (vec)((vec_bits)a | ((vec_bits)b & INT64_MIN));
}

VEC_INLINE vec vec_sqrt(vec a)
{
#if VECTOR_LANES == 8 && defined(__AVX512F__)
    return (vec)_mm512_sqrt_pd((__m512d)a);
#elif VECTOR_LANES == 4 && defined(__AVX__)
    return (vec)_mm256_sqrt_pd((__m256d)a);
#elif VECTOR_LANES == 2 && defined(__SSE2__)
    return (vec)_mm_sqrt_pd((__m128d)a);
#else
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        a[lane] = sqrt(a[lane]);
    }
    return a;
#endif
}

#endif
