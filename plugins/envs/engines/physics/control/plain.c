/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - the scalar oracle of the controllers' kernel, and which variant runs here. */
#include "kernel.h"

#include "common/isa.h"

#include <math.h>

static void activate(size_t n, size_t phases, const double *signal, const double *weight, double *out)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t p = 0; p < phases; p++) {
            sum += signal[p] * weight[p * n + i];
        }
        out[i] = tanh(sum);
    }
}

static void adjoint(size_t n, size_t phases, double scale, const double *signal, const double *tanh,
                    double *act_bar, double *bar)
{
    for (size_t i = 0; i < n; i++) {
        const double slope = scale * (1 - tanh[i] * tanh[i]) * act_bar[i];
        for (size_t p = 0; p < phases; p++) {
            bar[p * n + i] += signal[p] * slope;
        }
    }
}

static const control_kernel plain = {"plain", activate, adjoint};

extern const control_kernel control_kernel_baseline, control_kernel_avx2, control_kernel_avx512;

const control_kernel *control_kernel_find(const char *isa)
{
    static const control_kernel *const variant[] = ISA_VARIANTS(control_kernel, &plain);
    const int found = isa_choose(isa);
    return found >= 0 ? variant[found] : NULL;
}
