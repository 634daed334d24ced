/* SPDX-License-Identifier: Apache-2.0 */
/* plot_marker.c - discs, squares, triangles and crosses (see plot_marker.h). */
#include "config.h"

#include "plot/plot_marker.h"

#include <stddef.h>

enum { CORNERS = 4 };

/* The filled shapes by number of the marker: how many corners, and where, in units of r. */
static const struct {
    size_t n;
    double corner[2 * CORNERS];
} filled[] = {[2] = {4, {-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9}},
              [3] = {3, {0, -1.3, 1.2, 0.9, -1.2, 0.9}},
              [4] = {4, {0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0}},
              [5] = {3, {0, 1.3, 1.2, -0.9, -1.2, -0.9}}};

static void shape(ds_canvas *c, int marker, double x, double y, double r, ds_color color)
{
    double xy[2 * CORNERS];
    for (size_t i = 0; i < filled[marker].n; i++) {
        xy[2 * i] = x + r * filled[marker].corner[2 * i];
        xy[2 * i + 1] = y + r * filled[marker].corner[2 * i + 1];
    }
    ds_canvas_polygon(c, xy, filled[marker].n, color, ds_color_hex(0xffffff, 1), 0.8);
}

/* The strokes of a cross: to (u, v) from the opposite end, and across. */
static void cross(ds_canvas *c, double x, double y, double u, double v, ds_color color)
{
    ds_canvas_line(c, x - u, y - v, x + u, y + v, color, 2, 0);
    ds_canvas_line(c, x - v, y + u, x + v, y - u, color, 2, 0);
}

void ds_plot_marker(ds_canvas *c, int marker, double x, double y, double r, ds_color color)
{
    switch (marker) {
    case 1:
        ds_canvas_circle(c, x, y, r, color, ds_color_hex(0xffffff, 1), 0.8);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        shape(c, marker, x, y, r, color);
        break;
    case 6:
        cross(c, x, y, r, r, color);
        break;
    case 7:
        cross(c, x, y, 1.2 * r, 0, color);
        break;
    default:
        break;
    }
}
