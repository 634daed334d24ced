/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which compiled variant of the smoke kernels runs here. All return the same bits. */
#include "kernels.h"

#include "common/isa.h"

extern const smoke_kernels smoke_kernels_baseline, smoke_kernels_avx2, smoke_kernels_avx512;

const smoke_kernels *smoke_kernels_find(const char *isa)
{
    static const smoke_kernels *const variant[] = ISA_VARIANTS(smoke_kernels, NULL);
    const int found = isa_choose(isa);
    return found >= 0 ? variant[found] : NULL;
}
