/* SPDX-License-Identifier: Apache-2.0 */
/* plot_bars.c - the best point as bars within its bounds: the picture for environments that show no scene. */
#include "config.h"

#include "plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot/plot_axes.h"

enum { NAMES_MAX = 40, BAR_MAX = 120 /* pixels: few variables do not fill the page */ };
enum { LEFT = 100, RIGHT = DS_PLOT_WIDTH - 40, TOP = 120, BOTTOM = DS_PLOT_HEIGHT - 84 };

#define DOT "\xc2\xb7"
#define GRID_COLOR ds_color_hex(0xe7e7e7, 1)

/* Do all variables have the same bounds? Then the axis can show their values instead of shares. */
static int same_bounds(uint64_t n, const double *lower, const double *upper)
{
    for (uint64_t i = 1; i < n; i++) {
        if (lower[i] < lower[0] || lower[i] > lower[0] || upper[i] < upper[0] || upper[i] > upper[0]) {
            return 0;
        }
    }
    return 1;
}

/* 0 at the lower, 1 at the upper bound. */
static double share(double x, double lower, double upper)
{
    double t = lower < upper ? (x / 2 - lower / 2) / (upper / 2 - lower / 2) : 0.5; /* fixed: in the middle */
    return isnan(t) ? 0 : fmax(0, fmin(1, t));
}

static double height(double t)
{
    return BOTTOM - t * (BOTTOM - TOP);
}

static void draw_axis(ds_canvas *c, int values, double lower, double upper)
{
    ds_scale s = {DS_SCALE_LINEAR, values ? lower : 0, values ? upper : 100, 0, BOTTOM, TOP};
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    size_t n = ds_scale_ticks(&s, values ? 7 : 4, ticks);
    for (size_t i = 0; i < n; i++) {
        double p = ds_scale_map(&s, ticks[i].value);
        char text[DS_TICK_LABEL_MAX + 4];
        snprintf(text, sizeof text, "%s%s", ticks[i].label, values ? "" : " %");
        ds_canvas_line(c, LEFT, p, RIGHT, p, GRID_COLOR, 1, 0);
        ds_canvas_text(c, LEFT - 10, p + 5, 15, DS_TEXT_RIGHT, DS_PLOT_TEXT, 0, text);
    }
    ds_canvas_text(c, 30, (TOP + BOTTOM) / 2.0, 18, DS_TEXT_CENTER, DS_PLOT_TEXT, -90,
                   values ? "value of the variable" : "position between its bounds");
}

/* Names of the variables with their units under the bars, where they fit; 0 = they do not. */
static int draw_names(ds_canvas *c, uint64_t n, const ds_named_variable *variables)
{
    double wide = (double)(RIGHT - LEFT) / (double)n;
    char label[DS_VARIABLE_LABEL];
    int fit = variables != NULL && n <= NAMES_MAX;
    for (uint64_t i = 0; i < n && fit; i++) {
        ds_variable_label(variables, i, label);
        fit = ds_canvas_text_width(c, 13, 0, label) + 8 < wide;
    }
    for (uint64_t i = 0; i < n && fit; i++) {
        ds_variable_label(variables, i, label);
        ds_canvas_text(c, LEFT + ((double)i + 0.5) * wide, BOTTOM + 22, 13, DS_TEXT_CENTER, DS_PLOT_TEXT, 0,
                       label);
    }
    return fit;
}

/* Numbers of the variables under the bars, as many as fit. */
static void draw_numbers(ds_canvas *c, uint64_t n)
{
    double wide = (double)(RIGHT - LEFT) / (double)n;
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)(n - 1));
    double room = ds_canvas_text_width(c, 15, 0, text) + 12;
    static const uint64_t steps[3] = {1, 2, 5};
    uint64_t every = 1;
    for (uint64_t power = 1, k = 0; wide * (double)every < room; k++) {
        power *= k > 0 && k % 3 == 0 ? 10 : 1;
        every = power * steps[k % 3];
    }
    for (uint64_t i = 0; i < n; i += every) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)i);
        ds_canvas_text(c, LEFT + ((double)i + 0.5) * wide, BOTTOM + 22, 15, DS_TEXT_CENTER, DS_PLOT_TEXT, 0,
                       text);
    }
}

static void draw_bar(ds_canvas *c, double left, double wide, double from, double to)
{
    double y = height(fmax(from, to));
    ds_canvas_rect(c, left, y, wide, fmax(2, height(fmin(from, to)) - y), ds_color_hex(0x56b4e9, 1),
                   GRID_COLOR, 0);
}

static void draw_bars(ds_canvas *c, uint64_t n, const double *x, const double *lower, const double *upper,
                      int values)
{
    double wide = (double)(RIGHT - LEFT) / (double)n;
    double gap = wide > 6 ? fmax(fmin(14, wide * 0.22), wide - BAR_MAX) : 0;
    /* Bars start at zero where zero is inside the bounds of all, else in the middle. */
    int zero = values && lower[0] < 0 && upper[0] > 0;
    double from = zero ? share(0, lower[0], upper[0]) : 0.5;
    if (wide < 2) {
        /* More variables than pixels: the range of each column. */
        uint64_t columns = (RIGHT - LEFT) / 2;
        for (uint64_t k = 0; k < columns; k++) {
            double low = 1;
            double high = 0;
            for (uint64_t i = k * n / columns; i < (k + 1) * n / columns; i++) {
                low = fmin(low, share(x[i], lower[i], upper[i]));
                high = fmax(high, share(x[i], lower[i], upper[i]));
            }
            draw_bar(c, LEFT + 2.0 * (double)k, 2, low, high);
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        double left = LEFT + (double)i * wide + gap / 2;
        double t = share(x[i], lower[i], upper[i]);
        if (gap > 0) {
            ds_canvas_rect(c, left, TOP, wide - gap, BOTTOM - TOP, ds_color_hex(0xf3f5f7, 1), GRID_COLOR, 0);
        }
        draw_bar(c, left, wide - gap, from, t);
        ds_canvas_line(c, left, height(t), left + wide - gap, height(t), ds_color_hex(0x0072b2, 1), 3, 0);
        if (n <= 16) {
            char text[64];
            ds_label_number(text, sizeof text, x[i], 4);
            double y = t >= from ? height(t) - 9 : height(t) + 21;
            y = y < TOP + 16 ? height(t) + 21 : y > BOTTOM - 6 ? height(t) - 9 : y;
            ds_canvas_text(c, left + (wide - gap) / 2, y, wide > 70 ? 15 : 13, DS_TEXT_CENTER, DS_PLOT_TEXT,
                           0, text);
        }
    }
    ds_canvas_line(c, LEFT, height(from), RIGHT, height(from), ds_color_hex(0x999999, 1), 1, 0);
    if (!zero) {
        ds_canvas_text(c, RIGHT, TOP - 12, 15, DS_TEXT_RIGHT, DS_PLOT_SOFT, 0,
                       "bars begin in the middle between the bounds");
    }
}

int ds_picture_best_x(const char *path, const ds_bars *bars, const ds_caption *caption, ds_error *e)
{
    uint64_t n = bars->n;
    const double *lower = bars->lower, *upper = bars->upper;
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, DS_PLOT_WIDTH, DS_PLOT_HEIGHT);
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for the picture", path);
    }
    char title[512], line[512];
    ds_caption_title(title, sizeof title, caption);
    ds_caption_line(line, sizeof line, caption);
    ds_plot_title(c, title, line, DS_PLOT_WIDTH);
    int values = n > 0 && same_bounds(n, lower, upper);
    if (n > 0) {
        draw_axis(c, values, lower[0], upper[0]);
        draw_bars(c, n, bars->x, lower, upper, values);
        if (!draw_names(c, n, bars->variables)) {
            draw_numbers(c, n);
        }
        ds_canvas_text(c, (LEFT + RIGHT) / 2.0, BOTTOM + 56, 18, DS_TEXT_CENTER, DS_PLOT_TEXT, 0,
                       "decision variable");
    }
    int status = ds_canvas_write(c, path, e);
    ds_canvas_free(c);
    return status;
}

void ds_caption_title(char *out, size_t room, const ds_caption *caption)
{
    int named = caption->settings != NULL && caption->settings[0] != '\0';
    snprintf(out, room, "%.100s%s%.300s%s%s%.100s", caption->env, named ? " (" : "",
             named ? caption->settings : "", named ? ")" : "", caption->opt != NULL ? "  " DOT "  " : "",
             caption->opt != NULL ? caption->opt : "");
}

void ds_caption_line(char *out, size_t room, const ds_caption *caption)
{
    char number[64] = "none: the evaluation failed";
    if (isfinite(caption->loss)) {
        ds_label_number(number, sizeof number, caption->loss, 8);
    }
    size_t n = (size_t)snprintf(out, room, "loss %s", number);
    if (caption->number > 0 && n < room) {
        n += (size_t)snprintf(out + n, room - n, " at evaluation %llu", (unsigned long long)caption->number);
    }
    if (caption->opt != NULL && n < room) {
        n += (size_t)snprintf(out + n, room - n, "  " DOT "  seed %llu", (unsigned long long)caption->seed);
    }
    if (caption->text != NULL && caption->text[0] != '\0' && n < room) {
        snprintf(out + n, room - n, "  " DOT "  %s", caption->text);
    }
}
