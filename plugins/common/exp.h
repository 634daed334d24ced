/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - our own exponential function: the same bits on every machine and in every lane of a vector (the C
 * library's function rounds by processor, see docs/portable.md). vector_math.h repeats its operations one by
 * one, with these constants. */
#ifndef DS_COMMON_EXP_H
#define DS_COMMON_EXP_H

#include <stdint.h>
#include <string.h>

/* x = n ln 2 + r, |r| <= ln 2 / 2. Adding EXP_SHIFTER leaves the whole number n in the low bits of the
 * sum. */
#define EXP_PER_LN2 0x1.71547652b82fep+0
#define EXP_LN2_HIGH 0x1.62e42fee00000p-1 /* times n exact */
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33
#define EXP_SHIFTER 0x1.8p52

/* Below it is 0, above as at this place. */
#define EXP_LEAST (-708.0)
#define EXP_MOST 709.0

/* exp(r) = 1 + r + r^2 q(r), q from the Taylor series to r^13 (truncated at 5e-18), in an order of few
 * waits. */
#define EXP_SERIES(r, r2, r4)                                                                                \
    (((0.5 + (r) * (1.0 / 6)) + (r2) * (1.0 / 24 + (r) * (1.0 / 120))) +                                     \
     (r4) * (((1.0 / 720 + (r) * (1.0 / 5040)) + (r2) * (1.0 / 40320 + (r) * (1.0 / 362880))) +              \
             (r4) * ((1.0 / 3628800 + (r) * (1.0 / 39916800)) +                                              \
                     (r2) * (1.0 / 479001600 + (r) * (1.0 / 6227020800.0)))))

/* exp(x) within 1 ulp; 0 below EXP_LEAST, never above exp(EXP_MOST). x is a number. */
static inline double exp_same(double x)
{
    const double most = x < EXP_MOST ? x : EXP_MOST, in = most > EXP_LEAST ? most : EXP_LEAST;
    const double shifted = in * EXP_PER_LN2 + EXP_SHIFTER, n = shifted - EXP_SHIFTER;
    const double r = (in - n * EXP_LN2_HIGH) - n * EXP_LN2_LOW, r2 = r * r, r4 = r2 * r2;
    double p = 1 + (r + r2 * EXP_SERIES(r, r2, r4));
    uint64_t power, bits;
    memcpy(&power, &shifted, sizeof power);
    memcpy(&bits, &p, sizeof bits);
    bits += power << 52;
    memcpy(&p, &bits, sizeof p);
    return x < EXP_LEAST ? 0 : p;
}

#endif
