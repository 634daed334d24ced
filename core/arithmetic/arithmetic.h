/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h - what the bits of results depend on beside the plugins: instruction set, C library and BLAS.
 * Recorded with each run, and compared where results meet. */
#ifndef DS_ARITHMETIC_ARITHMETIC_H
#define DS_ARITHMETIC_ARITHMETIC_H

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

#endif
