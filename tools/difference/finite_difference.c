/* SPDX-License-Identifier: Apache-2.0 */
/* finite_difference.c - slopes from differences at geometric steps, extrapolated, with errors. */
#include "config.h"

#include "difference/finite_difference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "difference/slope_fit.h"

/* SCALES steps, of which a brief look takes those between the two; QUICK mostly is enough, 4^-7 = 6e-5. */
enum { SCALES = 16, BRIEF_FROM = 3, BRIEF_TO = 9, QUICK = 5, LEFT = 0, RIGHT = 1, BOTH = 2 };

/* What round-off may do to one value of f, in units of its last place. */
static const double ROUND_OFF = 2;
/* How far off a claim must be, in errors of the slope, to be wrong; and to be out of doubt. */
static const double WRONG = 5, DOUBT = 3;

typedef struct line {
    const ds_around *a;
    const ds_direction *along;
    double *saved, one; /* x of the variables that move */
    double slope[2][SCALES], value[2][SCALES];
    unsigned char known[2][SCALES];
    double noise; /* of one value of f */
    double size;  /* largest |f| seen */
    int brief;
} line;

/* A slope that three neighbouring steps agree on. */
typedef struct window {
    double slope, error;
    int scale, side;
} window;

static double step_of(int scale)
{
    return ldexp(1.0, -4 - 2 * scale);
}

/* ---- values ---- */

/* f at x + t d, and in *went how far that is once x is rounded; NaN outside of the box and where f fails. */
static double value_at(line *l, double t, double *went)
{
    const ds_around *a = l->a;
    uint64_t first = l->along->first;
    double along = 0, length = 0, v = NAN;
    int inside = 1, failed = 0;
    for (uint64_t i = 0; i < l->along->count && inside; i++) {
        double d = l->along->d[i], x = l->saved[i] + t * d;
        inside = x >= a->lower[first + i] && x <= a->upper[first + i];
        a->x[first + i] = x;
        along += (x - l->saved[i]) * d;
        length += d * d;
    }
    *went = along / length;
    if (inside && *went != 0 && isfinite(*went)) {
        v = a->f(a->ctx, a->x, &failed);
        l->size = isfinite(v) ? fmax(l->size, fabs(v)) : l->size;
    }
    memcpy(a->x + first, l->saved, l->along->count * sizeof *a->x);
    return failed ? (double)NAN : v;
}

/* (f(x + t d) - f(x)) / t for t = +-step. */
static double difference(line *l, int side, int scale)
{
    if (l->brief && (scale < BRIEF_FROM || scale >= BRIEF_TO)) {
        return NAN;
    }
    if (!l->known[side][scale]) {
        double t = side == RIGHT ? step_of(scale) : -step_of(scale), went;
        double v = value_at(l, t, &went);
        l->value[side][scale] = v;
        l->slope[side][scale] = (v - l->a->f_at_x) / went;
        l->known[side][scale] = 1;
    }
    return l->slope[side][scale];
}

/* ---- extrapolation: steps h and 4 h, NaN where one is missing ---- */

/* The central difference, or that of one side after its error of first order is taken away. */
static double second_order(line *l, int side, int scale)
{
    if (side == BOTH) {
        return 0.5 * (difference(l, LEFT, scale) + difference(l, RIGHT, scale));
    }
    return scale < 1 ? (double)NAN : (4 * difference(l, side, scale) - difference(l, side, scale - 1)) / 3;
}

static double extrapolated(line *l, int side, int scale)
{
    return scale < 1 ? (double)NAN
                     : (16 * second_order(l, side, scale) - second_order(l, side, scale - 1)) / 15;
}

static double round_off(const line *l, int side, int scale)
{
    return (side == BOTH ? 2 : 4) * l->noise / step_of(scale);
}

/* The error is what the coarser step was off by, and never below a part of the last correction: that
 * two numbers agree by chance says little, that four do, much. */
static window window_at(line *l, int side, int scale)
{
    if (scale < 1) {
        return (window){NAN, INFINITY, scale, side};
    }
    double fine = extrapolated(l, side, scale), coarse = extrapolated(l, side, scale - 1);
    double correction = (second_order(l, side, scale) - second_order(l, side, scale - 1)) / 20;
    window w = {fine, INFINITY, scale, side};
    if (isfinite(fine) && isfinite(coarse)) {
        w.error = fmax(fabs(fine - coarse), fabs(correction)) + round_off(l, side, scale);
    }
    return w;
}

static window best_window(line *l, int side)
{
    window best = {NAN, INFINITY, 0, side};
    for (int k = 2; k < SCALES; k++) {
        window w = window_at(l, side, k);
        best = w.error < best.error ? w : best;
    }
    return best;
}

/* ---- noise ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* At the finest steps a smooth function is a straight line up to its round-off. Where it does not change at
 * all any more, its values are rounded to something as large as the last change. */
static void measure_noise(line *l)
{
    enum { FINEST = 6 };
    int to = l->brief ? BRIEF_TO : SCALES, finest = l->brief ? FINEST / 2 : FINEST;
    double bend[FINEST], least[2] = {INFINITY, INFINITY};
    size_t count = 0;
    int flat = 0;
    for (int k = 0; k < to; k++) {
        double left = difference(l, LEFT, k) * step_of(k), right = difference(l, RIGHT, k) * step_of(k);
        for (int s = 0; s < 2; s++) {
            double change = fabs(s == LEFT ? left : right);
            least[s] = change > 0 && change < least[s] ? change : least[s];
            flat |= change == 0;
        }
        if (k < to - finest) {
            continue;
        }
        if (isfinite(left) && isfinite(right)) {
            bend[count++] = fabs(right - left);
        } else {
            double s = isfinite(right) ? right - difference(l, RIGHT, k - 1) * step_of(k)
                                       : left - difference(l, LEFT, k - 1) * step_of(k);
            if (isfinite(s)) {
                bend[count++] = fabs(s);
            }
        }
    }
    qsort(bend, count, sizeof *bend, by_value);
    l->noise = fmax(l->a->noise, ROUND_OFF * DBL_EPSILON * l->size);
    if (count > 0) {
        l->noise = fmax(l->noise, bend[count / 2]);
    }
    if (flat && isfinite(fmin(least[0], least[1]))) {
        l->noise = fmax(l->noise, fmin(least[0], least[1]));
    }
}

/* ---- verdict ---- */

/* The interpolating polynomial through x and the four steps of a window, at t. */
static double model(line *l, const window *w, double t)
{
    double at[5] = {0}, f[5] = {l->a->f_at_x}, sum = 0;
    for (int i = 1; i < 5; i++) {
        int scale = w->side == BOTH ? w->scale - (i - 1) / 2 : w->scale - (i - 1);
        int side = w->side == BOTH ? (i - 1) % 2 : w->side;
        at[i] = (side == RIGHT ? 1 : -1) * step_of(scale);
        f[i] = l->value[side][scale];
    }
    for (int i = 0; i < 5; i++) {
        double basis = 1;
        for (int j = 0; j < 5; j++) {
            basis *= j == i ? 1 : (t - at[j]) / (at[i] - at[j]);
        }
        sum += basis * f[i];
    }
    return sum;
}

/* Is the function at points that had no part in the slope what the slope says? What is left over, as noise of
 * the slope, must be far below how far the claim is off. */
static int confirmed(line *l, const window *w, double off)
{
    static const double at[] = {0.37, -0.53, 0.81, -0.91, 0.23, -0.71};
    double h = step_of(w->scale);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        double t = 4 * h * (w->side == BOTH ? at[i] : w->side == RIGHT ? fabs(at[i]) : -fabs(at[i])), went;
        double v = value_at(l, t, &went);
        if (!(WRONG * fabs(v - model(l, w, went)) <= off * h)) {
            return 0;
        }
    }
    return 1;
}

/* How far off the claim may be where values of f are as uncertain as here. */
static double allowance(const line *l, const ds_claim *c)
{
    double rough = l->size > 0 ? l->noise / l->size : 0;
    return c->tolerance + fmax(c->precision, 100 * fmin(rough, 1)) * c->scale;
}

/* Do two neighbouring steps of one side, finer than `scale`, say the same as the claim, as far as round-off
 * lets them? Values that do not change at all say nothing: they may be rounded. */
static int seen_beneath(line *l, const ds_claim *c, double off, int scale)
{
    for (int k = scale + 1; k + 1 < SCALES; k++) {
        if (4 * ROUND_OFF * DBL_EPSILON * l->size / step_of(k + 1) > 0.1 * off) {
            return 0;
        }
        for (int side = LEFT; side <= RIGHT; side++) {
            double one = difference(l, side, k), two = difference(l, side, k + 1);
            if (one != 0 && two != 0 && fabs(one - c->slope) <= 0.2 * off &&
                fabs(two - c->slope) <= 0.2 * off) {
                return 1;
            }
        }
    }
    return 0;
}

/* Is there a slope at steps finer than `scale` that is the claimed one, and is far better known
 * than `off`? */
static int supported(line *l, const ds_claim *c, double off, int scale)
{
    for (int side = LEFT; side <= BOTH; side++) {
        for (int k = scale + 1; k < SCALES; k++) {
            window w = window_at(l, side, k);
            if (w.error < 0.1 * off &&
                fabs(w.slope - c->slope) <= fmin(DOUBT * w.error + allowance(l, c), 0.5 * off)) {
                return 1;
            }
        }
    }
    return seen_beneath(l, c, off, scale);
}

static int resolves(double error, const ds_claim *c, double slope, double f)
{
    return error <= 0.1 * fmax(fabs(c->slope), fabs(slope)) || error <= 1e-3 * c->scale ||
           error <= 1e-6 * fabs(f);
}

/* ---- many values: where round-off is what limits a slope, as in single precision ---- */

/* Round-off of single precision is below this, relative to f; more is something else. Steps that such numbers
 * do not resolve. */
static const double FITTED_NOISE = 2e-5, LATTICE = 0x1p-15;

/* How far the box reaches along the direction, `most` at most. */
static double reach(const line *l, int side, double most)
{
    const ds_around *a = l->a;
    for (uint64_t i = 0; i < l->along->count; i++) {
        double d = side == RIGHT ? l->along->d[i] : -l->along->d[i], x = l->saved[i];
        uint64_t k = l->along->first + i;
        double room = d > 0 ? (a->upper[k] - x) / d : d < 0 ? (a->lower[k] - x) / d : (double)INFINITY;
        most = fmin(most, room * (1 - 1e-9));
    }
    return fmax(most, 0);
}

/* A fit to values between -width and width, as far as the box goes; the points are not evenly spaced. */
static int fit_within(line *l, double width, ds_slope_fit *fit)
{
    enum { MANY = 32 };
    double t[MANY], f[MANY], left = reach(l, LEFT, width), right = reach(l, RIGHT, width);
    size_t count = 0;
    for (int j = 0; j < MANY; j++) {
        double part = (j + fmod(0.618034 * j, 1)) / MANY;
        double v = value_at(l, (left + right) * part - left, &t[count]);
        f[count] = v - l->a->f_at_x;
        count += isfinite(v) != 0;
    }
    return count >= MANY - MANY / 4 && ds_slope_fit_make(count, t, f, fmax(left, right), fit);
}

/* The best fit: the wider, the less noise; the narrower, the straighter. *width is its own; an error of
 * INFINITY: none. */
static ds_slope_fit best_fit(line *l, double *width)
{
    static const double widths[] = {0x1p-4, 0x1p-2, 0x1p-6};
    ds_slope_fit fit, best = {NAN, INFINITY, 0};
    for (size_t k = 0; k < sizeof widths / sizeof widths[0] && (k < 2 || *width < widths[1]); k++) {
        if (fit_within(l, widths[k], &fit) && fit.error < best.error) {
            best = fit;
            *width = widths[k];
        }
    }
    return best;
}

/* Do values in half of the width say the same? And is what is left over there, and close to x, as much?
 * Round-off is; what jumps and what is no polynomial is less. */
static int fit_confirmed(line *l, const ds_claim *c, const ds_slope_fit *fit, double width)
{
    ds_slope_fit half, close;
    return fit_within(l, 0.45 * width, &half) && fit->noise <= 2 * half.noise &&
           fabs(half.slope - fit->slope) <= DOUBT * (half.error + fit->error) &&
           fabs(half.slope - c->slope) > DOUBT * half.error + allowance(l, c) &&
           fit_within(l, width / 64, &close) && fit->noise <= 2 * close.noise;
}

/* Is what contradicts a claim known from steps alone that single precision does not resolve, while at some
 * larger steps, two in a row, the claim is right? Parts of a function that are in double precision are smooth
 * there, all others stairs. */
static int within_lattice(line *l, const ds_claim *c, const window *w, double off)
{
    int right = 0, in_a_row = 0;
    for (int k = 0; step_of(k) > LATTICE; k++) {
        if (k == w->scale || fabs(window_at(l, w->side, k).slope - w->slope) <= 0.3 * off) {
            return 0;
        }
        in_a_row = fabs(second_order(l, w->side, k) - c->slope) <= 0.2 * off ? in_a_row + 1 : 0;
        right |= in_a_row == 2;
    }
    return right;
}

/* ---- claims ---- */

/* Left and right differ. */
static int judge_kink(line *l, const ds_claim *c, const window *left, const window *right)
{
    double low = fmin(left->slope, right->slope), high = fmax(left->slope, right->slope);
    double error = left->error + right->error, off = fmax(low - c->slope, c->slope - high);
    int finest = left->scale > right->scale ? left->scale : right->scale;
    if (off <= DOUBT * error + allowance(l, c) || supported(l, c, off, finest)) {
        return DS_SLOPE_KINK;
    }
    return off > WRONG * error + allowance(l, c) && confirmed(l, left, off) && confirmed(l, right, off) &&
                   !within_lattice(l, c, left->scale > right->scale ? left : right, off)
               ? DS_SLOPE_WRONG
               : DS_SLOPE_UNKNOWN;
}

/* `w` is all that is known: of both sides, or of the one that the box leaves. */
static int judge_slope(line *l, const ds_claim *c, const window *w, int whole)
{
    double off = fabs(c->slope - w->slope), more = allowance(l, c);
    if (!isfinite(w->error)) {
        return DS_SLOPE_UNKNOWN;
    }
    if (off <= DOUBT * w->error + more) {
        return resolves(DOUBT * w->error + more, c, w->slope, l->size) ? DS_SLOPE_AGREES : DS_SLOPE_UNKNOWN;
    }
    if (!whole || !(off > WRONG * w->error + more)) {
        return DS_SLOPE_UNKNOWN;
    }
    if (supported(l, c, off, w->scale)) {
        return DS_SLOPE_KINK;
    }
    return confirmed(l, w, off) && !within_lattice(l, c, w, off) ? DS_SLOPE_WRONG : DS_SLOPE_UNKNOWN;
}

/* Is it round-off that `w` is limited by, as single precision leaves it, and too little to decide? */
static int wants_fit(const line *l, const ds_claim *c, const window *w, int verdict)
{
    int limited = !isfinite(w->error) || 2 * round_off(l, w->side, w->scale) > w->error;
    return !l->brief && (verdict == DS_SLOPE_AGREES || verdict == DS_SLOPE_UNKNOWN) && limited &&
           l->noise <= FITTED_NOISE * l->size && DOUBT * w->error > allowance(l, c);
}

/* What a fit says where `w` is uncertain because of round-off. */
static void judge_fit(line *l, const ds_claim *c, const window *w, ds_quotient *q)
{
    double width = 0, more = allowance(l, c);
    const ds_slope_fit fit = best_fit(l, &width);
    if (!(fit.error < w->error)) {
        return;
    }
    double off = fabs(c->slope - fit.slope);
    q->value = fit.slope;
    q->spread = fit.error;
    q->step = width;
    q->seen = WRONG * fit.error + more;
    if (off <= DOUBT * fit.error + more) {
        int known = resolves(DOUBT * fit.error + more, c, fit.slope, l->size);
        q->verdict = known ? DS_SLOPE_AGREES : DS_SLOPE_UNKNOWN;
    } else if (off > WRONG * fit.error + more && fit_confirmed(l, c, &fit, width)) {
        q->verdict = supported(l, c, off, QUICK) ? DS_SLOPE_KINK : DS_SLOPE_WRONG;
    } else {
        q->verdict = DS_SLOPE_UNKNOWN;
    }
}

/* ---- all steps ---- */

static void fill_sides(ds_quotient *q, const window *left, const window *right)
{
    q->left = left->slope;
    q->left_spread = left->error;
    q->right = right->slope;
    q->right_spread = right->error;
}

/* Does the box leave room for enough steps on this side? */
static int has_room(const line *l, int side)
{
    enum { ENOUGH = 8 }; /* 4^-10 */
    const ds_around *a = l->a;
    double t = side == RIGHT ? step_of(ENOUGH) : -step_of(ENOUGH);
    for (uint64_t i = 0; i < l->along->count; i++) {
        double x = l->saved[i] + t * l->along->d[i];
        if (!(x >= a->lower[l->along->first + i] && x <= a->upper[l->along->first + i])) {
            return 0;
        }
    }
    return 1;
}

static ds_quotient examine(line *l, const ds_claim *c)
{
    ds_quotient q = {NAN, INFINITY, 0, NAN, NAN, INFINITY, INFINITY, INFINITY, 0, 0, DS_SLOPE_UNKNOWN, 0};
    measure_noise(l);
    window side[3] = {best_window(l, LEFT), best_window(l, RIGHT), best_window(l, BOTH)};
    int room[2] = {has_room(l, LEFT), has_room(l, RIGHT)};
    const window *w = room[LEFT] && room[RIGHT] ? &side[BOTH] : &side[room[RIGHT] ? RIGHT : LEFT];
    double error = side[LEFT].error + side[RIGHT].error;
    fill_sides(&q, &side[LEFT], &side[RIGHT]);
    q.kink = isfinite(error) && fabs(side[RIGHT].slope - side[LEFT].slope) > 4 * error;
    q.value = w->slope;
    q.spread = q.kink ? 0.5 * fabs(side[RIGHT].slope - side[LEFT].slope) : w->error;
    q.step = step_of(w->scale);
    for (int k = 0; k < SCALES && isnan(q.value); k++) { /* better than nothing */
        q.value = difference(l, RIGHT, k);
        q.value = isnan(q.value) ? difference(l, LEFT, k) : q.value;
        q.step = step_of(k);
    }
    q.agreed = !q.kink && isfinite(w->error) &&
               w->error <= fmax(1e-6 * fabs(w->slope), 3 * round_off(l, w->side, w->scale)) &&
               (w->error <= 0.1 * fabs(w->slope) || w->error <= 1e-6 * l->size);
    if (isnan(c->slope)) {
        return q;
    }
    if (q.kink) {
        q.verdict = judge_kink(l, c, &side[LEFT], &side[RIGHT]);
        q.seen = q.spread;
    } else {
        q.verdict = judge_slope(l, c, w, 1);
        q.seen = WRONG * w->error + allowance(l, c);
        for (int s = LEFT; s <= RIGHT && q.verdict == DS_SLOPE_UNKNOWN; s++) {
            /* A jump at x: the other side says what there is to say. */
            q.verdict = judge_slope(l, c, &side[s], 0) == DS_SLOPE_AGREES ? DS_SLOPE_KINK : q.verdict;
        }
        if (wants_fit(l, c, w, q.verdict)) {
            judge_fit(l, c, w, &q);
        }
    }
    return q;
}

/* ---- two steps ---- */

/* 1 = they settle it. */
static int look_quickly(line *l, const ds_claim *c, ds_quotient *q)
{
    int side = BOTH;
    double fine = extrapolated(l, BOTH, QUICK);
    if (isnan(fine)) {
        side = isnan(difference(l, LEFT, QUICK)) ? RIGHT : LEFT;
        fine = extrapolated(l, side, QUICK);
    }
    l->noise = fmax(l->a->noise, ROUND_OFF * DBL_EPSILON * l->size);
    double coarse = second_order(l, side, QUICK), blur = 2 * round_off(l, side, QUICK);
    double near = isnan(c->slope) ? 1e-6 * fabs(fine) : c->tolerance + c->precision * c->scale;
    *q = (ds_quotient){.value = fine,
                       .spread = fabs(fine - coarse) / 16 + blur,
                       .step = step_of(QUICK),
                       .left = second_order(l, LEFT, QUICK),
                       .right = second_order(l, RIGHT, QUICK),
                       .seen = near + blur,
                       .agreed = 1,
                       .verdict = isnan(c->slope) ? DS_SLOPE_UNKNOWN : DS_SLOPE_AGREES};
    q->left_spread = fabs(q->left - difference(l, LEFT, QUICK)) / 4 + 2 * round_off(l, LEFT, QUICK);
    q->right_spread = fabs(q->right - difference(l, RIGHT, QUICK)) / 4 + 2 * round_off(l, RIGHT, QUICK);
    double off = isnan(c->slope) ? fabs(fine - coarse) : fabs(fine - c->slope);
    int kink = fabs(q->left - q->right) >
               q->left_spread + q->right_spread + 0.1 * fmax(fabs(q->left), fabs(q->right));
    return off <= near + blur && !kink && (isnan(c->slope) || resolves(near + blur, c, fine, l->size));
}

/* Nothing is known of a slope. */
static const ds_quotient unknown = {NAN, INFINITY,         0, NAN, NAN, INFINITY, INFINITY, INFINITY, 0,
                                    0,   DS_SLOPE_UNKNOWN, 0};

static ds_quotient look(const ds_around *a, const ds_direction *along, const ds_claim *claim, int quickly)
{
    const ds_claim none = {.slope = NAN}, *c = claim != NULL ? claim : &none;
    ds_quotient q = unknown;
    line l = {.a = a, .along = along, .size = fabs(a->f_at_x), .brief = a->brief};
    l.saved = along->count == 1 ? &l.one : malloc(along->count * sizeof *l.saved);
    if (l.saved == NULL || along->count == 0) {
        return q;
    }
    memcpy(l.saved, a->x + along->first, along->count * sizeof *l.saved);
    if (!quickly || !look_quickly(&l, c, &q)) {
        q = examine(&l, c);
    }
    if (q.verdict == DS_SLOPE_WRONG && l.brief) { /* that has to be sure */
        l.brief = 0;
        q = examine(&l, c);
    }
    if (l.saved != &l.one) {
        free(l.saved);
    }
    return q;
}

ds_quotient ds_difference(const ds_around *a, const ds_direction *along, const ds_claim *claim)
{
    return look(a, along, claim, 1);
}

static ds_quotient look_at_component(const ds_around *a, uint64_t i, const ds_claim *claim, int quickly)
{
    double range = a->upper[i] - a->lower[i];
    const ds_direction along = {&range, i, 1};
    if (!(range > 0)) { /* a fixed variable: there is nowhere to step to */
        return unknown;
    }
    ds_quotient q = look(a, &along, claim, quickly);
    q.value /= range;
    q.spread /= range;
    q.left /= range;
    q.right /= range;
    q.left_spread /= range;
    q.right_spread /= range;
    q.seen /= range;
    return q;
}

ds_quotient ds_difference_component(const ds_around *a, uint64_t i, const ds_claim *claim)
{
    return look_at_component(a, i, claim, 1);
}

ds_quotient ds_difference_component_again(const ds_around *a, uint64_t i, const ds_claim *claim)
{
    return look_at_component(a, i, claim, 0);
}

const char *ds_slope_name(int verdict)
{
    static const char *const names[] = {"agrees", "kink", "undecided", "wrong"};
    return names[verdict >= DS_SLOPE_AGREES && verdict <= DS_SLOPE_WRONG ? verdict : DS_SLOPE_UNKNOWN];
}
