/* SPDX-License-Identifier: Apache-2.0 */
/* outlier.h - gradients far longer than those before them (chaos, a contact that is only just met) get the
 * length of a typical one: their direction may be of use, their length would spoil moments and quasi-Newton
 * models for long. */
#ifndef DS_METHODS_OUTLIER_H
#define DS_METHODS_OUTLIER_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define OUTLIER_NORMS 15 /* lengths whose median a gradient is compared with */
#define OUTLIER_LEAST 3  /* known ones before any is called an outlier */

/* The lengths of the last gradients of a search; all 0 at its start. */
typedef struct outlier {
    double norm[OUTLIER_NORMS]; /* a ring */
    int64_t count;
} outlier;

/* The upper median of `count` >= 1 values, at most OUTLIER_NORMS. */
static inline double outlier_median(size_t count, const double *values)
{
    double sorted[OUTLIER_NORMS];
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > values[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = values[i];
    }
    return sorted[count / 2];
}

/* Notes the length of a gradient and returns that which it is given: the median of the last ones where it
 * is more than `factor` times as long; factor = 0: its own, always. */
static inline double outlier_length(outlier *o, double factor, double norm)
{
    size_t known = o->count < OUTLIER_NORMS ? (size_t)o->count : OUTLIER_NORMS;
    double typical = known >= OUTLIER_LEAST ? outlier_median(known, o->norm) : norm;
    o->norm[o->count++ % OUTLIER_NORMS] = norm;
    return factor > 0.0 && norm > factor * typical && typical > 0.0 ? typical : norm;
}

#endif
