/* SPDX-License-Identifier: Apache-2.0 */
/* plot_axes.h - the frame of a plot: ticks, grid lines, labels; and text beside it. */
#ifndef DS_PLOT_PLOT_AXES_H
#define DS_PLOT_PLOT_AXES_H

#include "plot/canvas.h"
#include "plot/plot_scale.h"

/* Colours of text and lines that all plots share. */
#define DS_PLOT_TEXT ds_color_hex(0x222222, 1)
#define DS_PLOT_SOFT ds_color_hex(0x666666, 1)
#define DS_PLOT_GRID ds_color_hex(0xdddddd, 1)

/* A frame in pixels, and what is said at its axes. Labels may be NULL or "". */
typedef struct ds_axes {
    double left, top, right, bottom;
    const ds_scale *x, *y; /* y NULL: rows, not numbers */
    const char *x_label, *y_label;
    int grid;      /* lines across the frame, to be drawn before the data */
    int hide_x;    /* no labels at the x axis (of a panel with another one below) */
    double y_room; /* pixels from the frame to the middle of the label of the y axis */
    int on_paper;  /* labels are as large as all other text */
} ds_axes;

void ds_axes_draw(ds_canvas *c, const ds_axes *a);

/* The two lines above a picture. */
void ds_plot_title(ds_canvas *c, const char *title, const char *subtitle, double width);

/* The same on paper; returns the y below them. */
double ds_plot_paper_title(ds_canvas *c, const ds_paper *p, const char *title, const char *subtitle,
                           double width);
enum { DS_PAPER_TITLE = 46 /* pixels that it takes */ };

/* Says about a point that there is no data, in place of a frame. */
void ds_plot_nothing(ds_canvas *c, double x, double y);

/* Lines of text from (x, y) down, at most `width` wide. A line that begins with '*' is bold; one with a tab
 * has its second part at the right edge; an empty one is a gap. Returns the y below them. */
double ds_plot_text(ds_canvas *c, double x, double y, double width, const char *const *line, int lines);

#endif
