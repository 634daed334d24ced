/* SPDX-License-Identifier: Apache-2.0 */
/* plot_panels.c - draws panels of curves. */
#include "config.h"

#include "plot/plot_panels.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEFT = 130,
    TOP = 112,
    RIGHT = 880,
    WIDE = DS_PANELS_WIDTH - 50 /* right end where there is no text */,
    BOTTOM = DS_PANELS_HEIGHT - 80,
    BETWEEN = 34,
    TEXT_LEFT = RIGHT + 36
};

int ds_panel_range(const ds_panel *p, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int k = 0; k < p->curves; k++) {
        const ds_panel_curve *v = &p->curve[k];
        for (uint64_t i = 0; i < v->count; i++) {
            if (isfinite(v->y[i])) {
                *low = fmin(*low, v->y[i]);
                *high = fmax(*high, v->y[i]);
            }
        }
    }
    return *low <= *high;
}

/* A curve in pixels; lines are cut where a value is missing. */
static int draw_curve(ds_canvas *c, const ds_panel_curve *v, const ds_scale *x, const ds_scale *y)
{
    double *xy = malloc((2 * v->count + 2) * sizeof *xy);
    size_t n = 0;
    if (xy == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint64_t i = 0; i <= v->count; i++) {
        if (i < v->count && isfinite(v->y[i])) {
            xy[2 * n] = ds_scale_map(x, v->x[i]);
            xy[2 * n + 1] = ds_scale_map(y, v->y[i]);
            n++;
        } else if (v->style == DS_CURVE_LINE) {
            if (n == 1) {
                ds_canvas_dots(c, xy, 1, v->size, v->color);
            } else if (n > 1) {
                ds_canvas_polyline(c, xy, n, v->color, v->size, 0);
            }
            n = 0;
        }
    }
    if (v->style == DS_CURVE_DOTS) {
        ds_canvas_dots(c, xy, n, v->size, v->color);
    }
    free(xy);
    return 0;
}

static void draw_legend(ds_canvas *c, const ds_panel *p, double y)
{
    double x = LEFT + 4;
    for (int k = 0; k < p->curves; k++) {
        const ds_panel_curve *v = &p->curve[k];
        double dot[2] = {x + 6, y - 5};
        if (v->name == NULL) {
            continue;
        }
        if (v->style == DS_CURVE_LINE) {
            ds_canvas_line(c, x, y - 5, x + 16, y - 5, v->color, fmax(2, v->size), 0);
        } else {
            ds_canvas_dots(c, dot, 1, fmax(3, v->size), v->color);
        }
        ds_canvas_text(c, x + 22, y, 13, 0, DS_PLOT_SOFT, 0, v->name);
        x += 22 + ds_canvas_text_width(c, 13, 0, v->name) + 20;
    }
}

static int draw_panel(ds_canvas *c, const ds_panels *g, int k)
{
    const ds_panel *p = &g->panel[k];
    double height = (double)(BOTTOM - TOP - BETWEEN * (g->count - 1)) / g->count;
    double top = TOP + k * (height + BETWEEN), low = 0, high = 1, right = g->lines > 0 ? RIGHT : WIDE;
    ds_scale x = {DS_SCALE_LINEAR, g->x_low, g->x_high, 1, LEFT, right};
    if (!ds_panel_range(p, &low, &high)) {
        low = 0;
        high = 1;
    }
    low = isfinite(p->low) ? p->low : low;
    high = isfinite(p->high) ? p->high : high;
    ds_scale y = ds_scale_make(p->kind, low, high, p->linear, top + height, top);
    ds_axes axes = {LEFT, top, right, top + height, &x, &y, g->x_label, p->label, 1, k + 1 < g->count, 92, 0};
    int rc = 0;
    ds_axes_draw(c, &axes);
    if (low < 0 && high > 0) {
        double zero = ds_scale_map(&y, 0);
        ds_canvas_line(c, LEFT, zero, right, zero, DS_PLOT_SOFT, 1, 0);
    }
    ds_canvas_clip(c, LEFT, top, right - LEFT, height);
    for (int i = 0; i < p->curves && rc == 0; i++) {
        rc = draw_curve(c, &p->curve[i], &x, &y);
    }
    ds_canvas_unclip(c);
    draw_legend(c, p, top - 8);
    return rc;
}

static int draw(ds_canvas *c, const void *what)
{
    const ds_panels *g = what;
    int rc = 0;
    ds_plot_title(c, g->title, g->subtitle, DS_PANELS_WIDTH);
    ds_plot_text(c, TEXT_LEFT, TOP + 14, DS_PANELS_WIDTH - TEXT_LEFT - 30, g->line, g->lines);
    for (int k = 0; k < g->count && rc == 0; k++) {
        rc = draw_panel(c, g, k);
    }
    return rc;
}

int ds_plot_panels(const char *png_path, const char *svg_path, const ds_panels *panels, ds_error *e)
{
    return ds_canvas_files(png_path, svg_path, DS_PANELS_WIDTH, DS_PANELS_HEIGHT, draw, panels, e);
}
