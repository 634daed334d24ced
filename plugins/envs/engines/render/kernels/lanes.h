/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - vectors of doubles in the compiler's vector extension, RENDER_LANES (2, 4 or 8) of them: as
 * many as a register of the instruction set holds. Nothing adds up over lanes and nothing is fused, so
 * every lane has the bits that it has in any other width. */
#ifndef DS_ENGINES_RENDER_LANES_H
#define DS_ENGINES_RENDER_LANES_H

#include "common/exp.h"

#include <stdint.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { LANES = RENDER_LANES };
#define INLINE static inline __attribute__((always_inline))

typedef double vec __attribute__((vector_size(RENDER_LANES * 8), may_alias));
typedef double loose_vec __attribute__((vector_size(RENDER_LANES * 8), aligned(8), may_alias));
typedef int64_t mask __attribute__((vector_size(RENDER_LANES * 8), may_alias));

INLINE vec load(const double *from)
{
    return *(const loose_vec *)from;
}

INLINE void store(double *to, vec a)
{
    *(loose_vec *)to = a;
}

INLINE vec all(double a)
{
    return (vec){0} + a;
}

INLINE vec choose(mask m, vec a, vec b)
{
    return (vec)((m & (mask)a) | (~m & (mask)b));
}

/* a where m, else 0 */
INLINE vec only(mask m, vec a)
{
    return (vec)(m & (mask)a);
}

INLINE vec least(vec a, vec b)
{
    return choose(a < b, a, b);
}

INLINE vec most(vec a, vec b)
{
    return choose(a > b, a, b);
}

INLINE vec clamp01(vec a)
{
    return most(least(a, all(1)), all(0));
}

INLINE vec magnitude(vec a)
{
    return (vec)((mask)a & INT64_MAX);
}

INLINE int any(mask m)
{
#if defined(__AVX512DQ__) && RENDER_LANES == 8
    return _mm512_movepi64_mask((__m512i)m) != 0;
#elif defined(__AVX__) && RENDER_LANES == 4
    return _mm256_movemask_pd((__m256d)m) != 0;
#elif defined(__SSE2__) && RENDER_LANES == 2
    return _mm_movemask_pd((__m128d)m) != 0;
#else
    int64_t one = 0;
    for (int l = 0; l < LANES; l++) {
        one |= m[l];
    }
    return one != 0;
#endif
}

/* exp_same() of every lane. */
INLINE vec lanes_exp(vec x)
{
    const vec in = most(least(x, all(EXP_MOST)), all(EXP_LEAST));
    const vec shifted = in * EXP_PER_LN2 + EXP_SHIFTER, n = shifted - EXP_SHIFTER;
    const vec r = (in - n * EXP_LN2_HIGH) - n * EXP_LN2_LOW, r2 = r * r, r4 = r2 * r2;
    const vec p = 1 + (r + r2 * EXP_SERIES(r, r2, r4));
    return only(~(x < EXP_LEAST), (vec)((mask)p + ((mask)shifted << 52)));
}

#endif
