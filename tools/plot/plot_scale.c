/* SPDX-License-Identifier: Apache-2.0 */
/* plot_scale.c - axes: which range and kind, where the ticks are, how they are labelled. */
#include "config.h"

#include "plot/plot_scale.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "plot/canvas.h"

/* Free share of the range at both ends: room for labels next to the outermost points. */
#define AIR 0.075

/* Data value to the coordinate in which the scale is even. */
static double warp(const ds_scale *s, double v)
{
    switch (s->kind) {
    case DS_SCALE_LOG:
        return log10(v > DBL_MIN ? v : DBL_MIN);
    case DS_SCALE_SYMLOG:
        return asinh(v / s->linear);
    default:
        return v;
    }
}

static double unwarp(const ds_scale *s, double u)
{
    switch (s->kind) {
    case DS_SCALE_LOG:
        return pow(10, u);
    case DS_SCALE_SYMLOG:
        return s->linear * sinh(u);
    default:
        return u;
    }
}

double ds_scale_map(const ds_scale *s, double v)
{
    double a = warp(s, s->low);
    double b = warp(s, s->high);
    /* Halves, because b - a may exceed the range of double. */
    double t = (warp(s, v) / 2 - a / 2) / (b / 2 - a / 2);
    return s->from + (s->to - s->from) * fmax(-100, fmin(100, t));
}

ds_scale ds_scale_make(int kind, double low, double high, double linear, double from, double to)
{
    ds_scale s = {kind, low, high, linear, from, to};
    int one_sign = low > 0 || high < 0;
    double ratio = fabs(low) < fabs(high) ? fabs(high) / fabs(low) : fabs(low) / fabs(high);
    if ((kind == DS_SCALE_LOG && !(low > 0 && ratio > 2)) ||
        (kind == DS_SCALE_SYMLOG && one_sign && ratio < 10)) {
        s.kind = DS_SCALE_LINEAR;
    }
    /* Far from the ends of double, so that the air around the range does not overflow. */
    double limit = s.kind == DS_SCALE_LINEAR ? DBL_MAX / 4 : 1e250;
    s.low = fmax(-limit, fmin(limit, low));
    s.high = fmax(-limit, fmin(limit, high));
    if (s.kind == DS_SCALE_LOG) {
        s.low = fmax(s.low, 1e-250);
        s.high = fmax(s.high, 1e-249);
    }
    s.linear = fmax(s.linear, 1e-250);
    double a = warp(&s, s.low);
    double b = warp(&s, s.high);
    double span = b - a;
    double smallest = fmax(fabs(a), fabs(b)) * 1e-12;
    if (!(span > smallest)) {
        /* All values are equal: a range about them that keeps them in the middle. */
        span = a < 0 || a > 0 ? fabs(a) * 0.2 : 1.0;
        a -= span / 2;
        b += span / 2;
    }
    s.low = unwarp(&s, a - span * AIR);
    s.high = unwarp(&s, b + span * AIR);
    return s;
}

static void add_tick(ds_tick *ticks, size_t *n, double value, int major)
{
    if (*n < DS_SCALE_MAX_TICKS) {
        ticks[*n].value = value;
        ticks[*n].major = major;
        ticks[*n].label[0] = '\0';
        (*n)++;
    }
}

/* m times 10^k; long numbers as powers. */
static void label_power(char *out, int m, int k)
{
    if (k >= -3 && k <= 4) {
        ds_label_number(out, DS_TICK_LABEL_MAX, m * pow(10, k), 6);
    } else {
        /* One digit makes "%g" choose the exponent form. */
        ds_label_number(out, DS_TICK_LABEL_MAX, m * pow(10, k), 1);
    }
}

/* 1, 2, 2.5 or 5 times a power of ten, such that about `wanted` steps fit. */
static double nice_step(double span, int wanted)
{
    double rough = span / wanted;
    double power = pow(10, floor(log10(rough)));
    double m = rough / power;
    return power * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 2.5 ? 2.5 : m <= 5 ? 5 : 10);
}

static size_t linear_ticks(const ds_scale *s, int wanted, ds_tick *ticks)
{
    size_t n = 0;
    double step = nice_step(s->high - s->low, wanted);
    if (!(step > 0) || !isfinite(step)) {
        return 0;
    }
    double first = ceil(s->low / step - 1e-9);
    for (double k = first; k <= s->high / step + 1e-9 && n < DS_SCALE_MAX_TICKS; k += 1) {
        double v = k * step + 0.0;
        add_tick(ticks, &n, v, 1);
        double largest = fmax(fabs(s->low), fabs(s->high));
        /* Enough digits to tell neighbours apart. */
        int digits = (int)fmin(12, fmax(3, ceil(log10(largest / step)) + 2));
        if (largest < 1e6 && largest >= 100) {
            digits = (int)fmax(digits, ceil(log10(largest)) + 1);
        }
        ds_label_number(ticks[n - 1].label, DS_TICK_LABEL_MAX, v, digits);
        if (k + 1 <= k) {
            break;
        }
    }
    return n;
}

static size_t log_ticks(const ds_scale *s, int wanted, ds_tick *ticks)
{
    size_t n = 0;
    int first = (int)floor(log10(s->low));
    int last = (int)ceil(log10(s->high));
    int decades = last - first;
    int every = decades / (wanted + 1) + 1;
    double span = log10(s->high / s->low);
    for (int k = first; k <= last; k++) {
        for (int m = 1; m <= 9; m++) {
            double v = m * pow(10, k);
            if (v < s->low * (1 - 1e-9) || v > s->high * (1 + 1e-9)) {
                continue;
            }
            int major = m == 1 ? ((k % every) + every) % every == 0
                               : (span < 2.2 && (m == 2 || m == 5)) || (span < 0.8 && m < 8);
            if (major || (decades <= 6 && m > 1) || (m == 1 && decades < 50)) {
                add_tick(ticks, &n, v, major);
                if (major) {
                    label_power(ticks[n - 1].label, m, k);
                }
            }
        }
    }
    return n;
}

static size_t symlog_ticks(const ds_scale *s, int wanted, ds_tick *ticks)
{
    size_t n = 0;
    int k0 = (int)floor(log10(s->linear));
    double largest = fmax(fabs(s->low), fabs(s->high));
    int k1 = (int)ceil(log10(largest));
    int every = (k1 - k0) * (s->low < 0 && s->high > 0 ? 2 : 1) / (wanted + 1) + 1;
    for (int sign = -1; sign <= 1; sign++) {
        if (sign == 0) {
            if (s->low <= 0 && s->high >= 0) {
                add_tick(ticks, &n, 0, 1);
                strcpy(ticks[n - 1].label, "0");
            }
            continue;
        }
        for (int k = k0; k <= k1; k++) {
            double v = sign * pow(10, k);
            /* Labels keep clear of the one at zero. */
            double gap = fabs(ds_scale_map(s, v) - ds_scale_map(s, 0));
            if (v >= s->low && v <= s->high && (k1 - k) % every == 0 && gap > 22) {
                add_tick(ticks, &n, v, 1);
                label_power(ticks[n - 1].label, sign, k);
            }
        }
    }
    return n;
}

size_t ds_scale_ticks(const ds_scale *s, int wanted, ds_tick ticks[DS_SCALE_MAX_TICKS])
{
    switch (s->kind) {
    case DS_SCALE_LOG:
        return log_ticks(s, wanted, ticks);
    case DS_SCALE_SYMLOG:
        return symlog_ticks(s, wanted, ticks);
    default:
        return linear_ticks(s, wanted, ticks);
    }
}
