/* SPDX-License-Identifier: Apache-2.0 */
/* plot_panels.h - curves and dots in panels one below the other, over one horizontal axis. */
#ifndef DS_PLOT_PLOT_PANELS_H
#define DS_PLOT_PLOT_PANELS_H

#include "plot/canvas.h"
#include "plot/plot_axes.h"

enum { DS_PANELS_MAX = 4, DS_PANEL_CURVES = 4, DS_PANELS_WIDTH = 1200, DS_PANELS_HEIGHT = 900 };

enum { DS_CURVE_LINE = 0, DS_CURVE_DOTS = 1 };

typedef struct ds_panel_curve {
    const char *name; /* in the legend; NULL = not there */
    const double *x, *y;
    uint64_t count; /* points with a y that is not finite interrupt the line */
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

/* Smallest and largest finite value of the curves of a panel; 0 = there is none. */
int ds_panel_range(const ds_panel *p, double *low, double *high);

/* Writes both files; either path may be NULL. 0 or an exit status. */
int ds_plot_panels(const char *png_path, const char *svg_path, const ds_panels *panels, ds_error *e);

#endif
