/* SPDX-License-Identifier: Apache-2.0 */
/* finite.h - whether numbers are finite: one test for all of them. */
#ifndef DS_ENGINES_FINITE_H
#define DS_ENGINES_FINITE_H

#include <stddef.h>

/* Of an array of doubles, or a struct of doubles only. */
static inline int all_finite(size_t n, const void *numbers)
{
    const double *number = numbers;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += 0 * number[i]; /* 0, or not a number */
    }
    return sum == 0;
}

#endif
