/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_claim.c - see gradient_claim.h. */
#include "config.h"

#include "difference/gradient_claim.h"

#include <diffsim/base.h>
#include <math.h>

/* What is within these is no fault: sums in another order, an equation solved to 1e-8. */
static const double EXACT = 1e-6, EXACT_SCALE = 1e-10;
static const double SINGLE = 1e-5, SINGLE_SCALE = 1e-6;
static const double DIFFERENCED = 1e-3, DIFFERENCED_SCALE = 1e-4;

ds_gradient_claim ds_gradient_claim_make(uint64_t n, const double *grad, const double *lower,
                                         const double *upper, uint32_t kind, double tolerance)
{
    ds_gradient_claim g = {grad, 0, EXACT, EXACT_SCALE, 1};
    for (uint64_t i = 0; i < n; i++) {
        g.scale = fmax(g.scale, fabs(grad[i]) * (upper[i] - lower[i]));
        g.single &= fabs(grad[i]) > 1e38 ? 0 : (double)(float)grad[i] == grad[i];
    }
    if (kind == DS_GRAD_FD) {
        g.relative = DIFFERENCED;
        g.precision = DIFFERENCED_SCALE;
    } else if (g.single) {
        g.relative = SINGLE;
        g.precision = SINGLE_SCALE;
    }
    g.precision = fmax(g.precision, 2 * tolerance);
    return g;
}

ds_claim ds_gradient_claim_along(const ds_gradient_claim *g, const ds_direction *along)
{
    double slope = 0, squares = 0;
    for (uint64_t i = 0; i < along->count; i++) {
        double part = g->grad[along->first + i] * along->d[i];
        slope += part;
        squares += part * part;
    }
    return (ds_claim){slope, g->relative * sqrt(squares), g->scale, g->precision};
}

ds_claim ds_gradient_claim_of(const ds_gradient_claim *g, uint64_t i, double width)
{
    const ds_direction along = {&width, i, 1};
    return ds_gradient_claim_along(g, &along);
}

uint64_t ds_gradient_wild(uint64_t n, const double *grad)
{
    uint64_t i = 0;
    while (i < n && isfinite(grad[i])) {
        i++;
    }
    return i;
}
