/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which kernels for compound pendulums run here (see compound.h). */
#include "compound.h"

#include "common/isa.h"

extern const compound_lanes compound_lanes_baseline, compound_lanes_avx2, compound_lanes_avx512;

const compound_lanes *compound_lanes_find(void)
{
    static const compound_lanes *const variant[] = ISA_VARIANTS(compound_lanes, NULL);
    return variant[isa_choose(NULL)];
}
