/* SPDX-License-Identifier: Apache-2.0 */
/* bbob_draw.h - the random numbers of the BBOB suite, and its two distortions of a number. */
#ifndef BBOB_DRAW_H
#define BBOB_DRAW_H

#include <stdint.h>

/* The suite's random numbers: `count` uniform ones, or a rotation R (n x n, row-major, orthonormal rows). */
void bbob_uniform(double seed, uint64_t count, double *out);
int bbob_rotation(double seed, uint64_t n, double *out);

/* Oscillating and asymmetric distortion of a number, and its derivative into *slope (may be NULL). `power` is
 * beta (i - 1)/(n - 1). At 0, where the oscillation has no derivative, slope is 1. */
double bbob_osz(double t, double *slope);
double bbob_asy(double t, double power, double *slope);

#endif
