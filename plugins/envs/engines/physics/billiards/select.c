/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which kernels for tables of balls run here (see billiards.h). */
#include "billiards.h"

#include "common/isa.h"

extern const billiards_lanes billiards_lanes_baseline, billiards_lanes_avx2, billiards_lanes_avx512;

const billiards_lanes *billiards_lanes_find(void)
{
    static const billiards_lanes *const variant[] = ISA_VARIANTS(billiards_lanes, NULL);
    return variant[isa_choose(NULL)];
}
