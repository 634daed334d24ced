/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h - what the bits of results depend on beside the plugins: instruction set, C library and BLAS.
 * Recorded with each run, and compared where results meet. */
#ifndef DS_ARITHMETIC_ARITHMETIC_H
#define DS_ARITHMETIC_ARITHMETIC_H

#include "base/error.h"

#include <stddef.h>

enum { DS_ARITHMETIC_ROOM = 400 };

/* "AMD EPYC 7B13", or "unknown". */
void ds_processor_name(char *out, size_t size);

/* The instruction set that kernels of plugins choose: avx512, avx2 or baseline; not more than DS_ISA says. */
const char *ds_instruction_set(void);

/* "x86_64 avx2, glibc 2.36 (libm 5f3c2a91), OpenBLAS 0.3.21 Haswell". In portable mode `portable` stands in
 * place of the instruction set, which then does not matter. The number is made of results of functions of
 * libm. blas[k] is what a plugin computes with (loader.h); NULL, "" and what came before are left out. */
void ds_arithmetic_describe(const char *const *blas, size_t count, char out[DS_ARITHMETIC_ROOM]);

/* The variables of the environment that are set and may change what libraries compute, "NAME=VALUE ...",
 * or "". */
void ds_arithmetic_variables(char *out, size_t size);

/* ---- portable ---- */

/* portable mode: results whose bits are the same on every x86-64 processor.
 *
 * What computes differently on different processors looks at the environment when it is loaded: the BLAS for
 * its kernels, the C library for its fused multiply-add, our own kernels for theirs (DS_PORTABLE). So the
 * mode is a set of environment variables that a process must have from its start; a program that lacks them
 * starts itself anew. Processes that it starts inherit them. */

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
