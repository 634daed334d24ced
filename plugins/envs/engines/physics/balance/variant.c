/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - poles side by side (balance.h), compiled for each instruction set: LANES_ISA is its name,
 * VECTOR_LANES its width. A group ends when the last of its poles has fallen. */
#include "balance.h"

#include "engines/kit/lanes.h"

#define real vec
#define real_mask vec_bits
#define real_sincos vec_sincos_same
#define real_choose vec_choose
#define real_abs vec_abs
#include "balance_step.h"

static void simulate(uint64_t steps, const double *const *action, const double *state, double *lived)
{
    const uint64_t n = VECTOR_LANES;
    vec s[4] = {vec_load(state), vec_load(state + n), vec_load(state + 2 * n), vec_load(state + 3 * n)};
    vec count = vec_all(0);
    vec_bits alive = ~(vec_bits){0};
    for (uint64_t k = 0; k < steps && vec_any(alive); k++) {
        balance_push(s, lanes_load(action, k));
        count += vec_only(alive, vec_all(1));
        alive &= balance_stands(s);
    }
    vec_store(lived, count);
}

ISA_DEFINE(balance_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate};
