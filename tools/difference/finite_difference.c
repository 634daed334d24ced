/* SPDX-License-Identifier: Apache-2.0 */
/* finite_difference.c - slopes from differences at geometric steps, extrapolated, with errors. */
#include "config.h"

#include "difference/finite_difference.h"

#include <diffsim/base.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a polynomial fitted to many values ---- */

/* Chebyshev polynomials, orthogonalised on the sample points by Gram and Schmidt, twice, because the points
 * may all lie on one side. */

enum { LOW = 5, HIGH = 7, TERMS = HIGH + 1 };

typedef struct basis {
    double q[TERMS][DS_FIT_MOST]; /* orthonormal on the sample points */
    double slope[TERMS];          /* derivatives of these polynomials at 0, per unit of t / width */
} basis;

static double dot(size_t count, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        sum += a[j] * b[j];
    }
    return sum;
}

/* 0 where the points cannot distinguish the polynomials. */
static int make_basis(size_t count, const double *t, double width, basis *b)
{
    static const double chebyshev_slope[TERMS] = {0, 1, 0, -3, 0, 5, 0, -7};
    for (int k = 0; k < TERMS; k++) {
        double *q = b->q[k];
        b->slope[k] = chebyshev_slope[k];
        for (size_t j = 0; j < count; j++) {
            q[j] = cos(k * acos(fmin(fmax(t[j] / width, -1), 1)));
        }
        double before = sqrt(dot(count, q, q));
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < k; i++) {
                double part = dot(count, b->q[i], q);
                for (size_t j = 0; j < count; j++) {
                    q[j] -= part * b->q[i][j];
                }
                b->slope[k] -= part * b->slope[i];
            }
        }
        double length = sqrt(dot(count, q, q));
        if (!(length > 1e-9 * before)) {
            return 0;
        }
        for (size_t j = 0; j < count; j++) {
            q[j] /= length;
        }
        b->slope[k] /= length;
    }
    return 1;
}

int ds_slope_fit_make(size_t count, const double *t, const double *f, double width, ds_slope_fit *fit)
{
    basis b;
    double left[DS_FIT_MOST], slope = 0, low = 0, weight = 0;
    if (count < DS_FIT_LEAST || count > DS_FIT_MOST || !make_basis(count, t, width, &b)) {
        return 0;
    }
    for (size_t j = 0; j < count; j++) {
        left[j] = f[j];
    }
    for (int k = 0; k <= HIGH; k++) {
        double part = dot(count, b.q[k], left);
        for (size_t j = 0; j < count; j++) {
            left[j] -= part * b.q[k][j];
        }
        slope += part * b.slope[k];
        if (k == LOW) {
            low = slope;
            fit->noise = sqrt(dot(count, left, left) / (double)(count - LOW - 1));
        }
        weight += k <= LOW ? b.slope[k] * b.slope[k] : 0;
    }
    fit->slope = low / width;
    fit->error = (fit->noise * sqrt(weight) + fabs(slope - low)) / width;
    return isfinite(fit->slope) && isfinite(fit->error);
}

/* Step number k is 4^-(k + 2). A brief search uses only BRIEF_FROM to BRIEF_TO - 1; step QUICK, 4^-7 = 6e-5,
 * is usually enough. */
enum { SCALES = 16, BRIEF_FROM = 3, BRIEF_TO = 9, QUICK = 5, LEFT = 0, RIGHT = 1, BOTH = 2 };

/* Assumed round-off of one value of f, in units of its last place. */
static const double ROUND_OFF = 2;
/* A claim is wrong where it is off by more than WRONG errors of the slope, and beyond doubt within DOUBT
 * errors. */
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

/* f at x + t d. *went receives the actual distance after rounding x; NaN outside of the box and where f
 * fails. */
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

/* ---- extrapolation from steps h and 4 h; NaN where one is missing ---- */

/* The central difference, or a one-sided difference without its first-order error. */
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

/* The error is the change from the coarser step, but at least a part of the last correction: two numbers may
 * agree by chance, four hardly. */
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

/* At the finest steps a smooth function is a straight line up to round-off. Where its value stops changing,
 * values are rounded to about the size of the last change. */
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
        double weight = 1;
        for (int j = 0; j < 5; j++) {
            weight *= j == i ? 1 : (t - at[j]) / (at[i] - at[j]);
        }
        sum += weight * f[i];
    }
    return sum;
}

/* Does the slope predict f at points that were not used for it? The residual, as noise of the slope, must be
 * far below the error of the claim. */
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

/* How far off the claim may be, given the noise of f. */
static double allowance(const line *l, const ds_claim *c)
{
    double rough = l->size > 0 ? l->noise / l->size : 0;
    return c->tolerance + fmax(c->precision, 100 * fmin(rough, 1)) * c->scale;
}

/* Do two neighbouring one-sided steps finer than `scale` agree with the claim, as far as round-off allows?
 * Values that do not change at all may be rounded and do not count. */
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

/* Does some step finer than `scale` give the claimed slope, with an error far below `off`? */
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

/* ---- many values: where round-off limits the slope, as in single precision ---- */

/* FITTED_NOISE: bound of single-precision round-off relative to f; larger noise has another cause. LATTICE:
 * steps that single precision cannot resolve. */
static const double FITTED_NOISE = 2e-5, LATTICE = 0x1p-15;

/* How far the box extends along the direction, at most `most`. */
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

/* A fit to values between -width and width, clipped to the box; the points are not evenly spaced. */
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

/* The fit with the least error; wide fits have less noise, narrow ones less curvature. *width receives its
 * width; an error of INFINITY means none. */
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

/* Do values in half of the width give the same slope, and is the residual as large there and close to x? For
 * round-off it is; jumps and non-polynomial parts leave less. */
static int fit_confirmed(line *l, const ds_claim *c, const ds_slope_fit *fit, double width)
{
    ds_slope_fit half, close;
    return fit_within(l, 0.45 * width, &half) && fit->noise <= 2 * half.noise &&
           fabs(half.slope - fit->slope) <= DOUBT * (half.error + fit->error) &&
           fabs(half.slope - c->slope) > DOUBT * half.error + allowance(l, c) &&
           fit_within(l, width / 64, &close) && fit->noise <= 2 * close.noise;
}

/* Does the contradiction come only from steps that single precision cannot resolve, while the claim holds at
 * two larger steps in a row? There, parts computed in double precision are smooth and all others are stairs.
 */
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

/* `w` is the best window of both sides, or of the only side inside the box. */
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

/* Is `w` limited by round-off of single precision, and too imprecise to decide? */
static int wants_fit(const line *l, const ds_claim *c, const window *w, int verdict)
{
    int limited = !isfinite(w->error) || 2 * round_off(l, w->side, w->scale) > w->error;
    return !l->brief && (verdict == DS_SLOPE_AGREES || verdict == DS_SLOPE_UNKNOWN) && limited &&
           l->noise <= FITTED_NOISE * l->size && DOUBT * w->error > allowance(l, c);
}

/* Judges the claim by a fit where round-off makes `w` uncertain. */
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

/* Is there room inside the box for enough steps on this side? */
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
    for (int k = 0; k < SCALES && isnan(q.value); k++) { /* a rough value instead of none */
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
            /* A jump at x: judge by the other side. */
            q.verdict = judge_slope(l, c, &side[s], 0) == DS_SLOPE_AGREES ? DS_SLOPE_KINK : q.verdict;
        }
        if (wants_fit(l, c, w, q.verdict)) {
            judge_fit(l, c, w, &q);
        }
    }
    return q;
}

/* ---- two steps ---- */

/* 1 = the two steps settle it. */
static int try_two_steps(line *l, const ds_claim *c, ds_quotient *q)
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

/* The result where nothing is known of a slope. */
static const ds_quotient unknown = {NAN, INFINITY,         0, NAN, NAN, INFINITY, INFINITY, INFINITY, 0,
                                    0,   DS_SLOPE_UNKNOWN, 0};

static ds_quotient examine_along(const ds_around *a, const ds_direction *along, const ds_claim *claim,
                                 int quickly)
{
    const ds_claim none = {.slope = NAN}, *c = claim != NULL ? claim : &none;
    ds_quotient q = unknown;
    line l = {.a = a, .along = along, .size = fabs(a->f_at_x), .brief = a->brief};
    l.saved = along->count == 1 ? &l.one : malloc(along->count * sizeof *l.saved);
    if (l.saved == NULL || along->count == 0) {
        return q;
    }
    memcpy(l.saved, a->x + along->first, along->count * sizeof *l.saved);
    if (!quickly || !try_two_steps(&l, c, &q)) {
        q = examine(&l, c);
    }
    if (q.verdict == DS_SLOPE_WRONG && l.brief) { /* repeat with all steps before calling a claim wrong */
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
    return examine_along(a, along, claim, 1);
}

static ds_quotient examine_component(const ds_around *a, uint64_t i, const ds_claim *claim, int quickly)
{
    double range = a->upper[i] - a->lower[i];
    const ds_direction along = {&range, i, 1};
    if (!(range > 0)) { /* a fixed variable has no step */
        return unknown;
    }
    ds_quotient q = examine_along(a, &along, claim, quickly);
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
    return examine_component(a, i, claim, 1);
}

ds_quotient ds_difference_component_again(const ds_around *a, uint64_t i, const ds_claim *claim)
{
    return examine_component(a, i, claim, 0);
}

const char *ds_slope_name(int verdict)
{
    static const char *const names[] = {"agrees", "kink", "undecided", "wrong"};
    return names[verdict >= DS_SLOPE_AGREES && verdict <= DS_SLOPE_WRONG ? verdict : DS_SLOPE_UNKNOWN];
}

/* ---- claims of a gradient ---- */

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
