/* SPDX-License-Identifier: Apache-2.0 */
/* bbob.h - noiseless functions of the BBOB suite with its own instances: optimum, rotations and peaks are
 * drawn as the suite draws them, so losses equal those of COCO minus its arbitrary f_opt. */
#ifndef BBOB_H
#define BBOB_H

#include "engines/functions/function.h"

#include <diffsim/helper/memory.h>

enum { BBOB_MAX_N = 500 }; /* rotations are dense matrices */

/* The drawn data of one function. */
typedef struct bbob bbob;

/* Is this a function of the suite? */
int bbob_is(const fn_def *def);

/* Draws x_opt (`zero` puts it at 0), rotations and peaks of an instance into p. Allocates from `m`; returns 0
 * without memory. */
int bbob_place(ds_memory *m, fn_problem *p, int zero, uint64_t instance);

/* The suite's random numbers: `count` uniform ones, or a rotation (n x n, row-major, orthonormal rows); the
 * rotation returns 0 without memory. */
void bbob_uniform(double seed, uint64_t count, double *out);
int bbob_rotation(double seed, uint64_t n, double *out);

/* Oscillating and asymmetric distortion of a number, and its derivative in *slope (may be NULL). `power` is
 * beta (i - 1)/(n - 1). At 0, where the oscillation has no derivative, slope is 1. */
double bbob_osz(double t, double *slope);
double bbob_asy(double t, double power, double *slope);

extern const fn_def fn_bbob_f1, fn_bbob_f2, fn_bbob_f3, fn_bbob_f8, fn_bbob_f10, fn_bbob_f15, fn_bbob_f17,
    fn_bbob_f18, fn_bbob_f21;

#endif
