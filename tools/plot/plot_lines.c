/* SPDX-License-Identifier: Apache-2.0 */
/* plot_lines.c - curves with bands, and their names (see plot_lines.h). */
#include "config.h"

#include "plot/plot_lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/plot_axes.h"
#include "plot/plot_marker.h"

enum {
    LEGEND = 22,
    MARKS = 4,           /* along a line */
    PAPER_WIDE = 680,    /* pixels from which on names stand beside the frame, else below it */
    PAPER_NAMES = 170,   /* room for them there */
    PAPER_ENTRY = 150,   /* of one of them below */
    PAPER_AXIS = 58,     /* below the frame */
    PAPER_FRAME_MIN = 90 /* height */
};

/* Where the frame lies, and the names of the lines. */
typedef struct layout {
    double width, height, left, top, right, bottom;
    int columns; /* of names below it; 0 = they stand beside it */
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
    double band; /* opacity: of many, each is paler */
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

/* The points of a line from `from` on, up to a gap, as pixels; returns where it ends. Stairs have two points
 * for each, but for steps that nobody sees. */
static size_t stretch(const ds_line *l, const frame *f, const double *value, size_t from, double *xy,
                      size_t *count)
{
    const double near = value == l->y ? 0.35 : 0.8; /* the edges of pale bands need less */
    size_t i = from, n = 0;
    for (; i < l->count && isfinite(l->y[i]); i++) {
        double x = ds_scale_map(&f->x, l->x[i]);
        double y = ds_scale_map(&f->y, isfinite(value[i]) ? value[i] : l->y[i]);
        if (f->steps) { /* tenths of a pixel: files are shorter */
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

/* At places that are others for each line, so that marks of lines that lie together do not, too. */
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

/* Where the name of a line stands: beside its end, as far as the others let it. */
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

/* Names lie in the order in which the lines end, closer together and smaller where they are many. */
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
    for (size_t k = 0; k < p->lines; k++) { /* down from the one above */
        t[k].y = k > 0 ? fmax(t[k].end, t[k - 1].y + step) : t[k].end;
    }
    for (size_t k = p->lines; k-- > 0;) { /* and up from the lower edge */
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
    for (int pass = 0; pass < 2; pass++) { /* all bands lie below all lines */
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
                           "%.200s: too small for its text: let it be wider or higher, or the font smaller",
                           lines->paper->path);
        }
        return ds_canvas_paper(lines->paper, l.width, l.height, draw, lines, e);
    }
    return ds_canvas_files(png_path, svg_path, DS_LINES_WIDTH, DS_LINES_HEIGHT, draw, lines, e);
}
