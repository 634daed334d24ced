/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - chooses the variant of the kernels (see kernels.h). */
#include "kernels.h"

#include "common/isa.h"

extern const fem_kernels fem_kernels_baseline, fem_kernels_avx2, fem_kernels_avx512;

const fem_kernels *fem_kernels_find(const char *isa)
{
    static const fem_kernels *const variant[] = ISA_VARIANTS(fem_kernels, NULL);
    const int found = isa_choose(isa);
    return found >= 0 ? variant[found] : NULL;
}
