/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h - attributes of loops that are compiled for several instruction sets. Without fused multiply-add
 * (the build says -ffp-contract=off) and with independent elements all of them give the same bits. */
#ifndef DS_ENGINES_CLOTH_SETS_H
#define DS_ENGINES_CLOTH_SETS_H

#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__)
#define CLOTH_SETS 1
#define ISA_X86 1
#define TARGET_AVX2 __attribute__((target("avx2")))
#ifdef __clang__
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#else
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#endif

#include "common/isa.h"

#endif
