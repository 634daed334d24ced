/* SPDX-License-Identifier: Apache-2.0 */
/* plot_marker.h - small shapes that tell series apart where colours do not. */
#ifndef DS_PLOT_PLOT_MARKER_H
#define DS_PLOT_PLOT_MARKER_H

#include "plot/canvas.h"

enum { DS_MARKER_NONE = 0, DS_MARKERS = 7 /* 1..7 are shapes */ };

/* A shape about (x, y) that is as large as a disc of radius r. */
void ds_plot_marker(ds_canvas *c, int marker, double x, double y, double r, ds_color color);

#endif
