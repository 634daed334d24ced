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

VEC_INLINE void load_state(const double *state, vec s[4])
{
    for (int i = 0; i < 4; i++) {
        s[i] = vec_load(state + i * VECTOR_LANES);
    }
}

static void simulate(uint64_t steps, const double *const *action, const double *state, double *lived)
{
    vec s[4];
    load_state(state, s);
    vec count = vec_all(0);
    vec_bits alive = ~(vec_bits){0};
    for (uint64_t k = 0; k < steps && vec_any(alive); k++) {
        balance_push(s, lanes_load(action, k));
        count += vec_only(alive, vec_all(1));
        alive &= balance_stands(s);
    }
    vec_store(lived, count);
}

static void push(const double *action, double *state, double *fallen)
{
    vec s[4];
    load_state(state, s);
    balance_push(s, vec_load(action));
    for (int i = 0; i < 4; i++) {
        vec_store(state + i * VECTOR_LANES, s[i]);
    }
    vec_store(fallen, vec_only(~balance_stands(s), vec_all(1)));
}

ISA_DEFINE(balance_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, simulate, push};
