/* SPDX-License-Identifier: Apache-2.0 */
/* plot_groups.c - bars or points with intervals (see plot_groups.h). */
#include "config.h"

#include "plot/plot_groups.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plot/plot_axes.h"

enum {
    LEFT = 120,
    TOP = 110,
    RIGHT = DS_GROUPS_WIDTH - 40,
    SIZE = 15,       /* of names */
    FLAT_ROOM = 90,  /* below the frame, for names and numbers that lie flat */
    LABEL_MAX = 190, /* length of a turned name */
    LOG_RATIO = 100
};

typedef struct frame {
    ds_scale y;
    double bottom; /* pixel where the frame ends */
    double base;   /* pixel from which bars rise */
    double step;   /* width of a group */
    int turned;    /* names do not fit flat */
    int flat_numbers;
} frame;

static void widen(double v, double *low, double *high)
{
    if (isfinite(v)) {
        *low = fmin(*low, v);
        *high = fmax(*high, v);
    }
}

static void number_of(const ds_group *g, int digits, char text[40])
{
    if (isfinite(g->value)) {
        ds_label_number(text, 40, g->value, digits);
    } else {
        snprintf(text, 40, "-");
    }
}

/* What stands below a group where names are turned: the name, and the number where it has no place of its
 * own. Long names are cut: the first group has only the margin to its left. */
static void turned_label(ds_canvas *c, const ds_group *g, int with_number, char text[240])
{
    char number[40], name[160];
    number_of(g, 3, number);
    snprintf(name, sizeof name - 4, "%s", g->name);
    for (size_t n = strlen(name);; n--) {
        snprintf(text, 240, with_number ? "%s  %s" : "%s", name, number);
        if (n < 4 || ds_canvas_text_width(c, SIZE - 1, 0, text) <= LABEL_MAX) {
            break;
        }
        while (n > 4 && ((unsigned char)name[n - 1] & 0xc0) == 0x80) { /* whole letters */
            n--;
        }
        memcpy(name + n - 1, "...", 4);
    }
}

/* Where names and numbers go, and what is left for the frame. */
static void lay_out(ds_canvas *c, const ds_groups *p, frame *f)
{
    double name = 0, number = 0, label = 0;
    f->step = (RIGHT - LEFT) / (double)(p->groups > 0 ? p->groups : 1);
    for (size_t k = 0; k < p->groups; k++) {
        char text[240];
        name = fmax(name, ds_canvas_text_width(c, SIZE, 0, p->group[k].name));
        number_of(&p->group[k], 3, text);
        number = fmax(number, ds_canvas_text_width(c, SIZE - 2, 0, text));
    }
    f->turned = name > f->step - 8;
    f->flat_numbers = number <= f->step - 4;
    for (size_t k = 0; k < p->groups; k++) {
        char text[240];
        turned_label(c, &p->group[k], !f->flat_numbers, text);
        label = fmax(label, ds_canvas_text_width(c, SIZE - 1, 0, text));
    }
    double room = !f->turned ? FLAT_ROOM : (f->flat_numbers ? 50 : 30) + label * sqrt(0.5);
    f->bottom = DS_GROUPS_HEIGHT - room;
}

/* The range of what is drawn. A value of 0 has no place on a logarithmic axis; where the others need one it
 * is drawn at its edge. Returns whether there is anything. */
static int range_of(const ds_groups *p, double *low, double *high, int *logarithmic)
{
    double positive = INFINITY;
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen(g->value, low, high);
        positive = g->value > 0 ? fmin(positive, g->value) : positive;
        for (size_t i = 0; i < g->dots; i++) {
            widen(g->dot[i], low, high);
            positive = g->dot[i] > 0 ? fmin(positive, g->dot[i]) : positive;
        }
    }
    const int any = *low <= *high;
    *logarithmic = p->bars && *low >= 0 && *high / positive > LOG_RATIO;
    *low = *logarithmic ? positive : *low;
    for (size_t k = 0; any && k < p->groups; k++) {
        const ds_group *g = &p->group[k];
        widen(*logarithmic && g->low <= 0 ? (double)NAN : g->low, low, high);
        widen(g->high, low, high);
    }
    return any;
}

static frame frame_of(ds_canvas *c, const ds_groups *p, int *any)
{
    double low, high;
    int logarithmic;
    frame f = {0};
    lay_out(c, p, &f);
    *any = range_of(p, &low, &high, &logarithmic);
    if (!*any) {
        return f;
    }
    widen(p->line, &low, &high);
    if (p->bars && !logarithmic) {
        widen(0, &low, &high);
    }
    f.y = ds_scale_make(logarithmic ? DS_SCALE_LOG : DS_SCALE_LINEAR, low, high, 1, f.bottom, TOP);
    if (p->bars && !logarithmic && low == 0) {
        f.y.low = 0; /* bars stand on the axis */
    }
    f.base = f.y.kind == DS_SCALE_LOG ? f.bottom : fmin(f.bottom, ds_scale_map(&f.y, 0));
    return f;
}

/* On the axis, or at its lower edge. */
static double place(const frame *f, double v)
{
    return fmin(f->bottom, ds_scale_map(&f->y, v));
}

static void whisker(ds_canvas *c, const frame *f, const ds_group *g, double x)
{
    const ds_color dark = ds_color_hex(0x333333, 1);
    if (!isfinite(g->low) || !isfinite(g->high)) {
        return;
    }
    const double low = place(f, g->low), high = place(f, g->high);
    ds_canvas_line(c, x, low, x, high, dark, 1.8, 0);
    ds_canvas_line(c, x - 8, low, x + 8, low, dark, 1.8, 0);
    ds_canvas_line(c, x - 8, high, x + 8, high, dark, 1.8, 0);
}

static void draw_labels(ds_canvas *c, const frame *f, const ds_group *g, double x)
{
    char number[40], label[240];
    number_of(g, f->turned ? 3 : 4, number);
    if (!f->turned) {
        ds_canvas_text(c, x, f->bottom + 24, SIZE, DS_TEXT_CENTER, DS_PLOT_TEXT, 0, g->name);
        ds_canvas_text(c, x, f->bottom + 46, SIZE - 1, DS_TEXT_CENTER, DS_PLOT_SOFT, 0, number);
        return;
    }
    turned_label(c, g, !f->flat_numbers, label);
    if (f->flat_numbers) {
        ds_canvas_text(c, x, f->bottom + 20, SIZE - 2, DS_TEXT_CENTER, DS_PLOT_SOFT, 0, number);
    }
    ds_canvas_text(c, x + 5, f->bottom + (f->flat_numbers ? 38 : 18), SIZE - 1, DS_TEXT_RIGHT, DS_PLOT_TEXT,
                   -45, label);
}

static void draw_group(ds_canvas *c, const ds_groups *p, const frame *f, size_t k)
{
    const ds_group *g = &p->group[k];
    const double x = LEFT + ((double)k + 0.5) * f->step, half = fmin(46, 0.32 * f->step);
    ds_color fill = g->color, dot = g->color;
    fill.a = 0.55;
    if (isfinite(g->value) && p->bars) {
        double y = place(f, g->value);
        ds_canvas_rect(c, x - half, fmin(y, f->base), 2 * half, fabs(f->base - y), fill, g->color, 1.5);
    }
    /* Single values side by side in a fixed order, so that equal ones stay apart. */
    dot.a = 0.9;
    for (size_t i = 0; i < g->dots; i++) {
        double at = x + half * (g->dots > 1 ? 1.5 * ((double)i / (double)(g->dots - 1) - 0.5) : 0);
        if (isfinite(g->dot[i])) {
            ds_canvas_circle(c, at, place(f, g->dot[i]), 3.4, dot, ds_color_hex(0xffffff, 1), 0.8);
        }
    }
    whisker(c, f, g, x);
    if (isfinite(g->value) &&
        !p->bars) { /* small enough to leave the whiskers of a short interval in sight */
        ds_canvas_circle(c, x, place(f, g->value), 4.5, g->color, ds_color_hex(0xffffff, 1), 1.2);
    }
    draw_labels(c, f, g, x);
}

static int draw(ds_canvas *c, const void *what)
{
    const ds_groups *p = what;
    int any;
    const frame f = frame_of(c, p, &any);
    ds_plot_title(c, p->title, p->subtitle, DS_GROUPS_WIDTH);
    if (!any) {
        ds_plot_nothing(c, (LEFT + RIGHT) / 2.0, (TOP + f.bottom) / 2);
        return 0;
    }
    /* The axis has names, not numbers: a scale of no length puts its grid lines onto the frame. */
    const ds_scale none = ds_scale_make(DS_SCALE_LINEAR, 0, 1, 1, LEFT, LEFT);
    ds_axes axes = {LEFT, TOP, RIGHT, f.bottom, &none, &f.y, NULL, p->label, 1, 1, 88};
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
    return 0;
}

int ds_plot_groups(const char *png_path, const char *svg_path, const ds_groups *groups, ds_error *e)
{
    return ds_canvas_files(png_path, svg_path, DS_GROUPS_WIDTH, DS_GROUPS_HEIGHT, draw, groups, e);
}
