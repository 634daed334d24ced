/* SPDX-License-Identifier: Apache-2.0 */
/* plot_groups.h - one value with its interval per group, and the single values about it: a row for each
 * group, on an axis that fits what is shown. */
#ifndef DS_PLOT_PLOT_GROUPS_H
#define DS_PLOT_PLOT_GROUPS_H

#include "plot/canvas.h"

enum { DS_GROUPS_WIDTH = 960 };

typedef struct ds_group {
    const char *name;
    ds_color color;
    int marker;              /* DS_MARKER_* of the value */
    double value, low, high; /* not finite: not drawn */
    const double *dot;       /* single values; may be NULL */
    size_t dots;
} ds_group;

typedef struct ds_groups {
    const char *title, *subtitle, *label;
    int losses;  /* 1: the axis is logarithmic where no value is negative and those above 0 span more than a
                  * factor 10; values of 0 then stand at its left edge */
    double line; /* drawn across where finite */
    const ds_group *group;
    size_t groups;
    const ds_paper *paper; /* its layout and file, in place of the two paths; NULL = for a screen */
} ds_groups;

/* Writes both files; either path may be NULL. 0 or an exit status. Pictures get higher with the groups. */
int ds_plot_groups(const char *png_path, const char *svg_path, const ds_groups *groups, ds_error *e);

#endif
