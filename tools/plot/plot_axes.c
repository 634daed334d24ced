/* SPDX-License-Identifier: Apache-2.0 */
/* plot_axes.c - scales and ticks, the frame of a plot, its title, text beside it, and markers. */
#include "config.h"

#include "plot/plot_axes.h"

#include "plot/canvas.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- scales ---- */

/* Free share of the range at both ends: room for labels next to the outermost points. */
#define AIR 0.075

/* Maps a value to the coordinate in which the scale is linear. */
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
    /* Halved, because b - a may overflow. */
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
    /* Far from DBL_MAX, so that the margins do not overflow. */
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
        /* All values are equal: centre them. */
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

/* Labels m times 10^k; long numbers as powers. */
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
            /* Labels keep clear of the label at zero. */
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

enum { LINE = 21, GAP = 12, SIZE = 14, FRAME_TEXT = 400 };

static void draw_ticks(ds_canvas *c, const ds_axes *a, int vertical)
{
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    const ds_scale *s = vertical ? a->y : a->x;
    double length = fabs(s->to - s->from);
    size_t n = ds_scale_ticks(s, (int)fmax(2, length / (vertical ? (a->grid ? 45 : 70) : 100)), ticks);
    double low = fmin(s->from, s->to) - 0.5, high = fmax(s->from, s->to) + 0.5;
    for (size_t k = 0; k < n; k++) {
        double p = ds_scale_map(s, ticks[k].value);
        if (!ticks[k].major || p < low || p > high) {
            continue;
        }
        if (vertical) {
            if (a->grid) {
                ds_canvas_line(c, a->left, p, a->right, p, DS_PLOT_GRID, 1, 0);
            }
            ds_canvas_line(c, a->left - 5, p, a->left, p, DS_PLOT_SOFT, 1, 0);
            ds_canvas_text(c, a->left - 9, p + 5, SIZE, DS_TEXT_RIGHT, DS_PLOT_TEXT, 0, ticks[k].label);
        } else {
            if (a->grid) {
                ds_canvas_line(c, p, a->top, p, a->bottom, DS_PLOT_GRID, 1, 0);
            }
            if (!a->hide_x) {
                ds_canvas_line(c, p, a->bottom, p, a->bottom + 5, DS_PLOT_SOFT, 1, 0);
                ds_canvas_text(c, p, a->bottom + 22, SIZE, DS_TEXT_CENTER, DS_PLOT_TEXT, 0, ticks[k].label);
            }
        }
    }
}

/* What a script needs to turn pixels into values: for x and y the kind, the values and pixels at the ends,
 * and where a symlog scale becomes linear (rows: 0 0 0 0 top bottom); then the label of x. */
static void begin_frame(ds_canvas *c, const ds_axes *a)
{
    static const char *const kind[] = {"linear", "log", "symlog"};
    char text[FRAME_TEXT];
    size_t n = 0;
    for (int k = 0; k < 2; k++) {
        const ds_scale rows = {0, 0, 0, 0, a->top, a->bottom}, *s = k == 0 ? a->x : a->y;
        const char *of = s == NULL ? "rows" : kind[s->kind];
        s = s == NULL ? &rows : s;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %.10g %.10g %.10g %.6g %.6g ", of, s->low,
                              s->high, s->linear, s->from, s->to);
    }
    snprintf(text + n, sizeof text - n, "%.80s", a->x_label != NULL ? a->x_label : "");
    ds_canvas_group(c, "frame", text, NULL);
}

void ds_axes_draw(ds_canvas *c, const ds_axes *a)
{
    ds_color none = {0, 0, 0, 0};
    const double label = a->on_paper ? DS_PAPER_FONT : 17;
    begin_frame(c, a);
    draw_ticks(c, a, 0);
    if (a->y != NULL) {
        draw_ticks(c, a, 1);
    }
    ds_canvas_rect(c, a->left, a->top, a->right - a->left, a->bottom - a->top, none, DS_PLOT_SOFT, 1.2);
    if (a->x_label != NULL && !a->hide_x) {
        ds_canvas_text(c, (a->left + a->right) / 2, a->bottom + (a->on_paper ? 44 : 48), label,
                       DS_TEXT_CENTER, DS_PLOT_TEXT, 0, a->x_label);
    }
    if (a->y_label != NULL) {
        ds_canvas_text(c, a->left - a->y_room, (a->top + a->bottom) / 2, label, DS_TEXT_CENTER, DS_PLOT_TEXT,
                       -90, a->y_label);
    }
    ds_canvas_group_end(c);
}

void ds_plot_title(ds_canvas *c, const char *title, const char *subtitle, double width)
{
    /* A long title is shrunk before it is cut. */
    double size = fmax(17, 27 * fmin(1, (width - 80) / ds_canvas_text_width(c, 27, DS_TEXT_BOLD, title)));
    ds_canvas_text_fit(c, 40, 50, size, DS_TEXT_BOLD, DS_PLOT_TEXT, width - 80, title);
    ds_canvas_text_fit(c, 40, 80, 17, 0, DS_PLOT_SOFT, width - 80, subtitle);
}

double ds_plot_paper_title(ds_canvas *c, const ds_paper *p, const char *title, const char *subtitle,
                           double width)
{
    if (p->no_title) {
        return 0;
    }
    ds_canvas_text_fit(c, 6, 19, DS_PAPER_FONT, DS_TEXT_BOLD, DS_PLOT_TEXT, width - 12, title);
    ds_canvas_text_fit(c, 6, 38, 0.8 * DS_PAPER_FONT, 0, DS_PLOT_SOFT, width - 12, subtitle);
    return DS_PAPER_TITLE;
}

void ds_plot_nothing(ds_canvas *c, double x, double y)
{
    ds_canvas_text(c, x, y, 20, DS_TEXT_CENTER, DS_PLOT_SOFT, 0, "nothing to draw: there is no finite value");
}

double ds_plot_text(ds_canvas *c, double x, double y, double width, const char *const *line, int lines)
{
    for (int k = 0; k < lines; k++) {
        const char *text = line[k], *tab = strchr(text, '\t');
        char first[200];
        if (text[0] == '\0') {
            y += GAP;
            continue;
        }
        snprintf(first, sizeof first, "%.*s", tab != NULL ? (int)(tab - text) : (int)sizeof first - 1, text);
        int bold = first[0] == '*';
        double right = tab != NULL ? ds_canvas_text_width(c, SIZE, 0, tab + 1) + 8 : 0;
        ds_canvas_text_fit(c, x, y, bold ? SIZE + 1 : SIZE, bold ? DS_TEXT_BOLD : 0,
                           bold ? DS_PLOT_TEXT : DS_PLOT_SOFT, width - right, first + bold);
        if (tab != NULL) {
            ds_canvas_text(c, x + width, y, SIZE, DS_TEXT_RIGHT, DS_PLOT_TEXT, 0, tab + 1);
        }
        y += LINE;
    }
    return y;
}

/* ---- markers ---- */

enum { CORNERS = 4 };

/* The filled shapes by marker number: number of corners, and positions in units of r. */
static const struct {
    size_t n;
    double corner[2 * CORNERS];
} filled[] = {[2] = {4, {-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9}},
              [3] = {3, {0, -1.3, 1.2, 0.9, -1.2, 0.9}},
              [4] = {4, {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0}},
              [5] = {3, {0, 1.3, 1.2, -0.9, -1.2, -0.9}}};

static void shape(ds_canvas *c, int marker, double x, double y, double r, ds_color color)
{
    double xy[2 * CORNERS];
    for (size_t i = 0; i < filled[marker].n; i++) {
        xy[2 * i] = x + r * filled[marker].corner[2 * i];
        xy[2 * i + 1] = y + r * filled[marker].corner[2 * i + 1];
    }
    ds_canvas_polygon(c, xy, filled[marker].n, color, ds_color_hex(0xffffff, 1), 0.8);
}

/* Two strokes of a cross: from (-u, -v) to (u, v), and across. */
static void cross(ds_canvas *c, double x, double y, double u, double v, ds_color color)
{
    ds_canvas_line(c, x - u, y - v, x + u, y + v, color, 2, 0);
    ds_canvas_line(c, x - v, y + u, x + v, y - u, color, 2, 0);
}

void ds_plot_marker(ds_canvas *c, int marker, double x, double y, double r, ds_color color)
{
    switch (marker) {
    case 1:
        ds_canvas_circle(c, x, y, r, color, ds_color_hex(0xffffff, 1), 0.8);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        shape(c, marker, x, y, r, color);
        break;
    case 6:
        cross(c, x, y, r, r, color);
        break;
    case 7:
        cross(c, x, y, 1.2 * r, 0, color);
        break;
    default:
        break;
    }
}
