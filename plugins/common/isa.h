/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - instruction sets for kernels that are compiled in variants of the same bits: their names, and
 * the best one that runs here. ISA_X86 is defined by the build where the variants exist. */
#ifndef DS_COMMON_ISA_H
#define DS_COMMON_ISA_H

#include <stdlib.h>
#include <string.h>

/* plain: the scalar oracle, which may round differently. */
enum { ISA_PLAIN = 0, ISA_BASELINE = 1, ISA_AVX2 = 2, ISA_AVX512 = 3 };

static inline int isa_widest(void)
{
#ifdef ISA_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        return ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return ISA_AVX2;
    }
#endif
    return ISA_BASELINE;
}

/* "plain", "baseline", "avx2", "avx512"; these variants are portable, and the name may say so in front
 * ("portable_avx2"), as it does for other engines. -1: unknown. */
static inline int isa_named(const char *name)
{
    static const char portable[] = "portable_";
    static const char *const names[] = {"plain", "baseline", "avx2", "avx512"};
    name += strncmp(name, portable, strlen(portable)) == 0 ? strlen(portable) : 0;
    for (int i = ISA_PLAIN; i <= ISA_AVX512; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* That of the name, or -1 where it is unknown or does not run here; NULL: what the environment variable
 * DS_ISA says, as far as it runs here, or the widest. */
static inline int isa_choose(const char *name)
{
    const char *wanted = name ? name : getenv("DS_ISA");
    const int most = isa_widest(), found = wanted ? isa_named(wanted) : most;
    if (name) {
        return found <= most ? found : -1;
    }
    return found >= ISA_BASELINE && found <= most ? found : most;
}

#endif
