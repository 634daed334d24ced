/* SPDX-License-Identifier: Apache-2.0 */
/* plot_lines.h - plots of series: curves in one frame, each with an optional band and its name at its end;
 * panels of curves; and groups of values with intervals. */
#ifndef DS_PLOT_PLOT_LINES_H
#define DS_PLOT_PLOT_LINES_H

#include "plot/canvas.h"
#include "plot/plot_axes.h"

enum { DS_LINES_WIDTH = 1000, DS_LINES_HEIGHT = 620 };

enum { DS_LINE_SOLID = 0, DS_LINE_DASHED = 1, DS_LINE_DOTTED = 2, DS_LINE_STYLES = 3 };

typedef struct ds_line {
    const char *name;
    ds_color color;
    const double *x, *y;      /* `count` points; a y that is not finite interrupts the line */
    const double *low, *high; /* band; NULL = none */
    size_t count;
    int dashed; /* DS_LINE_* */
    int marker; /* DS_MARKER_*, drawn at a few places along the line */
} ds_line;

typedef struct ds_lines {
    const char *title, *subtitle, *x_label, *y_label;
    int x_kind, y_kind;   /* DS_SCALE_*; a logarithmic axis may have zeros: the lines leave the frame there */
    double y_low, y_high; /* NAN = those of the curves */
    const ds_line *line;
    size_t lines;
    const ds_paper *paper; /* layout and file, instead of the two paths; NULL = for a screen */
    int steps;             /* values hold until the next point: stairs, not slopes */
} ds_lines;

/* Writes both files; either path may be NULL. 0 or an exit status. */
int ds_plot_lines(const char *png_path, const char *svg_path, const ds_lines *lines, ds_error *e);

/* ---- panels below each other with one horizontal axis: curves and dots ---- */

enum { DS_PANELS_MAX = 4, DS_PANEL_CURVES = 4, DS_PANELS_WIDTH = 1200, DS_PANELS_HEIGHT = 900 };

enum { DS_CURVE_LINE = 0, DS_CURVE_DOTS = 1 };

typedef struct ds_panel_curve {
    const char *name; /* in the legend; NULL = left out */
    const double *x, *y;
    uint64_t count; /* a y that is not finite interrupts the line */
    ds_color color;
    int style;   /* DS_CURVE_* */
    double size; /* width of the line, radius of the dots */
} ds_panel_curve;

typedef struct ds_panel {
    const char *label;
    int kind;         /* DS_SCALE_* of the values */
    double linear;    /* of a symmetric log scale */
    double low, high; /* NAN = those of the curves */
    ds_panel_curve curve[DS_PANEL_CURVES];
    int curves;
} ds_panel;

typedef struct ds_panels {
    const char *title, *subtitle, *x_label;
    double x_low, x_high;
    ds_panel panel[DS_PANELS_MAX];
    int count;
    const char *const *line; /* text at the right, see ds_plot_text() */
    int lines;
} ds_panels;

/* Smallest and largest finite value of the curves of a panel; returns 0 if there is none. */
int ds_panel_range(const ds_panel *p, double *low, double *high);

/* Writes both files; either path may be NULL. 0 or an exit status. */
int ds_plot_panels(const char *png_path, const char *svg_path, const ds_panels *panels, ds_error *e);

/* ---- groups: a row per group with a value, its interval and single values ---- */

enum { DS_GROUPS_WIDTH = 960 };

typedef struct ds_group {
    const char *name;
    ds_color color;
    int marker;              /* DS_MARKER_* of the value */
    double value, low, high; /* drawn if finite */
    const double *dot;       /* single values; may be NULL */
    size_t dots;
} ds_group;

typedef struct ds_groups {
    const char *title, *subtitle, *label;
    /* 1: the axis is logarithmic if no value is negative and the positive ones span more than a factor 10;
     * values of 0 are then at its left edge */
    int losses;
    double line; /* drawn across if finite */
    const ds_group *group;
    size_t groups;
    const ds_paper *paper; /* layout and file, instead of the two paths; NULL = for a screen */
} ds_groups;

/* Writes both files; either path may be NULL. 0 or an exit status. The height grows with the number of
 * groups. */
int ds_plot_groups(const char *png_path, const char *svg_path, const ds_groups *groups, ds_error *e);

#endif
