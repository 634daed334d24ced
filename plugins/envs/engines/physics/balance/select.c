/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which kernels for poles run here (see balance.h). */
#include "balance.h"

#include "common/isa.h"

extern const balance_lanes balance_lanes_baseline, balance_lanes_avx2, balance_lanes_avx512;

const balance_lanes *balance_lanes_find(void)
{
    static const balance_lanes *const variant[] = ISA_VARIANTS(balance_lanes, NULL);
    return variant[isa_choose(NULL)];
}
