/* SPDX-License-Identifier: Apache-2.0 */
/* plot_map.h - a heat map of a field over two coordinates, with contours, arrows, paths and points. */
#ifndef DS_PLOT_PLOT_MAP_H
#define DS_PLOT_PLOT_MAP_H

#include "plot/canvas.h"
#include "plot/plot_axes.h"

/* Pictures get higher where the text beside them needs it. */
enum { DS_MAP_WIDTH = 1200, DS_MAP_HEIGHT = 860, DS_MAP_LINES = 40 };

/* What a cell without a value is drawn as. */
enum { DS_CELL_VALUE = 0, DS_CELL_OUTSIDE = 1, DS_CELL_FAILED = 2, DS_CELL_FLAT = 3 };

/* A path over the map: points in data coordinates, in their order. */
typedef struct ds_map_path {
    const char *name;
    const double *xy; /* count x 2 */
    uint64_t count;
    const double *weight;   /* 0 (pale) to 1 per point; NULL = 1 */
    const uint8_t *on_line; /* 1 = the line leads through this point; NULL = through all */
    ds_color color;
} ds_map_path;

/* The signs that the legend explains. */
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
    DS_SIGN_NONE, /* an empty place: what its absence means */
} ds_map_sign;
enum { DS_MAP_KEYS = 10 };

typedef struct ds_map_key {
    ds_map_sign sign;
    const char *text;
} ds_map_key;

/* Values lie at grid points; the first and the last one of a row lie on the frame. */
typedef struct ds_map {
    const char *title, *subtitle, *x_label, *y_label, *value_label;
    uint64_t columns, rows;
    double x_low, x_high, y_low, y_high;
    const double *value;   /* rows x columns, the first row at y_low; NAN = none */
    const uint8_t *cell;   /* DS_CELL_*; NULL = all are values */
    int kind;              /* DS_SCALE_LINEAR or DS_SCALE_LOG */
    double low, high;      /* ends of the colour scale; NAN = those of the data */
    int contours;          /* lines, about; 0 = none */
    const double *dx, *dy; /* arrows at the grid points, per unit of the axes, drawn with unit length on every
                              k-th of them; NULL = none; 0 is a dot, NAN nothing */
    const uint8_t
        *marked; /* grid points whose arrow is red (or, without arrows, that get a red dot); or NULL */
    const ds_map_path *path;
    int paths;
    double best[2];          /* a ring there; NAN = none */
    const char *const *line; /* text at the right, see ds_plot_text() */
    int lines;
    ds_map_key key[DS_MAP_KEYS]; /* the legend, below that text */
    int keys;
} ds_map;

/* Writes both files; either path may be NULL. 0 or an exit status. */
int ds_plot_map(const char *png_path, const char *svg_path, const ds_map *map, ds_error *e);

#endif
