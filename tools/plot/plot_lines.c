/* SPDX-License-Identifier: Apache-2.0 */
/* plot_lines.c - curves with bands (see plot_lines.h). */
#include "config.h"

#include "plot/plot_lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/plot_axes.h"

enum { LEFT = 120, TOP = 110, RIGHT = 930, BOTTOM = DS_LINES_HEIGHT - 80, LEGEND = 24 };

/* Lengths of dashes, by DS_LINE_*. */
static const double dash[DS_LINE_STYLES] = {0, 8, 3};

typedef struct range {
    double low, high;
} range;

static void widen(range *r, double v)
{
    if (isfinite(v)) {
        r->low = fmin(r->low, v);
        r->high = fmax(r->high, v);
    }
}

/* All values along an axis, with those of the bands. */
static range all_of(const ds_lines *p, int vertical)
{
    range r = {INFINITY, -INFINITY};
    for (size_t k = 0; k < p->lines; k++) {
        const ds_line *l = &p->line[k];
        for (size_t i = 0; i < l->count; i++) {
            if (!isfinite(l->y[i])) {
                continue;
            }
            widen(&r, vertical ? l->y[i] : l->x[i]);
            if (vertical && l->low != NULL) {
                widen(&r, l->low[i]);
                widen(&r, l->high[i]);
            }
        }
    }
    return r;
}

static double least_positive(const ds_lines *p, int vertical)
{
    double least = INFINITY;
    for (size_t k = 0; k < p->lines; k++) {
        const double *value = vertical ? p->line[k].y : p->line[k].x;
        for (size_t i = 0; i < p->line[k].count; i++) {
            least = value[i] > 0 ? fmin(least, value[i]) : least;
        }
    }
    return least;
}

static range range_of(const ds_lines *p, int vertical)
{
    range r = all_of(p, vertical);
    /* On a logarithm there is no place for 0: the rest is shown, and what falls to 0 is cut at the frame. */
    if ((vertical ? p->y_kind : p->x_kind) == DS_SCALE_LOG && r.low == 0 && r.high > 0) {
        r.low = fmin(least_positive(p, vertical), r.high);
    }
    if (vertical) {
        r.low = isfinite(p->y_low) ? p->y_low : r.low;
        r.high = isfinite(p->y_high) ? p->y_high : r.high;
    }
    return r;
}

/* Leaves out points that the lines between the others pass within a fifth of a pixel; files get much smaller.
 * x does not fall. Returns how many points are left. */
static size_t thin(double *xy, size_t n)
{
    const double near = 0.2;
    double least = -INFINITY, most = INFINITY; /* slopes of a line from the last one kept past all since */
    size_t kept = n > 0, since = 0;
    for (size_t i = 1; i < n; i++, since++) {
        const double *p = xy + 2 * i;
        const double *from = xy + 2 * kept - 2;
        double dx = p[0] - from[0], dy = p[1] - from[1];
        if (since > 0 && !(dx > 0 && dy >= least * dx && dy <= most * dx)) {
            memmove(xy + 2 * kept, p - 2, 2 * sizeof *xy);
            from = xy + 2 * kept++;
            dx = p[0] - from[0];
            dy = p[1] - from[1];
            least = -INFINITY;
            most = INFINITY;
            since = 0;
        }
        if (dx > 0) {
            least = fmax(least, (dy - near) / dx);
            most = fmin(most, (dy + near) / dx);
        } else if (fabs(dy) > near) { /* straight up or down: nothing goes on like that */
            least = INFINITY;
        }
    }
    if (since > 0) {
        memmove(xy + 2 * kept, xy + 2 * n - 2, 2 * sizeof *xy);
        kept++;
    }
    return kept;
}

/* The points of a line from `from` on, up to a gap, as pixels; returns where it ends. */
static size_t stretch(const ds_line *l, const ds_scale *x, const ds_scale *y, const double *value,
                      size_t from, double *xy, size_t *count)
{
    size_t i = from;
    for (size_t n = 0; i < l->count && isfinite(l->y[i]); i++, n++) {
        xy[2 * n] = ds_scale_map(x, l->x[i]);
        xy[2 * n + 1] = ds_scale_map(y, isfinite(value[i]) ? value[i] : l->y[i]);
    }
    *count = thin(xy, i - from);
    return i;
}

static void draw_line(ds_canvas *c, const ds_line *l, const ds_scale *x, const ds_scale *y, double *xy,
                      int band)
{
    for (size_t i = 0; i < l->count;) {
        size_t n = 0, m = 0;
        if (!isfinite(l->y[i])) {
            i++;
            continue;
        }
        if (band) {
            stretch(l, x, y, l->low, i, xy, &n);
            i = stretch(l, x, y, l->high, i, xy + 2 * n, &m);
            for (size_t a = n, b = n + m - 1; a < b; a++, b--) { /* back along the upper edge */
                for (int k = 0; k < 2; k++) {
                    double swap = xy[2 * a + (size_t)k];
                    xy[2 * a + (size_t)k] = xy[2 * b + (size_t)k];
                    xy[2 * b + (size_t)k] = swap;
                }
            }
            ds_color fill = l->color;
            fill.a = 0.16;
            ds_canvas_polygon(c, xy, n + m, fill, fill, 0);
        } else {
            i = stretch(l, x, y, l->y, i, xy, &n);
            ds_canvas_polyline(c, xy, n, l->color, 2.4, dash[l->dashed]);
            if (n == 1) {
                ds_canvas_circle(c, xy[0], xy[1], 3, l->color, l->color, 0);
            }
        }
    }
}

/* As many lines as there are, closer together and smaller where they are many. */
static void draw_legend(ds_canvas *c, const ds_lines *p)
{
    const double step = fmin(LEGEND, (BOTTOM - TOP) / (double)p->lines), size = fmin(15, 0.8 * step);
    double y = TOP + 0.6 * step;
    for (size_t k = 0; k < p->lines; k++, y += step) {
        ds_canvas_line(c, RIGHT + 22, y - 0.35 * size, RIGHT + 54, y - 0.35 * size, p->line[k].color, 3,
                       dash[p->line[k].dashed]);
        ds_canvas_text_fit(c, RIGHT + 64, y, size, 0, DS_PLOT_TEXT, DS_LINES_WIDTH - RIGHT - 74,
                           p->line[k].name);
    }
}

static int draw(ds_canvas *c, const void *what)
{
    const ds_lines *p = what;
    range xr = range_of(p, 0), yr = range_of(p, 1);
    size_t most = 1;
    for (size_t k = 0; k < p->lines; k++) {
        most = p->line[k].count > most ? p->line[k].count : most;
    }
    double *xy = malloc(4 * most * sizeof *xy);
    if (xy == NULL) {
        return DS_EXIT_MEMORY;
    }
    ds_plot_title(c, p->title, p->subtitle, DS_LINES_WIDTH);
    if (!(xr.low <= xr.high && yr.low <= yr.high)) {
        ds_plot_nothing(c, (LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
        free(xy);
        return 0;
    }
    const ds_scale x = ds_scale_make(p->x_kind, xr.low, xr.high, 1, LEFT, RIGHT);
    const ds_scale y = ds_scale_make(p->y_kind, yr.low, yr.high, 1, BOTTOM, TOP);
    const ds_axes axes = {LEFT, TOP, RIGHT, BOTTOM, &x, &y, p->x_label, p->y_label, 1, 0, 88};
    ds_axes_draw(c, &axes);
    ds_canvas_clip(c, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
    for (int pass = 0; pass < 2; pass++) { /* all bands lie below all lines */
        for (size_t k = 0; k < p->lines; k++) {
            if (pass == 1 || p->line[k].low != NULL) {
                draw_line(c, &p->line[k], &x, &y, xy, pass == 0);
            }
        }
    }
    ds_canvas_unclip(c);
    draw_legend(c, p);
    free(xy);
    return 0;
}

int ds_plot_lines(const char *png_path, const char *svg_path, const ds_lines *lines, ds_error *e)
{
    return ds_canvas_files(png_path, svg_path, DS_LINES_WIDTH, DS_LINES_HEIGHT, draw, lines, e);
}
