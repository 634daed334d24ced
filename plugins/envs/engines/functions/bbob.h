/* SPDX-License-Identifier: Apache-2.0 */
/* bbob.h - noiseless functions of the BBOB suite with its own instances: optimum, rotations and peaks are
 * drawn as the suite draws them, so that losses equal those of COCO less its arbitrary f_opt. */
#ifndef BBOB_H
#define BBOB_H

#include "function.h"

#include <diffsim/helper/memory.h>

enum { BBOB_MAX_N = 500 }; /* rotations are dense, made by orthogonalisation */

/* What is drawn and kept for one function in its place. */
typedef struct bbob bbob;

/* Is this a function of the suite? */
int bbob_is(const fn_def *def);

/* Draws x_opt (`zero` puts it at 0), rotations and peaks of an instance into p. Takes arrays of `m`; 0 where
 * memory is short. */
int bbob_place(ds_memory *m, fn_problem *p, int zero, uint64_t instance);

extern const fn_def fn_bbob_f1, fn_bbob_f2, fn_bbob_f3, fn_bbob_f8, fn_bbob_f10, fn_bbob_f15, fn_bbob_f17,
    fn_bbob_f18, fn_bbob_f21;

#endif
