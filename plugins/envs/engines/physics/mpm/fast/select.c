/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - chooses the compiled variant of the fast engine. */
#include "engines/physics/mpm/fast/kernels.h"

#include "common/isa.h"

#define DECLARE(isa) extern const mpm_kernels mpm_kernels_64_##isa, mpm_kernels_32_##isa
DECLARE(baseline);
DECLARE(avx2);
DECLARE(avx512);
DECLARE(portable_avx2);
DECLARE(portable_avx512);

/* Portable variants compute the bits of the baseline, which fuses nothing. */
#define mpm_kernels_64_portable_baseline mpm_kernels_64_baseline
#define mpm_kernels_32_portable_baseline mpm_kernels_32_baseline

const mpm_kernels *mpm_kernels_find(int bits, const char *isa)
{
    enum { SETS = ISA_AVX512 + 1 };
    /* By portable, float type, instruction set. */
    static const mpm_kernels *const variant[2][2][SETS] = {
        {ISA_VARIANTS(mpm_kernels_64, NULL), ISA_VARIANTS(mpm_kernels_32, NULL)},
        {ISA_VARIANTS(mpm_kernels_64_portable, NULL), ISA_VARIANTS(mpm_kernels_32_portable, NULL)},
    };
    const char *mode = getenv("DS_PORTABLE");
    const int portable = isa ? strncmp(isa, "portable_", 9) == 0 : mode && strcmp(mode, "1") == 0;
    const int found = isa_choose(isa);
    return found >= 0 ? variant[portable][bits != 64][found] : NULL;
}
