/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which kernels for paddles run here (see paddle.h). */
#include "paddle.h"

#include "common/isa.h"

extern const paddle_lanes paddle_lanes_baseline, paddle_lanes_avx2, paddle_lanes_avx512;

const paddle_lanes *paddle_lanes_find(void)
{
    static const paddle_lanes *const variant[] = ISA_VARIANTS(paddle_lanes, NULL);
    return variant[isa_choose(NULL)];
}
