/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - the kernels of one instruction set, RENDER_ISA, with vectors of VECTOR_LANES numbers. */
#include "softras_kernel.h"
#include "splat_kernel.h"

#include "common/isa.h"

static void exps(size_t n, const double *x, double *out)
{
    for (size_t i = 0; i < n; i += VECTOR_LANES) {
        vec_store(out + i, vec_exp(vec_load(x + i)));
    }
}

extern const render_kernels ISA_VARIANT(render_kernels, RENDER_ISA);
const render_kernels ISA_VARIANT(render_kernels, RENDER_ISA) = {
    .isa = ISA_NAME(RENDER_ISA),
    .softras_draw = softras_draw_tile,
    .softras_adjoint = softras_adjoint_tile,
    .softras_tangent = softras_tangent_tile,
    .splat_draw = splat_draw_tile,
    .splat_adjoint = splat_adjoint_tile,
    .splat_tangent = splat_tangent_tile,
    .exps = exps,
};
