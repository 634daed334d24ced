/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h - instruction set, C library and BLAS: what the bits of results depend on, besides the
 * plugins. Each run records them; commands that compare results report differences. */
#ifndef DS_ARITHMETIC_ARITHMETIC_H
#define DS_ARITHMETIC_ARITHMETIC_H

#include "base/error.h"

#include <stddef.h>

enum { DS_ARITHMETIC_ROOM = 400 };

/* "AMD EPYC 7B13", or "unknown". */
void ds_processor_name(char *out, size_t size);

/* The instruction set that kernels of plugins choose: avx512, avx2 or baseline, at most what DS_ISA allows.
 */
const char *ds_instruction_set(void);

/* "x86_64 avx2, glibc 2.36 (libm 5f3c2a91), OpenBLAS 0.3.21 Haswell". In portable mode `portable` replaces
 * the instruction set, which then does not matter. The number is made of results of libm. blas[k] is the BLAS
 * of a plugin; NULL, "" and repetitions are left out. */
void ds_arithmetic_describe(const char *const *blas, size_t count, char out[DS_ARITHMETIC_ROOM]);

/* The kernels that OpenBLAS should be told to use (OPENBLAS_CORETYPE), or NULL: an OpenBLAS older than the
 * processor falls back to kernels of 2004, which take two to four times as long. blas: as above. */
const char *ds_arithmetic_better_kernels(const char *blas);

/* The environment variables that may change what libraries compute, "NAME=VALUE ...", or "". */
void ds_arithmetic_variables(char *out, size_t size);

/* ---- portable mode: results with the same bits on every x86-64 processor ---- */

/* Libraries that compute differently on different processors read the environment when they are loaded: BLAS
 * for its kernels, the C library for fused multiply-add, our own kernels for theirs (DS_PORTABLE). The mode
 * is therefore a set of environment variables that a process needs from its start; a program without them
 * starts itself again. Child processes inherit them. */

/* The kernels of OpenBLAS in portable mode: SSE4.2, without fused multiply-add, and with block sizes that do
 * not depend on cache sizes, unlike those of Prescott. */
#define DS_PORTABLE_BLAS "Nehalem"

/* Is this process in portable mode? */
int ds_portable_on(void);

/* Call at the beginning of main(): keeps the arguments, and enters the mode where DS_PORTABLE=1. */
int ds_portable_begin(int argc, char **argv, ds_error *e);

/* Starts this program again in portable mode; 0 where it is in that mode already. Without an earlier
 * ds_portable_begin(), as in other programs, the error says how to start it. */
int ds_portable_enter(ds_error *e);

/* "NAME=VALUE" of variable k of the mode; NULL after the last one. */
const char *ds_portable_variable(size_t k);

#endif
