/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which compiled variant of the kernels runs here (see kernels.h). */
#include "kernels.h"

#include "common/isa.h"

extern const render_kernels render_kernels_baseline, render_kernels_avx2, render_kernels_avx512;

const render_kernels *render_kernels_find(const char *isa)
{
    static const render_kernels *const variant[] = ISA_VARIANTS(render_kernels, NULL);
    const int found = isa_choose(isa);
    return found >= 0 ? variant[found] : NULL;
}
