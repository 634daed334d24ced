/* SPDX-License-Identifier: Apache-2.0 */
/* running_moments.h - mean and variance of a stream of numbers, for normalising observations and rewards.
 * Source: B. Welford, "Note on a method for calculating corrected sums of squares and products", 1962. */
#ifndef DS_METHODS_RUNNING_MOMENTS_H
#define DS_METHODS_RUNNING_MOMENTS_H

#include <math.h>

typedef struct running_moments {
    double count, mean, sum; /* sum of squared deviations */
} running_moments;

static inline void running_moments_add(running_moments *m, double x)
{
    double d = x - m->mean;
    m->count += 1.0;
    m->mean += d / m->count;
    m->sum += d * (x - m->mean);
}

static inline double running_moments_deviation(const running_moments *m)
{
    return m->count > 0.0 ? sqrt(m->sum / m->count + 1e-8) : 1.0;
}

/* (x - mean) / deviation, cut to [-limit, limit]. */
static inline double running_moments_normal(const running_moments *m, double x, double limit)
{
    double z = (x - m->mean) / running_moments_deviation(m);
    return z < -limit ? -limit : (z > limit ? limit : z);
}

#endif
