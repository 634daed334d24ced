/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - length and finiteness of arrays. */
#ifndef DS_ENGINES_NORM_H
#define DS_ENGINES_NORM_H

#include <math.h>
#include <stddef.h>

/* Returns |e| and, if `unit` is not NULL, its derivative e / |e|. |e| is not smoothed: at its kink e = 0 the
 * derivative is 0, one of the subgradients. `unit` may be `e`. */
static inline double norm_of(size_t n, const double *e, double *unit)
{
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        square += e[i] * e[i];
    }
    double norm = sqrt(square);
    for (size_t i = 0; unit != NULL && i < n; i++) {
        unit[i] = norm > 0 ? e[i] / norm : 0;
    }
    return norm;
}

/* Are all numbers finite? `numbers` is an array of doubles, or a struct of doubles only. */
static inline int all_finite(size_t n, const void *numbers)
{
    const double *number = numbers;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += 0 * number[i]; /* 0 or NaN */
    }
    return sum == 0;
}

#endif
