/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which compiled variant of the smoke kernels runs here. All return the same bits. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

enum { BASELINE = 0, AVX2 = 1, AVX512 = 2 };

extern const smoke_kernels smoke_kernels_baseline;
#ifdef SMOKE_X86_VARIANTS
extern const smoke_kernels smoke_kernels_avx2, smoke_kernels_avx512;
static const smoke_kernels *const variants[] = {&smoke_kernels_baseline, &smoke_kernels_avx2,
                                                &smoke_kernels_avx512};
#else
static const smoke_kernels *const variants[] = {&smoke_kernels_baseline};
#endif

static int best_level(void)
{
#ifdef SMOKE_X86_VARIANTS
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

const smoke_kernels *smoke_kernels_find(const char *isa)
{
    const char *wanted = isa != NULL ? isa : getenv("DS_ISA");
    int level = best_level();
    if (wanted != NULL && strcmp(wanted, "baseline") == 0) {
        level = BASELINE;
    } else if (wanted != NULL && strcmp(wanted, "avx2") == 0 && level > AVX2) {
        level = AVX2;
    }
    return variants[level];
}
