/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which kernels for rods run here (see rod.h). */
#include "rod.h"

#include "common/isa.h"

extern const rod_lanes rod_lanes_baseline, rod_lanes_avx2, rod_lanes_avx512;

const rod_lanes *rod_lanes_find(void)
{
    static const rod_lanes *const variant[] = ISA_VARIANTS(rod_lanes, NULL);
    return variant[isa_choose(NULL)];
}
