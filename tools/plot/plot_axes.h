/* SPDX-License-Identifier: Apache-2.0 */
/* plot_axes.h - scales and ticks, the frame of a plot, its title, text beside it, and markers. */
#ifndef DS_PLOT_PLOT_AXES_H
#define DS_PLOT_PLOT_AXES_H

#include "plot/canvas.h"

#include <stddef.h>

/* ---- scales ---- */

enum { DS_SCALE_LINEAR = 0, DS_SCALE_LOG = 1, DS_SCALE_SYMLOG = 2 };

enum { DS_SCALE_MAX_TICKS = 64, DS_TICK_LABEL_MAX = 40 };

typedef struct ds_scale {
    int kind;
    double low; /* data values at the two ends; low < high, both positive on a log scale */
    double high;
    double linear; /* symlog: below this magnitude the scale is about linear */
    double from;   /* pixels of low and high */
    double to;
} ds_scale;

typedef struct ds_tick {
    double value;
    int major; /* has a label */
    char label[DS_TICK_LABEL_MAX];
} ds_tick;

/* A scale that shows [low, high] (finite, low <= high) with a margin at both ends. A log scale becomes linear
 * if it would span less than a third of a decade, a symlog scale if it would neither reach zero nor span a
 * decade. */
ds_scale ds_scale_make(int kind, double low, double high, double linear, double from, double to);

/* Data value to pixel; values outside the range are not clamped. */
double ds_scale_map(const ds_scale *s, double v);

/* Finds about `wanted` labelled ticks; returns the number of all ticks. */
size_t ds_scale_ticks(const ds_scale *s, int wanted, ds_tick ticks[DS_SCALE_MAX_TICKS]);

/* ---- frame and text ---- */

/* Shared colours of text and lines. */
#define DS_PLOT_TEXT ds_color_hex(0x222222, 1)
#define DS_PLOT_SOFT ds_color_hex(0x666666, 1)
#define DS_PLOT_GRID ds_color_hex(0xdddddd, 1)

/* A frame in pixels and its axes. Labels may be NULL or "". */
typedef struct ds_axes {
    double left, top, right, bottom;
    const ds_scale *x, *y; /* y NULL: rows, not numbers */
    const char *x_label, *y_label;
    int grid;      /* lines across the frame, drawn before the data */
    int hide_x;    /* no labels on the x axis (another panel follows below) */
    double y_room; /* pixels from the frame to the centre of the y label */
    int on_paper;  /* labels have the size of all other text */
} ds_axes;

void ds_axes_draw(ds_canvas *c, const ds_axes *a);

/* The two lines above a picture. */
void ds_plot_title(ds_canvas *c, const char *title, const char *subtitle, double width);

/* The same on paper; returns the y below them. */
double ds_plot_paper_title(ds_canvas *c, const ds_paper *p, const char *title, const char *subtitle,
                           double width);
enum { DS_PAPER_TITLE = 46 /* pixels that it takes */ };

/* Writes "nothing to draw" centred at a point, instead of a frame. */
void ds_plot_nothing(ds_canvas *c, double x, double y);

/* Writes lines of text from (x, y) down, at most `width` wide. A line that begins with '*' is bold; the part
 * after a tab is aligned right; an empty line is a gap. Returns the y below them. */
double ds_plot_text(ds_canvas *c, double x, double y, double width, const char *const *line, int lines);

/* ---- markers: small shapes that distinguish series without colour ---- */

enum { DS_MARKER_NONE = 0, DS_MARKERS = 7 /* 1..7 are shapes */ };

/* A shape about (x, y) that is as large as a disc of radius r. */
void ds_plot_marker(ds_canvas *c, int marker, double x, double y, double r, ds_color color);

#endif
