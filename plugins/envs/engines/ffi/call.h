/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - a function of another library that is ready to be called: its address, its signature, and memory
 * for its arguments whose borders are watched. */
#ifndef FOREIGN_CALL_H
#define FOREIGN_CALL_H

#include "signature.h"

#include <diffsim/helper/memory.h>

typedef struct foreign foreign;

/* What a call has left. */
enum {
    FOREIGN_OK = 0,
    FOREIGN_FAILED,  /* it returned a status that is not 0 */
    FOREIGN_OUTSIDE, /* it wrote outside of the memory it was given */
};

/* Prepares calls of `address` with n variables and m residuals (0 = none), with arrays taken of `room`. NULL
 * and one line into `error` where that is impossible; the line is empty where memory is short. */
foreign *foreign_open(ds_memory *room, void *address, const signature *s, uint64_t n, uint64_t m,
                      char error[SIGNATURE_ERROR]);

/* Where results go; NULL = they are not wanted. */
typedef struct foreign_results {
    double *value;    /* what was returned (if that is a number), or left in f */
    double *gradient; /* n: what was left in g; where NULL, g is NULL for the function */
    double *jacobian; /* m x n: the same of J */
    double *residual; /* m: what was left in r */
} foreign_results;

/* Calls it at x. The mode of floating-point arithmetic is put back afterwards. */
int foreign_call(foreign *f, const double *x, const foreign_results *out);

/* Opens a library (a path with a slash, or a name for the dynamic loader), or finds a function in it. NULL
 * and one line into `error` on failure. A library stays loaded: it may have left threads or handlers behind.
 * What it loads by itself sees the symbols of a global one. */
void *foreign_library(const char *name, int global, char error[SIGNATURE_ERROR]);
void *foreign_symbol(void *library, const char *name, char error[SIGNATURE_ERROR]);

#endif
