/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - the loops of smoke.c for the instruction set that this file is compiled for. */
#include "engines/physics/smoke/kernels.h"

#include "common/isa.h"

#define INLINE static inline __attribute__((always_inline))

/* floor(x) for |x| < 2^31, which every instruction set can convert. */
INLINE double floor_of(double x)
{
    double whole = (double)(int32_t)x;
    return whole > x ? whole - 1 : whole;
}

/* A whole number modulo n. */
INLINE double wrapped(double whole, double n, double inverse)
{
    double rest = whole - floor_of(whole * inverse) * n; /* up to n off, because the inverse is rounded */
    rest = rest < 0 ? rest + n : rest;
    return rest >= n ? rest - n : rest;
}

static void feet(const smoke_grid *g, const double *vx, const double *vy, const smoke_feet *out)
{
    const size_t stride = g->stride;
    const double n = (double)g->n, inverse = 1 / n, row = (double)stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict x = vx + first, *restrict y = vy + first, from = (double)(int32_t)i;
        double *restrict right = out->right + first, *restrict up = out->up + first;
        int32_t *restrict cell = out->cell + first;
#pragma omp simd
        for (int32_t j = 0; j < (int32_t)g->n; j++) {
            double px = from - x[j], py = (double)j - y[j], l = floor_of(px), t = floor_of(py);
            right[j] = px - l;
            up[j] = py - t;
            cell[j] = (int32_t)((wrapped(l, n, inverse) + 1) * row + wrapped(t, n, inverse) + 1);
        }
    }
}

static void carry(const smoke_grid *g, const smoke_feet *at, const double *f, double *out)
{
    const size_t stride = g->stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict right = at->right + first, *restrict up = at->up + first;
        const int32_t *restrict cell = at->cell + first;
        const double *restrict lower = f, *restrict upper = f + stride;
        double *restrict to = out + first;
#pragma omp simd
        for (size_t j = 0; j < g->n; j++) {
            int32_t c = cell[j];
            double r = right[j], u = up[j];
            to[j] = (1 - r) * ((1 - u) * lower[c] + u * lower[c + 1]) +
                    r * ((1 - u) * upper[c] + u * upper[c + 1]);
        }
    }
}

static void carry_velocity_adjoint(const smoke_grid *g, const smoke_feet *at, const double *f,
                                   const double *out_bar, double *vx_bar, double *vy_bar)
{
    const size_t stride = g->stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict right = at->right + first, *restrict up = at->up + first;
        const int32_t *restrict cell = at->cell + first;
        const double *restrict lower = f, *restrict upper = f + stride, *restrict bar = out_bar + first;
        double *restrict x = vx_bar + first, *restrict y = vy_bar + first;
#pragma omp simd
        for (size_t j = 0; j < g->n; j++) {
            int32_t c = cell[j];
            double r = right[j], u = up[j], f00 = lower[c], f01 = lower[c + 1], f10 = upper[c],
                   f11 = upper[c + 1];
            x[j] -= bar[j] * ((1 - u) * (f10 - f00) + u * (f11 - f01));
            y[j] -= bar[j] * ((1 - r) * (f01 - f00) + r * (f11 - f10));
        }
    }
}

static void carry_velocity_tangent(const smoke_grid *g, const smoke_feet *at, const double *f,
                                   const double *vx_dot, const double *vy_dot, double *out_dot)
{
    const size_t stride = g->stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict right = at->right + first, *restrict up = at->up + first;
        const int32_t *restrict cell = at->cell + first;
        const double *restrict lower = f, *restrict upper = f + stride;
        const double *restrict x = vx_dot + first, *restrict y = vy_dot + first;
        double *restrict to = out_dot + first;
#pragma omp simd
        for (size_t j = 0; j < g->n; j++) {
            int32_t c = cell[j];
            double r = right[j], u = up[j], f00 = lower[c], f01 = lower[c + 1], f10 = upper[c],
                   f11 = upper[c + 1];
            to[j] -= x[j] * ((1 - u) * (f10 - f00) + u * (f11 - f01)) +
                     y[j] * ((1 - r) * (f01 - f00) + r * (f11 - f10));
        }
    }
}

static void divergence(const smoke_grid *g, const double *vx, const double *vy, double *out)
{
    const size_t stride = g->stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict before = vx + first - stride, *restrict behind = vx + first + stride;
        const double *restrict y = vy + first;
        double *restrict to = out + first;
#pragma omp simd
        for (size_t j = 0; j < g->n; j++) {
            to[j] = -0.5 * ((behind[j] - before[j]) + (y[j + 1] - y[(ptrdiff_t)j - 1]));
        }
    }
}

static void sweep(const smoke_grid *g, const double *source, const double *p, double *out)
{
    const size_t stride = g->stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict from = source + first;
        double *restrict to = out + first;
        if (p == NULL) {
            for (size_t j = 0; j < g->n; j++) {
                to[j] = 0.25 * from[j];
            }
            continue;
        }
        const double *restrict here = p + first, *restrict before = here - stride,
                               *restrict behind = here + stride;
#pragma omp simd
        for (size_t j = 0; j < g->n; j++) {
            to[j] = 0.25 * (from[j] + ((behind[j] + before[j]) + (here[j + 1] + here[(ptrdiff_t)j - 1])));
        }
    }
}

static void push(const smoke_grid *g, const double *p, double *vx, double *vy)
{
    const size_t stride = g->stride;
    for (size_t i = 0; i < g->n; i++) {
        const size_t first = (i + 1) * stride + 1;
        const double *restrict here = p + first, *restrict before = here - stride,
                               *restrict behind = here + stride;
        double *restrict x = vx + first, *restrict y = vy + first;
#pragma omp simd
        for (size_t j = 0; j < g->n; j++) {
            x[j] -= 0.5 * (behind[j] - before[j]);
            y[j] -= 0.5 * (here[j + 1] - here[(ptrdiff_t)j - 1]);
        }
    }
}

extern const smoke_kernels ISA_VARIANT(smoke_kernels, SMOKE_ISA);
const smoke_kernels ISA_VARIANT(smoke_kernels, SMOKE_ISA) = {.isa = ISA_NAME(SMOKE_ISA),
                                                             .feet = feet,
                                                             .carry = carry,
                                                             .carry_velocity_adjoint = carry_velocity_adjoint,
                                                             .carry_velocity_tangent = carry_velocity_tangent,
                                                             .divergence = divergence,
                                                             .sweep = sweep,
                                                             .push = push};
