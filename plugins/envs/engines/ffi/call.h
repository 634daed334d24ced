/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - calls a function of a third-party library: its address, its signature, memory for its arguments
 * with guard bytes, and capture of what it prints. */
#ifndef DS_ENGINES_FFI_CALL_H
#define DS_ENGINES_FFI_CALL_H

#include "engines/ffi/signature.h"

#include <diffsim/helper/memory.h>

typedef struct foreign foreign;

/* Result of a call. */
enum {
    FOREIGN_OK = 0,
    FOREIGN_FAILED,  /* it returned a nonzero status */
    FOREIGN_OUTSIDE, /* it wrote outside its arguments */
};

/* Prepares calls of `address` with n variables and m residuals (0 = none); allocates from `room`. On failure
 * returns NULL with one line in `error`, empty if memory is short. */
foreign *foreign_open(ds_memory *room, void *address, const signature *s, uint64_t n, uint64_t m,
                      char error[SIGNATURE_ERROR]);

/* Where results go; NULL: not wanted. */
typedef struct foreign_results {
    double *value;    /* the returned number, or f */
    double *gradient; /* n: g; if NULL, the function gets NULL for g */
    double *jacobian; /* m x n: J, likewise */
    double *residual; /* m: r */
} foreign_results;

/* Calls the function at x and restores the floating-point mode. */
int foreign_call(foreign *f, const double *x, const foreign_results *out);

/* Opens a library (a path with a slash, or a name for the dynamic loader), or finds a function in it. On
 * failure returns NULL with one line in `error`. A library stays loaded, because it may have left threads or
 * handlers. Libraries that it loads see the symbols of a `global` one. */
void *foreign_library(const char *name, int global, char error[SIGNATURE_ERROR]);
void *foreign_symbol(void *library, const char *name, char error[SIGNATURE_ERROR]);

/* ---- stderr during a call ----
 *
 * Many libraries report failures only on stderr. This works in worker processes, which have a stderr of their
 * own; elsewhere nothing is captured. */

/* Redirects stderr to a buffer. One call at a time in a process. */
void printed_begin(void);

/* Restores stderr and forwards the captured text; returns 1 if there was any. Text of a call that exits or
 * dies by a signal is forwarded too, unless it is killed. */
int printed_end(void);

#endif
