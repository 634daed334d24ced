/* SPDX-License-Identifier: Apache-2.0 */
/* plot_groups.c - points with intervals, row by row (see plot_groups.h). */
#include "config.h"

#include "plot/plot_groups.h"

#include <math.h>
#include <stdio.h>

#include "plot/plot_axes.h"
#include "plot/plot_marker.h"

enum {
    SCREEN_TOP = 104,
    NUMBERS = 110, /* room for the numbers at the right */
    BELOW = 66,    /* for ticks and label */
    SIZE = 15,     /* of names */
    ROW = 34,
    NAME_MAX_WIDTH = 260,
    LOG_RATIO = 10
};

typedef struct frame {
    ds_scale x;
    double width, left, top, right, bottom, row;
    int at_edge; /* values of 0 on a logarithmic axis */
} frame;

static void widen(double v, double *low, double *high)
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

/* The range of what is drawn. A value of 0 has no place on a logarithmic axis. Returns whether there is
 * anything. */
static int range_of(const ds_groups *p, double *low, double *high, frame *f, int *logarithmic)
{
    double positive = INFINITY, least = INFINITY;
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen(g->value, low, high);
        positive = lesser(positive, g->value);
        for (size_t i = 0; i < g->dots; i++) {
            widen(g->dot[i], low, high);
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
        widen(*logarithmic && g->low <= 0 ? (double)NAN : g->low, low, high);
        widen(g->high, low, high);
    }
    return any;
}

/* All but the left edge of the frame, which names need first. */
static frame layout_of(const ds_groups *p)
{
    const double rows = (double)(p->groups > 0 ? p->groups : 1);
    if (p->paper == NULL) {
        return (frame){.width = DS_GROUPS_WIDTH,
                       .top = SCREEN_TOP,
                       .right = DS_GROUPS_WIDTH - NUMBERS,
                       .bottom = SCREEN_TOP + ROW * rows,
                       .row = ROW};
    }
    const double scale = ds_paper_scale(p->paper);
    frame f = {
        .width = p->paper->width_mm * scale, .top = p->paper->no_title ? 8 : DS_PAPER_TITLE + 4, .row = 27};
    f.right = f.width - 106;
    if (p->paper->height_mm > 0) {
        f.row = (p->paper->height_mm * scale - f.top - BELOW) / rows;
    }
    f.bottom = f.top + f.row * rows;
    return f;
}

static frame frame_of(ds_canvas *c, const ds_groups *p, int *any)
{
    double low, high, name = 60;
    int logarithmic;
    frame f = layout_of(p);
    const double margin = p->paper != NULL ? 6 : 40;
    for (size_t k = 0; k < p->groups; k++) {
        name = fmax(name, ds_canvas_text_width(c, SIZE, 0, p->group[k].name));
    }
    f.left = margin + fmin(name, p->paper != NULL ? 0.3 * f.width : NAME_MAX_WIDTH) + 14;
    *any = range_of(p, &low, &high, &f, &logarithmic);
    if (*any) {
        widen(p->line, &low, &high);
        f.x = ds_scale_make(logarithmic ? DS_SCALE_LOG : DS_SCALE_LINEAR, low, high, 1, f.left, f.right);
        if (p->losses && !logarithmic && low >= 0 && f.x.low < 0) {
            f.x.low = 0; /* no air below what cannot be */
        }
    }
    return f;
}

/* On the axis, or at its left edge. */
static double place(const frame *f, double v)
{
    return fmax(f->left, ds_scale_map(&f->x, v));
}

/* The numbers of a row in words, as long as there is room. */
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

static void draw_group(ds_canvas *c, const ds_groups *p, const frame *f, size_t k)
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
    /* Single values one below the other in a fixed order, so that equal ones stay apart. */
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

static int draw(ds_canvas *c, const void *what)
{
    const ds_groups *p = what;
    int any;
    const frame f = frame_of(c, p, &any);
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
             f.at_edge ? "; 0 stands at the left edge" : "");
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
        const frame f = layout_of(groups);
        if (f.row < 14 || f.right - f.width * 0.4 < 40) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "%.200s: too small for its text: let it be wider or higher, or the font smaller",
                           groups->paper->path);
        }
        return ds_canvas_paper(groups->paper, f.width, f.bottom + BELOW, draw, groups, e);
    }
    const int height = SCREEN_TOP + ROW * (int)(groups->groups > 0 ? groups->groups : 1) + BELOW;
    return ds_canvas_files(png_path, svg_path, DS_GROUPS_WIDTH, height, draw, groups, e);
}
