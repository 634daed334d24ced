/* SPDX-License-Identifier: Apache-2.0 */
/* vector_math.h - exp, tanh, atan2 and asin of vectors (vector.h), the same bits for every
 * instruction set.
 *
 * Errors against the exact values, in units of the last place: exp 1, tanh 3, atan2 3, asin 3 at most
 * (tested); polynomials by interpolation at Chebyshev nodes, or Taylor's. NaN gives NaN. */
#ifndef DS_COMMON_VECTOR_MATH_H
#define DS_COMMON_VECTOR_MATH_H

#include "common/vector.h"

/* x = k ln 2 + r with |r| <= ln(2) / 2: r, and 2^k for |k| <= 1023. */
VEC_INLINE vec vec_reduce_exp(vec x, vec *power)
{
    const double magic = 0x1.8p52, log2e = 0x1.71547652b82fep0;
    const double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45; /* high: 11 bits free */
    const vec shifted = x * log2e + magic, k = shifted - magic;
    *power = (vec)(((vec_bits)shifted << 52) + ((int64_t)1023 << 52));
    return (x - k * ln2_high) - k * ln2_low;
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2. */
VEC_INLINE vec vec_tail_exp(vec r)
{
    static const double over_factorial[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                            1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                            1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    vec sum = vec_all(over_factorial[11]);
    for (int i = 10; i >= 0; i--) {
        sum = sum * r + over_factorial[i];
    }
    return sum;
}

/* 0 below -708, where results are no longer normal; infinite above 709.78. */
VEC_INLINE vec vec_exp(vec x)
{
    vec power;
    const vec r = vec_reduce_exp(vec_least(vec_most(x, vec_all(-708)), vec_all(710)), &power);
    const vec half = (vec)((vec_bits)power - ((int64_t)1 << 52)); /* 2^1024 is no double, half of it is */
    const vec positive = 2.0 * (half + half * (r + r * r * vec_tail_exp(r)));
    const vec result = vec_choose((vec_bits)(x < -708.0), vec_all(0), positive);
    return vec_choose((vec_bits)(x == x), result, x);
}

VEC_INLINE vec vec_tanh(vec x)
{
    vec power;
    const vec size = vec_least(vec_abs(x), vec_all(20)); /* tanh(20) = 1 to the last bit */
    const vec r = vec_reduce_exp(size * 2.0, &power);
    const vec expm1 = power * (r + r * r * vec_tail_exp(r)) + (power - 1.0);
    const vec result = vec_sign(expm1 / (expm1 + 2.0), x);
    return vec_choose((vec_bits)(x == x), result, x);
}

/* atan of a ratio from 0 to 1. */
VEC_INLINE vec vec_atan_ratio(vec low, vec high)
{
    static const double c[] = {-0.3333333333333333,  0.19999999999995519,  -0.14285714284666184,
                               0.11111111015227572,  -0.09090904576954117, 0.07692183163650894,
                               -0.06664511064599371, 0.05858145587628202,  -0.050854323376990765,
                               0.0392311556198723,   -0.01917627151752634};
    const double quarter = 0x1.921fb54442d18p-1, quarter_rest = 0x1.1a62633145c07p-55; /* pi/4 */
    const vec_bits steep = (vec_bits)(low > high * 0.41421356237309503);               /* tan(pi/8) */
    const vec a = vec_choose(steep, low - high, low), b = vec_choose(steep, low + high, high);
    const vec t = a / b, z = t * t;
    vec sum = vec_all(c[10]);
    for (int i = 9; i >= 0; i--) {
        sum = sum * z + c[i];
    }
    const vec angle = t + t * z * sum;
    return vec_choose(steep, quarter + (angle + quarter_rest), angle);
}

/* atan2(0, 0) = 0; of finite numbers. */
VEC_INLINE vec vec_atan2(vec y, vec x)
{
    const double half = 0x1.921fb54442d18p0, half_rest = 0x1.1a62633145c07p-54; /* pi/2 */
    const vec up = vec_abs(y), along = vec_abs(x);
    const vec_bits swap = (vec_bits)(up > along);
    const vec low = vec_choose(swap, along, up), high = vec_choose(swap, up, along);
    vec angle = vec_atan_ratio(low, vec_choose((vec_bits)(high == 0.0), vec_all(1), high));
    angle = vec_choose(swap, half - (angle - half_rest), angle);
    angle = vec_choose((vec_bits)(x < 0.0), 2 * half - (angle - 2 * half_rest), angle);
    return vec_sign(angle, y);
}

/* |x| <= 1. */
VEC_INLINE vec vec_asin(vec x)
{
    return vec_atan2(x, vec_sqrt((1.0 - x) * (1.0 + x)));
}

#endif
