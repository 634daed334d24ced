/* SPDX-License-Identifier: Apache-2.0 */
/* plot_lines.h - several curves in one frame, each with a band about it where it has one, and with its name
 * where it ends. */
#ifndef DS_PLOT_PLOT_LINES_H
#define DS_PLOT_PLOT_LINES_H

#include "plot/canvas.h"

enum { DS_LINES_WIDTH = 1000, DS_LINES_HEIGHT = 620 };

enum { DS_LINE_SOLID = 0, DS_LINE_DASHED = 1, DS_LINE_DOTTED = 2, DS_LINE_STYLES = 3 };

typedef struct ds_line {
    const char *name;
    ds_color color;
    const double *x, *y;      /* `count` points; where y is not finite the line is interrupted */
    const double *low, *high; /* band; NULL = none */
    size_t count;
    int dashed; /* DS_LINE_* */
    int marker; /* DS_MARKER_*: drawn at some places along it */
} ds_line;

typedef struct ds_lines {
    const char *title, *subtitle, *x_label, *y_label;
    int x_kind, y_kind;   /* DS_SCALE_*; an axis may be logarithmic with zeros: lines leave the frame there */
    double y_low, y_high; /* NAN = those of the curves */
    const ds_line *line;
    size_t lines;
    const ds_paper *paper; /* its layout and file, in place of the two paths; NULL = for a screen */
    int steps;             /* values hold until the next point: stairs, not slopes */
} ds_lines;

/* Writes both files; either path may be NULL. 0 or an exit status. */
int ds_plot_lines(const char *png_path, const char *svg_path, const ds_lines *lines, ds_error *e);

#endif
