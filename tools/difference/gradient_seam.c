/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_seam.c - see gradient_seam.h. */
#include "config.h"

#include "difference/gradient_seam.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

/* How far points lie from x, in widths of the box: for jumps, and for other places of the rim. */
static const double FAR = 1e-6, NEAR = FAR / 16, ELSEWHERE = 4e-3;
/* A change by this part of what a slope is off by, and by this part of that of the point farther off, is a
 * jump. */
static const double PART = 0.3;

/* Goes to a distance of `size`, with the gradient there in `room`; 0 = there is none. */
static int step_beside(const ds_beside *b, const ds_direction *along, double size, unsigned number)
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

static void step_back(const ds_beside *b)
{
    memcpy(b->around->x, b->room + b->around->n, b->around->n * sizeof *b->room);
}

/* How far the slope that the gradient claims changes on the way there; INFINITY: there is none. */
static double change_beside(const ds_beside *b, const ds_direction *along, double size, unsigned number)
{
    double change = step_beside(b, along, size, number) ? 0 : (double)INFINITY;
    step_back(b);
    for (uint64_t k = 0, i = along->first; k < along->count; k++, i++) {
        change += (b->room[i] - b->claim->grad[i]) * along->d[k];
    }
    return fabs(change);
}

static int jumps(const ds_beside *b, const ds_direction *along, double off)
{
    enum { TRIED = 6 };
    for (unsigned k = 0; k < TRIED; k++) {
        double change = change_beside(b, along, NEAR, k);
        if (!(change <= PART * off) && !(change <= PART * change_beside(b, along, FAR, k))) {
            return 1;
        }
    }
    return 0;
}

/* Many variables at their bounds make ties that the box has on its rim only: where one of them has clamped
 * something, another one starts from there. */
static int right_elsewhere(const ds_beside *b, uint64_t i)
{
    const ds_around *a = b->around;
    double width = a->upper[i] - a->lower[i];
    const ds_direction along = {&width, i, 1};
    int right = 0, failed = 0;
    if (a->n == 1 || (a->x[i] > a->lower[i] && a->x[i] < a->upper[i])) {
        return 0;
    }
    if (step_beside(b, &along, ELSEWHERE, 0)) {
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

int ds_on_seam(const ds_beside *b, const ds_direction *along, double off)
{
    return jumps(b, along, off) || (along->count == 1 && right_elsewhere(b, along->first));
}
