/* SPDX-License-Identifier: Apache-2.0 */
/* plot_map.h - a heat map of a field over two coordinates, with contours, arrows, paths and points. */
#ifndef DS_PLOT_PLOT_MAP_H
#define DS_PLOT_PLOT_MAP_H

#include "plot/canvas.h"
#include "plot/plot_axes.h"

#include <stddef.h>
#include <stdint.h>

/* ---- contour lines of a field on a regular grid ---- */

/* Receives one line: n points x, y in units of columns and rows. A closed line ends with its first point. */
typedef void ds_contour_line(void *ctx, const double *xy, size_t n);

/* Finds the lines v = `level` of a field (row-major, v[j * columns + i]) by marching squares with linear
 * interpolation. Cells with a value that is not finite have none. Returns -1 without memory. */
int ds_contour(const double *v, uint64_t columns, uint64_t rows, double level, ds_contour_line *line,
               void *ctx);

/* ---- heat map ---- */

/* The height grows with the text next to the map. */
enum { DS_MAP_WIDTH = 1200, DS_MAP_HEIGHT = 860, DS_MAP_LINES = 40 };

/* How a cell without a value is drawn. */
enum { DS_CELL_VALUE = 0, DS_CELL_OUTSIDE = 1, DS_CELL_FAILED = 2, DS_CELL_FLAT = 3 };

/* A path across the map: points in data coordinates, in order. */
typedef struct ds_map_path {
    const char *name;
    const double *xy; /* count x 2 */
    uint64_t count;
    const double *weight;   /* 0 (pale) to 1 per point; NULL = 1 */
    const uint8_t *on_line; /* 1 = the line passes through this point; NULL = through all */
    ds_color color;
} ds_map_path;

/* Signs in the legend. */
typedef enum ds_map_sign {
    DS_SIGN_ARROW,
    DS_SIGN_MARKED_ARROW,
    DS_SIGN_DOT,
    DS_SIGN_MARK,
    DS_SIGN_RING,
    DS_SIGN_CONTOUR,
    DS_SIGN_FLAT,
    DS_SIGN_FAILED,
    DS_SIGN_OUTSIDE,
    DS_SIGN_NONE, /* empty: explains what the absence of a sign means */
} ds_map_sign;
enum { DS_MAP_KEYS = 10 };

typedef struct ds_map_key {
    ds_map_sign sign;
    const char *text;
} ds_map_key;

/* Values are at grid points; the first and the last one of a row are on the frame. */
typedef struct ds_map {
    const char *title, *subtitle, *x_label, *y_label, *value_label;
    uint64_t columns, rows;
    double x_low, x_high, y_low, y_high;
    const double *value; /* rows x columns, the first row at y_low; NAN = none */
    const uint8_t *cell; /* DS_CELL_*; NULL = all are values */
    int kind;            /* DS_SCALE_LINEAR or DS_SCALE_LOG */
    double low, high;    /* ends of the colour scale; NAN = those of the data */
    int contours;        /* approximate number of lines; 0 = none */
    /* arrows per unit of the axes, drawn with unit length at every k-th grid point; NULL = none; 0 draws a
     * dot, NAN nothing */
    const double *dx, *dy;
    const uint8_t
        *marked; /* grid points whose arrow is red (or, without arrows, that get a red dot); or NULL */
    const ds_map_path *path;
    int paths;
    double best[2];          /* marked with a ring; NAN = none */
    const char *const *line; /* text at the right, see ds_plot_text() */
    int lines;
    ds_map_key key[DS_MAP_KEYS]; /* the legend, below that text */
    int keys;
} ds_map;

/* Writes both files; either path may be NULL. 0 or an exit status. */
int ds_plot_map(const char *png_path, const char *svg_path, const ds_map *map, ds_error *e);

#endif
