/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - ranks the points of a generation by their losses. */
#ifndef DS_METHODS_RANK_H
#define DS_METHODS_RANK_H

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Sorts the rows of x (count x n) with a finite loss into `ranked`, best first, equal ones in their order;
 * order[i] is the row that came to place i. Returns how many there are. */
static inline size_t rank_rows(size_t count, size_t n, const double *x, const double *loss, size_t *order,
                               double *ranked)
{
    size_t finite = 0;
    for (size_t k = 0; k < count; k++) {
        if (!isfinite(loss[k])) {
            continue;
        }
        size_t at = finite++;
        while (at > 0 && loss[order[at - 1]] > loss[k]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = k;
    }
    for (size_t i = 0; i < finite; i++) {
        memcpy(ranked + i * n, x + order[i] * n, n * sizeof(double));
    }
    return finite;
}

#endif
