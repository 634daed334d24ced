/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - the controllers' kernel, compiled for each instruction set: CONTROL_ISA is its name,
 * VECTOR_LANES its width. */
#include "kernel.h"

#include "common/isa.h"
#include "common/vector_math.h"

static void activate(size_t n, size_t phases, const double *signal, const double *weight, double *out)
{
    for (size_t i = 0; i < n; i += VECTOR_LANES) {
        vec sum = {0};
        for (size_t p = 0; p < phases; p++) {
            sum += signal[p] * vec_load(weight + p * n + i);
        }
        vec_store(out + i, vec_tanh(sum));
    }
}

static void adjoint(size_t n, size_t phases, double scale, const double *signal, const double *tanh,
                    double *act_bar, double *bar)
{
    for (size_t i = 0; i < n; i += VECTOR_LANES) {
        const vec t = vec_load(tanh + i);
        vec_store(act_bar + i, vec_load(act_bar + i) * (scale * (1.0 - t * t)));
    }
    for (size_t p = 0; p < phases; p++) {
        double *to = bar + p * n;
        for (size_t i = 0; i < n; i += VECTOR_LANES) {
            vec_store(to + i, vec_load(to + i) + signal[p] * vec_load(act_bar + i));
        }
    }
}

extern const control_kernel ISA_VARIANT(control_kernel, CONTROL_ISA);
const control_kernel ISA_VARIANT(control_kernel, CONTROL_ISA) = {ISA_NAME(CONTROL_ISA), activate, adjoint};
