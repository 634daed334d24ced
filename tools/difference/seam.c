/* SPDX-License-Identifier: Apache-2.0 */
/* seam.c - is a gradient that disagrees with the quotient wrong, or does it jump at x (finite_difference.h)?
 */
#include "config.h"

#include "difference/finite_difference.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

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

/* ---- kinks at a bound ---- */

/* The gradient inside the box counts as the quotient up to this part of their distance at x; a component that
 * changes by this part of itself jumps. */
static const double EQUAL = 0.05, LEAP = 1e-4;
/* Votes about whether the gradient is wrong at all bounds. */
enum { VOTES = 8 };

static int is_at_bound(const ds_around *a, uint64_t i)
{
    return a->lower[i] < a->upper[i] && (a->x[i] <= a->lower[i] || a->x[i] >= a->upper[i]);
}

/* Component i of the gradient where x[i], which lies at a bound, is moved into the box by `size` of its
 * width; NaN where there is no gradient. */
static double component_inside(const ds_seam_test *b, uint64_t i, double size)
{
    const ds_around *a = b->around;
    const double kept = a->x[i], by = size * (a->upper[i] - a->lower[i]);
    a->x[i] += kept <= a->lower[i] ? by : -by;
    const int known = b->gradient(a->ctx, a->x, b->room);
    a->x[i] = kept;
    return known ? b->room[i] : (double)NAN;
}

/* Does component i, `here` at the bound, jump one step inside? */
static int leaps(const ds_seam_test *b, uint64_t i, double here)
{
    const double inside = component_inside(b, i, NEAR);
    return !(fabs(inside - here) <= LEAP * fmax(fabs(inside), fabs(here)));
}

/* Is the gradient wrong wherever a variable is at its bound? Then most other variables at their bounds jump,
 * too, and variable i at its other bound. */
static int wrong_at_bounds(const ds_seam_test *b, uint64_t i)
{
    const ds_around *a = b->around;
    const double kept = a->x[i];
    int jumping = 0, steady = 0;
    a->x[i] = kept <= a->lower[i] ? a->upper[i] : a->lower[i];
    const double there = component_inside(b, i, 0);
    if (there != 0) { /* also where there is no gradient */
        const int leap = leaps(b, i, there);
        jumping += leap;
        steady += !leap;
    }
    a->x[i] = kept;
    for (uint64_t k = 0; k < a->n && jumping + steady < VOTES; k++) {
        if (k != i && is_at_bound(a, k) && b->claim->grad[k] != 0) {
            const int leap = leaps(b, k, b->claim->grad[k]);
            jumping += leap;
            steady += !leap;
        }
    }
    return jumping > steady;
}

/* The loss has a kink at the very bound of variable i, and the gradient there is that of the side outside
 * of the box: one step inside it equals the quotient. A derivative of 0 is that of a clamp, and remains an
 * error. */
static int kink_at_bound(const ds_seam_test *b, uint64_t i, double d, double off)
{
    const double here = b->claim->grad[i];
    if (!is_at_bound(b->around, i) || here == 0) {
        return 0;
    }
    const double change = (component_inside(b, i, NEAR) - here) * d;
    return fabs(change - off) <= EQUAL * fabs(off) && !wrong_at_bounds(b, i);
}

int ds_on_seam(const ds_seam_test *b, const ds_direction *along, double off)
{
    const int alone = along->count == 1;
    return jumps(b, along, fabs(off)) || (alone && right_elsewhere(b, along->first)) ? DS_SEAM_NEAR
           : alone && kink_at_bound(b, along->first, along->d[0], off)               ? DS_SEAM_BOUND
                                                                                     : DS_SEAM_NONE;
}
