/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiled variant of the fast engine runs here. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

extern const mpm_kernels mpm_kernels_64_baseline, mpm_kernels_32_baseline;
#ifdef MPM_X86_VARIANTS
extern const mpm_kernels mpm_kernels_64_avx2, mpm_kernels_32_avx2, mpm_kernels_64_avx512,
    mpm_kernels_32_avx512;
#endif

enum { BASELINE = 0, AVX2 = 1, AVX512 = 2 };

static int best_level(void)
{
#ifdef MPM_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("fma")) {
        return AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return AVX2;
    }
#endif
    return BASELINE;
}

const mpm_kernels *mpm_kernels_find(int bits, const char *isa)
{
    int level = best_level();
    const char *wanted = isa ? isa : getenv("DS_ISA");
    if (wanted && strcmp(wanted, "baseline") == 0) {
        level = BASELINE;
    } else if (wanted && strcmp(wanted, "avx2") == 0 && level > AVX2) {
        level = AVX2;
    }
#ifdef MPM_X86_VARIANTS
    if (level == AVX512) {
        return bits == 64 ? &mpm_kernels_64_avx512 : &mpm_kernels_32_avx512;
    }
    if (level == AVX2) {
        return bits == 64 ? &mpm_kernels_64_avx2 : &mpm_kernels_32_avx2;
    }
#endif
    return bits == 64 ? &mpm_kernels_64_baseline : &mpm_kernels_32_baseline;
}
