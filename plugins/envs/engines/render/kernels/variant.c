/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - the kernels of one instruction set, RENDER_ISA, with vectors of RENDER_LANES numbers. */
#include "softras_kernel.h"
#include "splat_kernel.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

static void exps(size_t n, const double *x, double *out)
{
    for (size_t i = 0; i < n; i += LANES) {
        store(out + i, lanes_exp(load(x + i)));
    }
}

extern const render_kernels JOIN(render_kernels_, RENDER_ISA);
const render_kernels JOIN(render_kernels_, RENDER_ISA) = {
    .isa = TEXT(RENDER_ISA),
    .softras_draw = softras_draw_tile,
    .softras_adjoint = softras_adjoint_tile,
    .softras_tangent = softras_tangent_tile,
    .splat_draw = splat_draw_tile,
    .splat_adjoint = splat_adjoint_tile,
    .splat_tangent = splat_tangent_tile,
    .exps = exps,
};
