/* SPDX-License-Identifier: Apache-2.0 */
/* plot_axes.c - the frame of a plot, its title, and text beside it. */
#include "config.h"

#include "plot/plot_axes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* What a script needs to turn pixels into values: kind, values and pixels at the ends, and where a symlog
 * scale turns linear, of x and of y (rows: 0 0 0 0 top bottom), then the label of x. */
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
    /* A long title, as one with settings, is smaller before it is cut. */
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
