/* SPDX-License-Identifier: Apache-2.0 */
/* portable.h - portable mode: results whose bits are the same on every x86-64 processor.
 *
 * What computes differently on different processors looks at the environment when it is loaded: the BLAS for
 * its kernels, the C library for its fused multiply-add, our own kernels for theirs (DS_PORTABLE). So the
 * mode is a set of environment variables that a process must have from its start; a program that lacks them
 * starts itself anew. Processes that it starts inherit them. */
#ifndef DS_ARITHMETIC_PORTABLE_H
#define DS_ARITHMETIC_PORTABLE_H

#include <stddef.h>

#include "base/error.h"

/* The kernels of OpenBLAS in portable mode: SSE4.2, without fused multiply-add, and with block sizes that do
 * not depend on the size of caches, as those of Prescott do. */
#define DS_PORTABLE_BLAS "Nehalem"

/* Does this process compute so? */
int ds_portable_on(void);

/* At the beginning of main(): keeps the arguments, and enters the mode where DS_PORTABLE=1 asks for it. */
int ds_portable_begin(int argc, char **argv, ds_error *e);

/* Starts this program anew, in portable mode; 0 where it is on already. A process that has not called
 * ds_portable_begin(), as one of another program, is told how to be started. */
int ds_portable_enter(ds_error *e);

/* "NAME=VALUE" of variable k of the mode, or NULL behind the last one. */
const char *ds_portable_variable(size_t k);

#endif
