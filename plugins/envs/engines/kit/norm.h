/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - the length of an error, and its derivative: one function, so that a loss and its gradient
 * cannot differ. */
#ifndef DS_ENGINES_NORM_H
#define DS_ENGINES_NORM_H

#include <math.h>
#include <stddef.h>

/* Returns |e| and, where `unit` is not NULL, its derivative e / |e|. Nothing is smoothed: |e| has a kink at
 * e = 0, where 0 stands for it, one of its subgradients. `unit` may be `e`. */
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

#endif
