/* SPDX-License-Identifier: Apache-2.0 */
/* plot_groups.h - one value with its interval per group, as bars or as points, and the single
 * values beside it. */
#ifndef DS_PLOT_PLOT_GROUPS_H
#define DS_PLOT_PLOT_GROUPS_H

#include "plot/canvas.h"

enum { DS_GROUPS_WIDTH = 1200, DS_GROUPS_HEIGHT = 640 };

typedef struct ds_group {
    const char *name;
    ds_color color;
    double value, low, high; /* not finite: not drawn */
    const double *dot;       /* single values; may be NULL */
    size_t dots;
} ds_group;

typedef struct ds_groups {
    const char *title, *subtitle, *label;
    int bars;    /* 1: bars from zero, or on a log scale from the edge; 0: points */
    double line; /* drawn across where finite */
    const ds_group *group;
    size_t groups;
} ds_groups;

/* Writes both files; either path may be NULL. 0 or an exit status. The axis of bars is logarithmic where no
 * value is negative and those above 0 span more than a factor 100. */
int ds_plot_groups(const char *png_path, const char *svg_path, const ds_groups *groups, ds_error *e);

#endif
