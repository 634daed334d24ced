/* SPDX-License-Identifier: Apache-2.0 */
/* canvas_svg.h - a canvas as SVG elements, with text as text: cairo can write SVG too, but turns every letter
 * into an outline, and labels are worth searching, copying and editing. */
#ifndef DS_PLOT_CANVAS_SVG_H
#define DS_PLOT_CANVAS_SVG_H

#include <cairo.h>
#include <stddef.h>
#include <stdio.h>

#include "plot/plot_color.h"

typedef struct ds_svg ds_svg;

/* What the functions of canvas.h say that are called like these. */
ds_svg *ds_svg_new(int width, int height);
/* With its size on paper: `per_mm` pixels in a millimetre. */
ds_svg *ds_svg_new_paper(double width, double height, double per_mm);
void ds_svg_free(ds_svg *s);
void ds_svg_rect(ds_svg *s, const double box[4], ds_color fill, ds_color stroke, double line);
void ds_svg_circle(ds_svg *s, const double circle[3], ds_color fill, ds_color stroke, double line);
/* `element` is a polygon or a polyline. */
void ds_svg_points(ds_svg *s, const char *element, const double *xy, size_t n, double dash, ds_color fill,
                   ds_color stroke, double line);
/* Single segments with round ends. */
void ds_svg_sticks(ds_svg *s, const double *from, const double *to, size_t n, ds_color stroke, double line);
/* `title` is "" where there is none. */
void ds_svg_group(ds_svg *s, const char *kind, const char *name, const char *title);
void ds_svg_group_end(ds_svg *s);
void ds_svg_clip(ds_svg *s, const double box[4]);
void ds_svg_unclip(ds_svg *s);
/* Bytes as base64. */
void ds_put_base64(FILE *f, const unsigned char *data, size_t n);
/* A surface as a PNG in memory, to be freed; 0 and NULL without memory, else 1. */
int ds_surface_png(cairo_surface_t *surface, char **png, size_t *size);
void ds_svg_cells(ds_svg *s, const double box[4], cairo_surface_t *cells);
/* `anchor` is start, middle or end. */
void ds_svg_text(ds_svg *s, double x, double y, double size, const char *anchor, int bold, ds_color color,
                 double turn, const char *text);

/* The document so far, complete; drawing may go on afterwards. 0 where memory ran out. */
int ds_svg_document(ds_svg *s, const char **text, size_t *length);

#endif
