/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiled variant of the fast engine runs here. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

extern const mpm_kernels mpm_kernels_64_baseline, mpm_kernels_32_baseline;
#ifdef MPM_X86_VARIANTS
extern const mpm_kernels mpm_kernels_64_avx2, mpm_kernels_32_avx2, mpm_kernels_64_avx512,
    mpm_kernels_32_avx512;
extern const mpm_kernels mpm_kernels_64_portable_avx2, mpm_kernels_32_portable_avx2,
    mpm_kernels_64_portable_avx512, mpm_kernels_32_portable_avx512;
#endif

enum { BASELINE = 0, AVX2 = 1, AVX512 = 2, LEVELS = 3 };

/* Whether fused, instruction set, whether float. */
static const mpm_kernels *const variants[2][LEVELS][2] = {
#ifdef MPM_X86_VARIANTS
    {{&mpm_kernels_64_baseline, &mpm_kernels_32_baseline},
     {&mpm_kernels_64_portable_avx2, &mpm_kernels_32_portable_avx2},
     {&mpm_kernels_64_portable_avx512, &mpm_kernels_32_portable_avx512}},
    {{&mpm_kernels_64_baseline, &mpm_kernels_32_baseline},
     {&mpm_kernels_64_avx2, &mpm_kernels_32_avx2},
     {&mpm_kernels_64_avx512, &mpm_kernels_32_avx512}},
#else
    {{&mpm_kernels_64_baseline, &mpm_kernels_32_baseline}},
    {{&mpm_kernels_64_baseline, &mpm_kernels_32_baseline}},
#endif
};

static int best_level(int fused)
{
    (void)fused;
#ifdef MPM_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        (!fused || __builtin_cpu_supports("fma"))) {
        return AVX512;
    }
    if (__builtin_cpu_supports("avx2") && (!fused || __builtin_cpu_supports("fma"))) {
        return AVX2;
    }
#endif
    return BASELINE;
}

const mpm_kernels *mpm_kernels_find(int bits, const char *isa)
{
    static const char portable[] = "portable_";
    const char *mode = getenv("DS_PORTABLE"), *wanted = isa ? isa : getenv("DS_ISA");
    int fused = !(isa ? strncmp(isa, portable, strlen(portable)) == 0 : mode && strcmp(mode, "1") == 0);
    int level = best_level(fused);
    if (wanted && strncmp(wanted, portable, strlen(portable)) == 0) {
        wanted += strlen(portable);
    }
    if (wanted && strcmp(wanted, "baseline") == 0) {
        level = BASELINE;
    } else if (wanted && strcmp(wanted, "avx2") == 0 && level > AVX2) {
        level = AVX2;
    }
    return variants[fused][level][bits != 64];
}
