/* SPDX-License-Identifier: Apache-2.0 */
/* plot_groups.c - bars or points with intervals (see plot_groups.h). */
#include "config.h"

#include "plot_groups.h"

#include <math.h>
#include <stdio.h>

#include "plot_axes.h"

enum { LEFT = 120, TOP = 110, RIGHT = DS_GROUPS_WIDTH - 40, BOTTOM = DS_GROUPS_HEIGHT - 90, LOG_RATIO = 100 };

typedef struct frame {
    ds_scale y;
    double base; /* pixel from which bars rise */
    double step; /* width of a group */
} frame;

static void widen(double v, double *low, double *high)
{
    if (isfinite(v)) {
        *low = fmin(*low, v);
        *high = fmax(*high, v);
    }
}

static frame frame_of(const ds_groups *p)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen(g->value, &low, &high);
        for (size_t i = 0; i < g->dots; i++) {
            widen(g->dot[i], &low, &high);
        }
    }
    const int logarithmic = p->bars && low > 0 && high / low > LOG_RATIO;
    for (size_t k = 0; k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen(logarithmic && g->low <= 0 ? (double)NAN : g->low, &low, &high);
        widen(g->high, &low, &high);
    }
    widen(p->line, &low, &high);
    if (p->bars && !logarithmic) {
        widen(0, &low, &high);
    }
    frame f = {.y = ds_scale_make(logarithmic ? DS_SCALE_LOG : DS_SCALE_LINEAR, low <= high ? low : 0,
                                  low <= high ? high : 1, 1, BOTTOM, TOP)};
    if (p->bars && !logarithmic && low == 0) {
        f.y.low = 0; /* bars stand on the axis */
    }
    f.base = f.y.kind == DS_SCALE_LOG ? BOTTOM : fmin(BOTTOM, ds_scale_map(&f.y, 0));
    f.step = (RIGHT - LEFT) / (double)(p->groups > 0 ? p->groups : 1);
    return f;
}

static void whisker(ds_canvas *c, const frame *f, const ds_group *g, double x)
{
    const ds_color dark = ds_color_hex(0x333333, 1);
    if (!isfinite(g->low) || !isfinite(g->high)) {
        return;
    }
    double low = fmin(BOTTOM, ds_scale_map(&f->y, g->low)), high = ds_scale_map(&f->y, g->high);
    if (f->y.kind == DS_SCALE_LOG && g->low <= 0) {
        low = BOTTOM;
    }
    ds_canvas_line(c, x, low, x, high, dark, 1.8, 0);
    ds_canvas_line(c, x - 8, low, x + 8, low, dark, 1.8, 0);
    ds_canvas_line(c, x - 8, high, x + 8, high, dark, 1.8, 0);
}

static void draw_group(ds_canvas *c, const ds_groups *p, const frame *f, size_t k)
{
    const ds_group *g = &p->group[k];
    const double x = LEFT + ((double)k + 0.5) * f->step, half = fmin(46, 0.32 * f->step);
    ds_color fill = g->color, dot = g->color;
    fill.a = 0.55;
    if (isfinite(g->value)) {
        double y = ds_scale_map(&f->y, g->value);
        if (p->bars) {
            ds_canvas_rect(c, x - half, fmin(y, f->base), 2 * half, fabs(f->base - y), fill, g->color, 1.5);
        }
        /* Single values side by side in a fixed order, so that equal ones stay apart. */
        dot.a = 0.9;
        for (size_t i = 0; i < g->dots; i++) {
            double at = x + half * (g->dots > 1 ? 1.5 * ((double)i / (double)(g->dots - 1) - 0.5) : 0);
            if (isfinite(g->dot[i])) {
                ds_canvas_circle(c, at, ds_scale_map(&f->y, g->dot[i]), 3.4, dot, ds_color_hex(0xffffff, 1),
                                 0.8);
            }
        }
        whisker(c, f, g, x);
        if (!p->bars) {
            ds_canvas_circle(c, x, y, 8, g->color, ds_color_hex(0xffffff, 1), 1.5);
        }
        char number[40];
        ds_label_number(number, sizeof number, g->value, 4);
        ds_canvas_text(c, x, BOTTOM + 46, 14, DS_TEXT_CENTER, DS_PLOT_SOFT, 0, number);
    } else {
        ds_canvas_text(c, x, BOTTOM + 46, 14, DS_TEXT_CENTER, DS_PLOT_SOFT, 0, "-");
    }
    double wide = ds_canvas_text_width(c, 15, 0, g->name), left = x - fmin(wide, f->step - 8) / 2;
    ds_canvas_text_fit(c, left, BOTTOM + 24, 15, 0, DS_PLOT_TEXT, f->step - 8, g->name);
}

static void draw(ds_canvas *c, const ds_groups *p)
{
    const frame f = frame_of(p);
    /* The axis has names, not numbers: a scale of no length puts its grid lines onto the frame. */
    const ds_scale none = ds_scale_make(DS_SCALE_LINEAR, 0, 1, 1, LEFT, LEFT);
    ds_axes axes = {LEFT, TOP, RIGHT, BOTTOM, &none, &f.y, NULL, p->label, 1, 1, 88};
    ds_plot_title(c, p->title, p->subtitle, DS_GROUPS_WIDTH);
    ds_canvas_text(c, LEFT, TOP - 10, 13, 0, DS_PLOT_SOFT, 0,
                   f.y.kind == DS_SCALE_LOG ? "logarithmic axis" : "");
    ds_axes_draw(c, &axes);
    if (isfinite(p->line)) {
        double y = ds_scale_map(&f.y, p->line);
        ds_canvas_line(c, LEFT, y, RIGHT, y, DS_PLOT_SOFT, 1.4, 6);
    }
    for (size_t k = 0; k < p->groups; k++) {
        draw_group(c, p, &f, k);
    }
}

static int write_one(int kind, const char *path, const ds_groups *p, ds_error *e)
{
    if (path == NULL) {
        return 0;
    }
    ds_canvas *c = ds_canvas_new(kind, DS_GROUPS_WIDTH, DS_GROUPS_HEIGHT);
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    draw(c, p);
    int rc = ds_canvas_write(c, path, e);
    ds_canvas_free(c);
    return rc;
}

int ds_plot_groups(const char *png_path, const char *svg_path, const ds_groups *groups, ds_error *e)
{
    int rc = write_one(DS_CANVAS_PNG, png_path, groups, e);
    return rc != 0 ? rc : write_one(DS_CANVAS_SVG, svg_path, groups, e);
}
