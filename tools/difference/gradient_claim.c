/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_claim.c - claims of a gradient, and jumps of the gradient near a point. */
#include "config.h"

#include "difference/gradient_claim.h"

#include <diffsim/base.h>
#include <diffsim/helper/random.h>

#include <math.h>
#include <string.h>

/* Allowed errors: sums in another order, an equation solved to 1e-8. */
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

uint64_t ds_first_not_finite(uint64_t n, const double *grad)
{
    uint64_t i = 0;
    while (i < n && isfinite(grad[i])) {
        i++;
    }
    return i;
}

/* ---- seams ---- */

/* Distance of nearby points from x, in widths of the box: FAR and NEAR to find jumps, ELSEWHERE for another
 * place on the boundary. */
static const double FAR = 1e-6, NEAR = FAR / 16, ELSEWHERE = 4e-3;
/* A change by this part of the error, and by this part of the change at the farther point, is a jump. */
static const double PART = 0.3;

/* Moves x by `size` and puts the gradient there into `room`; 0 = there is none. */
static int step_nearby(const ds_seam_test *b, const ds_direction *along, double size, unsigned number)
{
    const ds_around *a = b->around;
    ds_random r = ds_random_open(b->key, "beside", number);
    memcpy(b->room + a->n, a->x, a->n * sizeof *a->x);
    for (uint64_t i = 0; i < a->n; i++) {
        double width = a->upper[i] - a->lower[i], by = 2 * ds_random_uniform(&r) - 1, x = a->x[i];
        int low = x <= a->lower[i], high = x >= a->upper[i];
        int stays = (low || high) && i - along->first < along->count;
        x += size * width * (low ? fabs(by) : high ? -fabs(by) : by);
        a->x[i] = stays ? a->x[i] : fmin(fmax(x, a->lower[i]), a->upper[i]);
    }
    return b->gradient(a->ctx, a->x, b->room);
}

static void step_back(const ds_seam_test *b)
{
    memcpy(b->around->x, b->room + b->around->n, b->around->n * sizeof *b->room);
}

/* Change of the claimed slope between x and there; INFINITY where there is no gradient. */
static double change_nearby(const ds_seam_test *b, const ds_direction *along, double size, unsigned number)
{
    double change = step_nearby(b, along, size, number) ? 0 : (double)INFINITY;
    step_back(b);
    for (uint64_t k = 0, i = along->first; k < along->count; k++, i++) {
        change += (b->room[i] - b->claim->grad[i]) * along->d[k];
    }
    return fabs(change);
}

static int jumps(const ds_seam_test *b, const ds_direction *along, double off)
{
    enum { TRIED = 6 };
    for (unsigned k = 0; k < TRIED; k++) {
        double change = change_nearby(b, along, NEAR, k);
        if (!(change <= PART * off) && !(change <= PART * change_nearby(b, along, FAR, k))) {
            return 1;
        }
    }
    return 0;
}

/* Many variables at their bounds cause ties that exist on the boundary only: where one variable is clamped,
 * another one starts from its clamped value. */
static int right_elsewhere(const ds_seam_test *b, uint64_t i)
{
    const ds_around *a = b->around;
    double width = a->upper[i] - a->lower[i];
    const ds_direction along = {&width, i, 1};
    int right = 0, failed = 0;
    if (a->n == 1 || (a->x[i] > a->lower[i] && a->x[i] < a->upper[i])) {
        return 0;
    }
    if (step_nearby(b, &along, ELSEWHERE, 0)) {
        ds_gradient_claim g = *b->claim;
        ds_around there = *a;
        g.grad = b->room;
        const ds_claim claim = ds_gradient_claim_of(&g, i, width);
        there.f_at_x = a->f(a->ctx, a->x, &failed);
        const int verdict = ds_difference_component(&there, i, &claim).verdict;
        right = !failed && (verdict == DS_SLOPE_AGREES || verdict == DS_SLOPE_KINK);
    }
    step_back(b);
    return right;
}

int ds_on_seam(const ds_seam_test *b, const ds_direction *along, double off)
{
    return jumps(b, along, off) || (along->count == 1 && right_elsewhere(b, along->first));
}
