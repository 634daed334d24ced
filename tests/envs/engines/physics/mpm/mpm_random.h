/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers, vectors and poses for the tests of the plasticine engine's parts. */
#ifndef TEST_MPM_RANDOM_H
#define TEST_MPM_RANDOM_H

#include "engines/physics/mpm/sim/scene.h"

#include <stddef.h>

static mpm_rng rng;

static inline double uniform(double a, double b)
{
    return a + (b - a) * mpm_rng_uniform(&rng);
}

static inline void random_numbers(double *out, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = uniform(-scale, scale);
    }
}

static inline int reseed(void **state)
{
    (void)state;
    mpm_rng_seed(&rng, 42);
    return 0;
}

static inline double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Poses as vectors of 8: position, rotation, gap. */
static inline void move_pose(const mpm_pose *pose, double h, const double *d, mpm_pose *out)
{
    *out = *pose;
    for (int i = 0; i < 3; i++) {
        out->position[i] += h * d[i];
    }
    for (int i = 0; i < 4; i++) {
        out->rotation[i] += h * d[3 + i];
    }
    out->gap += h * d[7];
}

static inline double pose_dot(const mpm_pose *bar, const double *d)
{
    return dot(bar->position, d, 3) + dot(bar->rotation, d + 3, 4) + bar->gap * d[7];
}

#endif
