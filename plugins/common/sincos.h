/* SPDX-License-Identifier: Apache-2.0 */
/* sincos.h - our own sine and cosine: the same bits on every machine and in every lane of a vector, as exp.h.
 * vector_math.h repeats its operations one by one, with these constants. */
#ifndef DS_COMMON_SINCOS_H
#define DS_COMMON_SINCOS_H

#include "common/exp.h"

#include <math.h>

/* Up to this size the multiples of SINCOS_HALF_PI_HIGH are exact. */
#define SINCOS_MOST 1e6
#define SINCOS_TWO_PER_PI 0x1.45f306dc9c883p-1
#define SINCOS_HALF_PI_HIGH 0x1.921fb544p0 /* pi/2 in parts: 31 bits, 31 bits, the rest */
#define SINCOS_HALF_PI_MIDDLE 0x1.0b4611a4p-34
#define SINCOS_HALF_PI_LOW 0x1.13198a2e03707p-65

/* For |r| <= pi/4: sin(r) = r + r z s and cos(r) = 1 - z/2 + z^2 c with z = r^2; Taylor's series to r^17 and
 * r^16, truncated at 1e-19 and 2e-18. */
#define SIN_SERIES(z, z2, z4)                                                                                \
    (((-1.0 / 6 + (z) * (1.0 / 120)) + (z2) * (-1.0 / 5040 + (z) * (1.0 / 362880))) +                        \
     (z4) * ((-1.0 / 39916800 + (z) * (1.0 / 6227020800.0)) +                                                \
             (z2) * (-1.0 / 1307674368000.0 + (z) * (1.0 / 355687428096000.0))))
#define COS_SERIES(z, z2, z4)                                                                                \
    (((1.0 / 24 + (z) * (-1.0 / 720)) + (z2) * (1.0 / 40320 + (z) * (-1.0 / 3628800))) +                     \
     (z4) * ((1.0 / 479001600 + (z) * (-1.0 / 87178291200.0)) + (z2) * (1.0 / 20922789888000.0)))

static inline double sincos_negate(double a, uint64_t sign)
{
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits ^= sign << 62; /* `sign` is 0 or 2 */
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* sin(x) and cos(x) within 1 ulp, or 1e-20 near a zero; beyond SINCOS_MOST those of the C library. */
static inline void sincos_same(double x, double *sine, double *cosine)
{
    if (!(fabs(x) <= SINCOS_MOST)) {
        *sine = sin(x);
        *cosine = cos(x);
        return;
    }
    const double shifted = x * SINCOS_TWO_PER_PI + EXP_SHIFTER, n = shifted - EXP_SHIFTER;
    uint64_t quarter;
    memcpy(&quarter, &shifted, sizeof quarter);
    const double high = x - n * SINCOS_HALF_PI_HIGH, middle = n * SINCOS_HALF_PI_MIDDLE;
    const double first = high - middle, lost = (high - first) - middle;
    const double rest = lost - n * SINCOS_HALF_PI_LOW, r = first + rest, low = (first - r) + rest;
    const double z = r * r, z2 = z * z, z4 = z2 * z2;
    const double half = z * 0.5, near = 1.0 - half;
    const double s = r + (r * z * SIN_SERIES(z, z2, z4) + low * near);
    const double c = near + (((1.0 - near) - half) + (z2 * COS_SERIES(z, z2, z4) - r * low));
    const uint64_t swap = quarter & 1;
    *sine = sincos_negate(swap ? c : s, quarter & 2);
    *cosine = sincos_negate(swap ? s : c, (quarter + 1) & 2);
}

#endif
