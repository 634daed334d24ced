/* SPDX-License-Identifier: Apache-2.0 */
/* plot_lines.c - curves with bands, panels of curves, and groups of values with intervals (see plot_lines.h).
 */
#include "config.h"

#include "plot/plot_lines.h"

#include "plot/plot_axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEGEND = 22,
    MARKS = 4,           /* per line */
    PAPER_WIDE = 680,    /* from this width in pixels on, names stand next to the frame, else below it */
    PAPER_NAMES = 170,   /* room for names next to the frame */
    PAPER_ENTRY = 150,   /* room for a name below it */
    PAPER_AXIS = 58,     /* below the frame */
    PAPER_FRAME_MIN = 90 /* least height */
};

/* Position of the frame and of the names of the lines. */
typedef struct layout {
    double width, height, left, top, right, bottom;
    int columns; /* of names below the frame; 0 = names stand next to it */
} layout;

static layout layout_of(const ds_lines *p)
{
    const ds_paper *paper = p->paper;
    if (paper == NULL) {
        return (layout){DS_LINES_WIDTH, DS_LINES_HEIGHT, 100, 100, 740, DS_LINES_HEIGHT - 74, 0};
    }
    layout l = {.width = paper->width_mm * ds_paper_scale(paper),
                .left = 80,
                .top = paper->no_title ? 12 : DS_PAPER_TITLE + 8};
    const int beside = l.width >= PAPER_WIDE;
    l.right = beside ? l.width - PAPER_NAMES : l.width - 12;
    l.columns = beside ? 0 : (int)fmax(1, floor((l.width - 12) / PAPER_ENTRY));
    const double rows = beside ? 0 : ceil((double)p->lines / l.columns);
    const double below = PAPER_AXIS + LEGEND * rows + (beside ? 0 : 6);
    l.height = paper->height_mm > 0 ? paper->height_mm * ds_paper_scale(paper)
                                    : l.top + 0.68 * (l.right - l.left) + below;
    l.bottom = l.height - below;
    return l;
}

/* Lengths of dashes, by DS_LINE_*. */
static const double dash[DS_LINE_STYLES] = {0, 8, 3};

typedef struct frame {
    layout at;
    ds_scale x, y;
    int steps;
    double band; /* opacity, which falls with the number of bands */
} frame;

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

/* Range of all values along an axis, bands included. */
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
    /* A logarithmic axis cannot show 0: curves that fall to 0 are cut at the frame. */
    if ((vertical ? p->y_kind : p->x_kind) == DS_SCALE_LOG && r.low == 0 && r.high > 0) {
        r.low = fmin(least_positive(p, vertical), r.high);
    }
    if (vertical) {
        r.low = isfinite(p->y_low) ? p->y_low : r.low;
        r.high = isfinite(p->y_high) ? p->y_high : r.high;
    }
    return r;
}

/* Drops points within a fifth of a pixel of the line between their neighbours, which makes files much
 * smaller. x does not fall. Returns the number of points kept. */
static size_t thin(double *xy, size_t n)
{
    const double near = 0.2;
    /* slopes of lines from the last kept point past all later ones */
    double least = -INFINITY, most = INFINITY;
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
        } else if (fabs(dy) > near) { /* vertical: no later point continues it */
            least = INFINITY;
        }
    }
    if (since > 0) {
        memmove(xy + 2 * kept, xy + 2 * n - 2, 2 * sizeof *xy);
        kept++;
    }
    return kept;
}

/* The points of a line from `from` to the next gap, in pixels; returns where it ends. Stairs take two points
 * per step, without steps too small to see. */
static size_t stretch(const ds_line *l, const frame *f, const double *value, size_t from, double *xy,
                      size_t *count)
{
    const double near = value == l->y ? 0.35 : 0.8; /* the edges of pale bands need less detail */
    size_t i = from, n = 0;
    for (; i < l->count && isfinite(l->y[i]); i++) {
        double x = ds_scale_map(&f->x, l->x[i]);
        double y = ds_scale_map(&f->y, isfinite(value[i]) ? value[i] : l->y[i]);
        if (f->steps) { /* tenths of a pixel, for shorter files */
            x = round(10 * x) / 10;
            y = round(10 * y) / 10;
        }
        if (f->steps && n > 0) {
            const int last = i + 1 == l->count || !isfinite(l->y[i + 1]);
            if (fabs(y - xy[2 * n - 1]) < near && !last) {
                continue;
            }
            if (n > 1 && x - xy[2 * n - 2] < near) {
                xy[2 * n - 1] = y;
                continue;
            }
        }
        if (f->steps && n > 0) {
            xy[2 * n] = x;
            xy[2 * n + 1] = xy[2 * n - 1];
            n++;
        }
        xy[2 * n] = x;
        xy[2 * n + 1] = y;
        n++;
    }
    *count = f->steps ? n : thin(xy, n);
    return i;
}

/* Markers at places that differ from line to line, so that they do not coincide where lines do. */
static void draw_marks(ds_canvas *c, const ds_lines *p, size_t k, const frame *f)
{
    const ds_line *l = &p->line[k];
    const double shift = (double)(k % 8) / 8;
    for (int m = 0; m <= MARKS && l->count > 0; m++) {
        const double at = f->at.left + (f->at.right - f->at.left) * (m + shift) / (MARKS + 1);
        size_t i = 0;
        while (i + 1 < l->count && ds_scale_map(&f->x, l->x[i + 1]) <= at) {
            i++;
        }
        const double x0 = ds_scale_map(&f->x, l->x[i]), y0 = ds_scale_map(&f->y, l->y[i]);
        if (i + 1 == l->count || x0 > at || !isfinite(l->y[i]) || !isfinite(l->y[i + 1])) {
            continue;
        }
        const double x1 = ds_scale_map(&f->x, l->x[i + 1]), y1 = ds_scale_map(&f->y, l->y[i + 1]);
        const double share = f->steps || !(x1 > x0) ? 0 : (at - x0) / (x1 - x0);
        ds_plot_marker(c, l->marker, at, y0 + share * (y1 - y0), 4.2, l->color);
    }
}

static void draw_line(ds_canvas *c, const ds_line *l, const frame *f, double *xy, int band)
{
    for (size_t i = 0; i < l->count;) {
        size_t n = 0, m = 0;
        if (!isfinite(l->y[i])) {
            i++;
            continue;
        }
        if (band) {
            stretch(l, f, l->low, i, xy, &n);
            i = stretch(l, f, l->high, i, xy + 2 * n, &m);
            for (size_t a = n, b = n + m - 1; a < b; a++, b--) { /* back along the upper edge */
                for (int k = 0; k < 2; k++) {
                    double swap = xy[2 * a + (size_t)k];
                    xy[2 * a + (size_t)k] = xy[2 * b + (size_t)k];
                    xy[2 * b + (size_t)k] = swap;
                }
            }
            ds_color fill = l->color;
            fill.a = f->band;
            ds_canvas_polygon(c, xy, n + m, fill, fill, 0);
        } else {
            i = stretch(l, f, l->y, i, xy, &n);
            ds_canvas_polyline(c, xy, n, l->color, 2.4, dash[l->dashed]);
            if (n == 1) {
                ds_canvas_circle(c, xy[0], xy[1], 3, l->color, l->color, 0);
            }
        }
    }
}

/* The name of a line stands next to its end, as far as other names allow. */
typedef struct tag {
    const ds_line *line;
    double x, end; /* pixels of its last point */
    double y;
} tag;

static int by_end(const void *a, const void *b)
{
    const tag *s = a, *t = b;
    return s->end != t->end ? (s->end > t->end) - (s->end < t->end)
                            : (s->line > t->line) - (s->line < t->line);
}

static tag tag_of(const ds_line *l, const frame *f)
{
    tag t = {l, f->at.right, f->at.bottom, 0};
    for (size_t i = l->count; i > 0; i--) {
        if (isfinite(l->y[i - 1])) {
            t.x = ds_scale_map(&f->x, l->x[i - 1]);
            t.end = fmax(f->at.top, fmin(f->at.bottom, ds_scale_map(&f->y, l->y[i - 1])));
            break;
        }
    }
    return t;
}

/* Names are in the order in which the lines end; many names are closer together and smaller. */
static void draw_entry(ds_canvas *c, const ds_line *l, double x, double y, double size, double room)
{
    ds_canvas_line(c, x, y, x + 32, y, l->color, 2.6, dash[l->dashed]);
    ds_plot_marker(c, l->marker, x + 16, y, 4.2, l->color);
    ds_canvas_text_fit(c, x + 40, y + 0.35 * size, size, 0, DS_PLOT_TEXT, room, l->name);
}

/* In columns below the frame. */
static void draw_legend_below(ds_canvas *c, const ds_lines *p, const frame *f)
{
    const double width = (f->at.width - 12) / f->at.columns;
    for (size_t k = 0; k < p->lines; k++) {
        const double x = 6 + width * (double)(k % (size_t)f->at.columns);
        const double y = f->at.bottom + PAPER_AXIS + LEGEND * ((double)(k / (size_t)f->at.columns) + 0.5);
        ds_canvas_group(c, "entry", p->line[k].name, NULL);
        draw_entry(c, &p->line[k], x, y, 0.9 * DS_PAPER_FONT, width - 44);
        ds_canvas_group_end(c);
    }
}

static int draw_legend(ds_canvas *c, const ds_lines *p, const frame *f)
{
    const double right = f->at.right, room = f->at.bottom - f->at.top,
                 step = fmin(LEGEND, room / (double)p->lines), size = fmin(15, 0.8 * step);
    tag *t = calloc(p->lines + 1, sizeof *t);
    if (t == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (size_t k = 0; k < p->lines; k++) {
        t[k] = tag_of(&p->line[k], f);
    }
    qsort(t, p->lines, sizeof *t, by_end);
    for (size_t k = 0; k < p->lines; k++) { /* down from the name above */
        t[k].y = k > 0 ? fmax(t[k].end, t[k - 1].y + step) : t[k].end;
    }
    for (size_t k = p->lines; k-- > 0;) { /* then up from the lower edge */
        const double lowest = k + 1 < p->lines ? t[k + 1].y - step : f->at.bottom;
        t[k].y = fmin(t[k].y, lowest);
    }
    for (size_t k = 0; k < p->lines; k++) {
        const ds_line *l = t[k].line;
        ds_color soft = l->color;
        soft.a = 0.45;
        ds_canvas_group(c, "entry", l->name, NULL);
        ds_canvas_line(c, fmin(right, t[k].x), t[k].end, right + 16, t[k].y, soft, 1, 2);
        draw_entry(c, l, right + 18, t[k].y, size, f->at.width - right - 64);
        ds_canvas_group_end(c);
    }
    free(t);
    return 0;
}

static int draw(ds_canvas *c, const void *what)
{
    const ds_lines *p = what;
    range xr = range_of(p, 0), yr = range_of(p, 1);
    size_t most = 1;
    for (size_t k = 0; k < p->lines; k++) {
        most = p->line[k].count > most ? p->line[k].count : most;
    }
    double *xy = malloc(8 * most * sizeof *xy);
    if (xy == NULL) {
        return DS_EXIT_MEMORY;
    }
    const layout at = layout_of(p);
    if (p->paper != NULL) {
        ds_plot_paper_title(c, p->paper, p->title, p->subtitle, at.width);
    } else {
        ds_plot_title(c, p->title, p->subtitle, at.width);
    }
    if (!(xr.low <= xr.high && yr.low <= yr.high)) {
        ds_plot_nothing(c, (at.left + at.right) / 2, (at.top + at.bottom) / 2);
        free(xy);
        return 0;
    }
    const frame f = {at, ds_scale_make(p->x_kind, xr.low, xr.high, 1, at.left, at.right),
                     ds_scale_make(p->y_kind, yr.low, yr.high, 1, at.bottom, at.top), p->steps,
                     p->lines > 6 ? 0.07 : 0.16};
    const ds_axes axes = {at.left,
                          at.top,
                          at.right,
                          at.bottom,
                          &f.x,
                          &f.y,
                          p->x_label,
                          p->y_label,
                          1,
                          0,
                          p->paper != NULL ? 66 : 74,
                          p->paper != NULL};
    ds_axes_draw(c, &axes);
    ds_canvas_clip(c, at.left, at.top, at.right - at.left, at.bottom - at.top);
    for (int pass = 0; pass < 2; pass++) { /* bands lie below all lines */
        for (size_t k = 0; k < p->lines; k++) {
            if (pass == 1 || p->line[k].low != NULL) {
                ds_canvas_group(c, pass == 0 ? "band" : p->steps ? "stairs" : "line", p->line[k].name, NULL);
                draw_line(c, &p->line[k], &f, xy, pass == 0);
                ds_canvas_group_end(c);
            }
        }
    }
    for (size_t k = 0; k < p->lines; k++) {
        ds_canvas_group(c, "marks", p->line[k].name, NULL);
        draw_marks(c, p, k, &f);
        ds_canvas_group_end(c);
    }
    ds_canvas_unclip(c);
    free(xy);
    if (at.columns > 0) {
        draw_legend_below(c, p, &f);
        return 0;
    }
    return draw_legend(c, p, &f);
}

int ds_plot_lines(const char *png_path, const char *svg_path, const ds_lines *lines, ds_error *e)
{
    if (lines->paper != NULL) {
        const layout l = layout_of(lines);
        if (l.bottom - l.top < PAPER_FRAME_MIN || l.right - l.left < PAPER_FRAME_MIN) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "%.200s: too small for its text: make it wider or higher, or the font smaller",
                           lines->paper->path);
        }
        return ds_canvas_paper(lines->paper, l.width, l.height, draw, lines, e);
    }
    return ds_canvas_files(png_path, svg_path, DS_LINES_WIDTH, DS_LINES_HEIGHT, draw, lines, e);
}

/* ---- panels of curves ---- */

enum {
    LEFT = 130,
    TOP = 112,
    RIGHT = 880,
    WIDE = DS_PANELS_WIDTH - 50 /* right end without text */,
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

/* Draws a curve, interrupted where a value is missing. */
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

static void draw_panel_legend(ds_canvas *c, const ds_panel *p, double y)
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
    draw_panel_legend(c, p, top - 8);
    return rc;
}

static int draw_panels(ds_canvas *c, const void *what)
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
    return ds_canvas_files(png_path, svg_path, DS_PANELS_WIDTH, DS_PANELS_HEIGHT, draw_panels, panels, e);
}

/* ---- groups: values with intervals, row by row ---- */

enum {
    SCREEN_TOP = 104,
    NUMBERS = 110, /* room for numbers at the right */
    BELOW = 66,    /* for ticks and label */
    SIZE = 15,     /* of names */
    ROW = 34,
    NAME_MAX_WIDTH = 260,
    LOG_RATIO = 10
};

typedef struct row_frame {
    ds_scale x;
    double width, left, top, right, bottom, row;
    int at_edge; /* values of 0 on a logarithmic axis */
} row_frame;

static void widen_to(double v, double *low, double *high)
{
    if (isfinite(v)) {
        *low = fmin(*low, v);
        *high = fmax(*high, v);
    }
}

static double lesser(double least, double v)
{
    return v > 0 && v < least ? v : least;
}

/* The range of what is drawn; a logarithmic axis has no place for 0. Returns 0 if there is nothing to draw.
 */
static int groups_range(const ds_groups *p, double *low, double *high, row_frame *f, int *logarithmic)
{
    double positive = INFINITY, least = INFINITY;
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen_to(g->value, low, high);
        positive = lesser(positive, g->value);
        for (size_t i = 0; i < g->dots; i++) {
            widen_to(g->dot[i], low, high);
            positive = lesser(positive, g->dot[i]);
        }
    }
    const int any = *low <= *high;
    *logarithmic = any && p->losses && *low >= 0 && *high / positive > LOG_RATIO;
    least = *low;
    *low = *logarithmic ? positive : *low;
    f->at_edge = *logarithmic && least <= 0;
    for (size_t k = 0; any && k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen_to(*logarithmic && g->low <= 0 ? (double)NAN : g->low, low, high);
        widen_to(g->high, low, high);
    }
    return any;
}

/* Everything but the left edge, which depends on the width of the names. */
static row_frame groups_layout(const ds_groups *p)
{
    const double rows = (double)(p->groups > 0 ? p->groups : 1);
    if (p->paper == NULL) {
        return (row_frame){.width = DS_GROUPS_WIDTH,
                           .top = SCREEN_TOP,
                           .right = DS_GROUPS_WIDTH - NUMBERS,
                           .bottom = SCREEN_TOP + ROW * rows,
                           .row = ROW};
    }
    const double scale = ds_paper_scale(p->paper);
    row_frame f = {
        .width = p->paper->width_mm * scale, .top = p->paper->no_title ? 8 : DS_PAPER_TITLE + 4, .row = 27};
    f.right = f.width - 106;
    if (p->paper->height_mm > 0) {
        f.row = (p->paper->height_mm * scale - f.top - BELOW) / rows;
    }
    f.bottom = f.top + f.row * rows;
    return f;
}

static row_frame frame_of(ds_canvas *c, const ds_groups *p, int *any)
{
    double low, high, name = 60;
    int logarithmic;
    row_frame f = groups_layout(p);
    const double margin = p->paper != NULL ? 6 : 40;
    for (size_t k = 0; k < p->groups; k++) {
        name = fmax(name, ds_canvas_text_width(c, SIZE, 0, p->group[k].name));
    }
    f.left = margin + fmin(name, p->paper != NULL ? 0.3 * f.width : NAME_MAX_WIDTH) + 14;
    *any = groups_range(p, &low, &high, &f, &logarithmic);
    if (*any) {
        widen_to(p->line, &low, &high);
        f.x = ds_scale_make(logarithmic ? DS_SCALE_LOG : DS_SCALE_LINEAR, low, high, 1, f.left, f.right);
        if (p->losses && !logarithmic && low >= 0 && f.x.low < 0) {
            f.x.low = 0; /* no margin below what cannot be negative */
        }
    }
    return f;
}

/* Position on the axis, or at its left edge. */
static double place(const row_frame *f, double v)
{
    return fmax(f->left, ds_scale_map(&f->x, v));
}

/* The numbers of a row as text, as far as there is room. */
static void tell(const ds_group *g, char *out, size_t room)
{
    char a[40], b[40], v[40];
    ds_label_number(v, sizeof v, g->value, 5);
    size_t n = (size_t)snprintf(out, room, "%.100s: %s", g->name, isfinite(g->value) ? v : "none");
    if (isfinite(g->low) && isfinite(g->high)) {
        ds_label_number(a, sizeof a, g->low, 4);
        ds_label_number(b, sizeof b, g->high, 4);
        n += (size_t)snprintf(out + n, room - n, ", interval %s to %s", a, b);
    }
    for (size_t i = 0; i < g->dots && n + 60 < room; i++) {
        ds_label_number(v, sizeof v, g->dot[i], 4);
        n += (size_t)snprintf(out + n, room - n, "%s%s", i == 0 ? "; single runs " : ", ",
                              isfinite(g->dot[i]) ? v : "none");
    }
}

static void draw_group(ds_canvas *c, const ds_groups *p, const row_frame *f, size_t k)
{
    const ds_group *g = &p->group[k];
    const double row = f->row, y = f->top + row * ((double)k + 0.5), margin = p->paper != NULL ? 6 : 40;
    char number[40] = "none", words[400];
    ds_color soft = g->color;
    soft.a = 0.5;
    if (k % 2 == 1) {
        ds_canvas_rect(c, f->left, y - row / 2, f->right - f->left, row, ds_color_hex(0x888888, 0.07),
                       g->color, 0);
    }
    tell(g, words, sizeof words);
    ds_canvas_group(c, "row", g->name, words);
    ds_canvas_group(c, "entry", g->name, NULL);
    ds_canvas_text_fit(c, margin, y + 5, SIZE, 0, DS_PLOT_TEXT, f->left - margin - 14, g->name);
    ds_canvas_group_end(c);
    if (isfinite(g->low) && isfinite(g->high)) {
        const double low = place(f, g->low), high = place(f, g->high);
        ds_canvas_line(c, low, y, high, y, g->color, 3, 0);
        ds_canvas_line(c, low, y - 6, low, y + 6, g->color, 2, 0);
        ds_canvas_line(c, high, y - 6, high, y + 6, g->color, 2, 0);
    }
    /* Single values stand below each other in a fixed order, so that equal ones stay visible. */
    for (size_t i = 0; i < g->dots; i++) {
        const double at = y + (g->dots > 1 ? 0.62 * row * ((double)i / (double)(g->dots - 1) - 0.5) : 0);
        if (isfinite(g->dot[i])) {
            ds_canvas_circle(c, place(f, g->dot[i]), at, 2.6, soft, soft, 0);
        }
    }
    if (isfinite(g->value)) {
        ds_label_number(number, sizeof number, g->value, 4);
        ds_plot_marker(c, g->marker > 0 ? g->marker : 1, place(f, g->value), y, 5.5, g->color);
    }
    ds_canvas_text(c, f->width - (p->paper != NULL ? 6 : 24), y + 5, SIZE - 1, DS_TEXT_RIGHT, DS_PLOT_SOFT, 0,
                   number);
    ds_canvas_group_end(c);
}

static int draw_groups(ds_canvas *c, const void *what)
{
    const ds_groups *p = what;
    int any;
    const row_frame f = frame_of(c, p, &any);
    if (p->paper != NULL) {
        ds_plot_paper_title(c, p->paper, p->title, p->subtitle, f.width);
    } else {
        ds_plot_title(c, p->title, p->subtitle, f.width);
    }
    if (!any) {
        ds_plot_nothing(c, (f.left + f.right) / 2.0, (f.top + f.bottom) / 2);
        return 0;
    }
    char label[160];
    snprintf(label, sizeof label, "%.80s%s%s", p->label,
             f.x.kind == DS_SCALE_LOG ? " (logarithmic axis)" : "",
             f.at_edge ? "; 0 is at the left edge" : "");
    ds_axes axes = {f.left, f.top, f.right, f.bottom, &f.x, NULL, label, NULL, 1, 0, 0, p->paper != NULL};
    ds_axes_draw(c, &axes);
    if (isfinite(p->line)) {
        const double x = ds_scale_map(&f.x, p->line);
        ds_canvas_line(c, x, f.top, x, f.bottom, DS_PLOT_SOFT, 1.4, 6);
    }
    for (size_t k = 0; k < p->groups; k++) {
        draw_group(c, p, &f, k);
    }
    return 0;
}

int ds_plot_groups(const char *png_path, const char *svg_path, const ds_groups *groups, ds_error *e)
{
    if (groups->paper != NULL) {
        const row_frame f = groups_layout(groups);
        if (f.row < 14 || f.right - f.width * 0.4 < 40) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "%.200s: too small for its text: make it wider or higher, or the font smaller",
                           groups->paper->path);
        }
        return ds_canvas_paper(groups->paper, f.width, f.bottom + BELOW, draw_groups, groups, e);
    }
    const int height = SCREEN_TOP + ROW * (int)(groups->groups > 0 ? groups->groups : 1) + BELOW;
    return ds_canvas_files(png_path, svg_path, DS_GROUPS_WIDTH, height, draw_groups, groups, e);
}
