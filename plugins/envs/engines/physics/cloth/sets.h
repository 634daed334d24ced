/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h - attributes of loops that are compiled for several instruction sets. Without fused multiply-add
 * (-ffp-contract=off) and with independent elements all sets give the same bits. */
#ifndef DS_ENGINES_CLOTH_SETS_H
#define DS_ENGINES_CLOTH_SETS_H

#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__)
#define ISA_X86 1
#define TARGET_AVX2 __attribute__((target("avx2")))
#ifdef __clang__
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#else
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#else
#define TARGET_AVX2
#define TARGET_AVX512
#endif

/* Defines a table of `kernel`, an INLINE function, compiled for each set; the index is a SPRING_*. */
#define CLOTH_SETS(table, kernel, parameters, arguments)                                                     \
    static void kernel##_portable parameters                                                                 \
    {                                                                                                        \
        kernel arguments;                                                                                    \
    }                                                                                                        \
    TARGET_AVX2 static void kernel##_avx2 parameters                                                         \
    {                                                                                                        \
        kernel arguments;                                                                                    \
    }                                                                                                        \
    TARGET_AVX512 static void kernel##_avx512 parameters                                                     \
    {                                                                                                        \
        kernel arguments;                                                                                    \
    }                                                                                                        \
    static void(*const table[]) parameters = {kernel##_portable, kernel##_avx2, kernel##_avx512}

#include "common/isa.h"

#endif
