/* SPDX-License-Identifier: Apache-2.0 */
/* vector_math.h - exp, exp - 1, tanh, sine, cosine, atan2 and asin of vectors (vector.h), the same bits for
 * every instruction set.
 *
 * Errors against the exact values, in units of the last place: exp 1, exp - 1 2, tanh 3, atan2 3, asin 3,
 * sine and cosine 1 at most (tested), or 1e-20 near a zero; polynomials by interpolation at Chebyshev nodes,
 * or Taylor's. NaN gives NaN, except for exp, whose argument must be a number. */
#ifndef DS_COMMON_VECTOR_MATH_H
#define DS_COMMON_VECTOR_MATH_H

#include "common/exp.h"
#include "common/sincos.h"
#include "common/vector.h"

/* x = n ln 2 + r as exp_same() has it: r, and n in the low bits of *shifted. */
VEC_INLINE vec vec_reduce_exp(vec x, vec *shifted)
{
    *shifted = x * EXP_PER_LN2 + EXP_SHIFTER;
    const vec n = *shifted - EXP_SHIFTER;
    return (x - n * EXP_LN2_HIGH) - n * EXP_LN2_LOW;
}

/* e^r - 1 for |r| <= ln(2) / 2. */
VEC_INLINE vec vec_expm1_near(vec r)
{
    const vec r2 = r * r, r4 = r2 * r2;
    return r + r2 * EXP_SERIES(r, r2, r4);
}

/* exp_same() of every lane. */
VEC_INLINE vec vec_exp(vec x)
{
    vec shifted;
    const vec r = vec_reduce_exp(vec_most(vec_least(x, vec_all(EXP_MOST)), vec_all(EXP_LEAST)), &shifted);
    const vec p = 1.0 + vec_expm1_near(r);
    return vec_only(~(vec_bits)(x < EXP_LEAST), (vec)((vec_bits)p + ((vec_bits)shifted << 52)));
}

/* exp(x) - 1, also of small x, for x <= 0; of other numbers 0. */
VEC_INLINE vec vec_expm1(vec x)
{
    vec shifted;
    const vec within = vec_least(vec_most(x, vec_all(-40)), vec_all(0));
    const vec near = vec_expm1_near(vec_reduce_exp(within, &shifted));
    const vec power = (vec)(((vec_bits)shifted << 52) + ((int64_t)1023 << 52));
    return vec_choose((vec_bits)(x == x), power * near + (power - 1.0), x);
}

VEC_INLINE vec vec_tanh(vec x)
{
    vec shifted;
    const vec size = vec_least(vec_abs(x), vec_all(20)); /* tanh(20) = 1 to the last bit */
    const vec near = vec_expm1_near(vec_reduce_exp(size * 2.0, &shifted));
    const vec power = (vec)(((vec_bits)shifted << 52) + ((int64_t)1023 << 52));
    const vec expm1 = power * near + (power - 1.0);
    const vec result = vec_sign(expm1 / (expm1 + 2.0), x);
    return vec_choose((vec_bits)(x == x), result, x);
}

/* sin(r + low) and cos(r + low) for |r| <= pi/4 and a low that is a rounding error of it. */
VEC_INLINE void vec_sincos_near(vec r, vec low, vec *sine, vec *cosine)
{
    const vec z = r * r, z2 = z * z, z4 = z2 * z2;
    const vec half = z * 0.5, near = 1.0 - half;
    *sine = r + (r * z * SIN_SERIES(z, z2, z4) + low * near);
    *cosine = near + (((1.0 - near) - half) + (z2 * COS_SERIES(z, z2, z4) - r * low));
}

/* Of |x| <= SINCOS_MOST. */
VEC_INLINE void vec_sincos(vec x, vec *sine, vec *cosine)
{
    const vec shifted = x * SINCOS_TWO_PER_PI + EXP_SHIFTER, n = shifted - EXP_SHIFTER;
    const vec_bits quarter = (vec_bits)shifted;
    const vec high = x - n * SINCOS_HALF_PI_HIGH, middle = n * SINCOS_HALF_PI_MIDDLE;
    const vec first = high - middle, lost = (high - first) - middle;
    const vec rest = lost - n * SINCOS_HALF_PI_LOW, r = first + rest, low = (first - r) + rest;
    vec s, c;
    vec_sincos_near(r, low, &s, &c);
    const vec_bits swap = -(quarter & 1);
    *sine = (vec)((vec_bits)vec_choose(swap, c, s) ^ ((quarter & 2) << 62));
    *cosine = (vec)((vec_bits)vec_choose(swap, s, c) ^ (((quarter + 1) & 2) << 62));
}

/* sincos_same() of every lane. */
VEC_INLINE void vec_sincos_same(vec x, vec *sine, vec *cosine)
{
    vec_sincos(x, sine, cosine);
    if (vec_any(~(vec_bits)(vec_abs(x) <= SINCOS_MOST))) {
        for (int lane = 0; lane < VECTOR_LANES; lane++) {
            double s, c;
            sincos_same(x[lane], &s, &c);
            (*sine)[lane] = s;
            (*cosine)[lane] = c;
        }
    }
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
