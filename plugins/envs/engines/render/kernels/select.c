/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which compiled variant of the kernels runs here (see kernels.h). */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

extern const render_kernels render_kernels_baseline;
#ifdef RENDER_X86_VARIANTS
extern const render_kernels render_kernels_avx2, render_kernels_avx512;
#endif

enum { BASELINE = 0, AVX2 = 1, AVX512 = 2 };

static int best_level(void)
{
#ifdef RENDER_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        return AVX512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return AVX2;
    }
#endif
    return BASELINE;
}

const render_kernels *render_kernels_find(const char *isa)
{
    static const render_kernels *const variants[] = {&render_kernels_baseline,
#ifdef RENDER_X86_VARIANTS
                                                     &render_kernels_avx2, &render_kernels_avx512
#endif
    };
    const char *wanted = isa ? isa : getenv("DS_ISA");
    int level = best_level();
    if (wanted && strcmp(wanted, "baseline") == 0) {
        level = BASELINE;
    } else if (wanted && strcmp(wanted, "avx2") == 0 && level > AVX2) {
        level = AVX2;
    }
    return variants[level];
}
