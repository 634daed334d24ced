/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - instruction sets for kernels that are compiled in variants: their names, and the best one that
 * runs here. ISA_X86 is defined by the build where the variants exist. */
#ifndef DS_COMMON_ISA_H
#define DS_COMMON_ISA_H

#include <stdlib.h>
#include <string.h>

/* plain: the scalar oracle of tests, which may round differently. */
enum { ISA_PLAIN = 0, ISA_BASELINE = 1, ISA_AVX2 = 2, ISA_AVX512 = 3 };

/* The variants prefix_baseline, prefix_avx2 and prefix_avx512 as an array by instruction set; plain: the
 * oracle's variant, or NULL. */
#ifdef ISA_X86
#define ISA_VARIANTS(prefix, plain)                                                                          \
    {                                                                                                        \
        plain, &prefix##_baseline, &prefix##_avx2, &prefix##_avx512                                          \
    }
#else
#define ISA_VARIANTS(prefix, plain)                                                                          \
    {                                                                                                        \
        plain, &prefix##_baseline, &prefix##_baseline, &prefix##_baseline                                    \
    }
#endif

/* In a variant: prefix_isa, and "isa", of macros. */
#define ISA_JOIN(prefix, isa) prefix##_##isa
#define ISA_VARIANT(prefix, isa) ISA_JOIN(prefix, isa)
#define ISA_TEXT(isa) #isa
#define ISA_NAME(isa) ISA_TEXT(isa)

/* The end of a file that is compiled for each instruction set, with its name as LANES_ISA:
 *     ISA_DEFINE(rod_lanes) = {ISA_NAME(LANES_ISA), ...};
 * With ISA_FINDS, as for the baseline, it also defines rod_lanes_find(): the variant for this machine. */
#define ISA_DEFINE(type)                                                                                     \
    ISA_FIND(type)                                                                                           \
    extern const type ISA_VARIANT(type, LANES_ISA);                                                          \
    const type ISA_VARIANT(type, LANES_ISA)
#ifdef ISA_FINDS
#define ISA_FIND(type)                                                                                       \
    extern const type type##_baseline, type##_avx2, type##_avx512;                                           \
    const type *type##_find(void)                                                                            \
    {                                                                                                        \
        static const type *const variant[] = ISA_VARIANTS(type, NULL);                                       \
        return variant[isa_choose(NULL)];                                                                    \
    }
#else
#define ISA_FIND(type)
#endif

static inline int isa_widest(void)
{
#ifdef ISA_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        return ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return ISA_AVX2;
    }
#endif
    return ISA_BASELINE;
}

/* "plain", "baseline", "avx2", "avx512"; "portable_" may stand in front, which most variants are anyway
 * (docs/portable.md). -1: unknown. */
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

/* The set with that name; NULL: the environment variable DS_ISA. A set that this machine lacks becomes the
 * widest one that it has. -1: the name is unknown. */
static inline int isa_choose(const char *name)
{
    const char *wanted = name ? name : getenv("DS_ISA");
    const int most = isa_widest(), found = wanted ? isa_named(wanted) : most;
    if (name && found < 0) {
        return -1;
    }
    return found <= most && (name || found >= ISA_BASELINE) ? found : most;
}

#endif
