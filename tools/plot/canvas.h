/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h - a small set of drawing calls with several outputs: PNG, PDF, and SVG with text as text. */
#ifndef DS_PLOT_CANVAS_H
#define DS_PLOT_CANVAS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- colours: of series, and scales whose order survives printing and colour blindness ---- */

typedef struct ds_color {
    double r, g, b, a; /* sRGB, 0..1 */
} ds_color;

/* 0xRRGGBB with an opacity. */
ds_color ds_color_hex(uint32_t rgb, double a);

/* The colour that contrasts with `background` as `rgb` does with white. */
ds_color ds_color_on(uint32_t background, uint32_t rgb, double a);

/* Is dark text hard to read on this background? */
int ds_color_is_dark(uint32_t background);

/* Colours distinguishable with any colour vision (Okabe and Ito 2008), i modulo 7: blue, orange, green,
 * purple, sky blue, vermillion, yellow. */
ds_color ds_color_series(uint32_t i, double a);

/* Dark blue over green to yellow (matplotlib's viridis, by S. van der Walt and N. Smith); t is clamped to
 * 0..1. */
ds_color ds_color_viridis(double t);

/* 0x00RRGGBB. */
uint32_t ds_color_pixel(ds_color c);

/* ---- canvas ---- */

/* Units are pixels, the origin is top left, y points down. Drawing calls never fail: an error (memory) is
 * stored and reported by the function that writes the file. */
typedef struct ds_canvas ds_canvas;

enum { DS_TEXT_LEFT = 0, DS_TEXT_CENTER = 1, DS_TEXT_RIGHT = 2, DS_TEXT_BOLD = 4 };

enum { DS_CANVAS_PNG = 0, DS_CANVAS_SVG = 1, DS_CANVAS_PDF = 2 };

/* A figure for print: text has the requested size at the printed width, and the layout adapts. PNG has
 * DS_PAPER_DPI. */
typedef struct ds_paper {
    const char *path;
    int kind;                   /* DS_CANVAS_* */
    double width_mm, height_mm; /* height 0: as high as needed */
    double font_pt;             /* of labels, which are DS_PAPER_FONT layout pixels high */
    int no_title;
} ds_paper;
enum { DS_PAPER_DPI = 300, DS_PAPER_FONT = 15 };

/* Layout pixels per millimetre. */
double ds_paper_scale(const ds_paper *p);

/* A white canvas; NULL without memory. */
ds_canvas *ds_canvas_new(int kind, int width, int height);
void ds_canvas_free(ds_canvas *c);

/* Filled if fill.a > 0; with an outline of `line` pixels if line > 0 and stroke.a > 0. */
void ds_canvas_rect(ds_canvas *c, double x, double y, double w, double h, ds_color fill, ds_color stroke,
                    double line);
void ds_canvas_circle(ds_canvas *c, double x, double y, double r, ds_color fill, ds_color stroke,
                      double line);

/* n points x, y in xy[0], xy[1], ... */
void ds_canvas_polygon(ds_canvas *c, const double *xy, size_t n, ds_color fill, ds_color stroke, double line);
/* dash = 0: solid; else the length of dashes and gaps. */
void ds_canvas_polyline(ds_canvas *c, const double *xy, size_t n, ds_color stroke, double line, double dash);
void ds_canvas_line(ds_canvas *c, double x0, double y0, double x1, double y1, ds_color stroke, double line,
                    double dash);
/* Line with round ends; a dot if both ends coincide. */
void ds_canvas_stick(ds_canvas *c, double x0, double y0, double x1, double y1, ds_color stroke, double line);
/* Equal filled discs. Opacity does not add up where they overlap. */
void ds_canvas_dots(ds_canvas *c, const double *xy, size_t n, double r, ds_color color);

/* Clips to a rectangle until ds_canvas_unclip(). Does not nest. */
void ds_canvas_clip(ds_canvas *c, double x, double y, double w, double h);
void ds_canvas_unclip(ds_canvas *c);

/* UTF-8 text with its baseline at y; invalid or unprintable characters become '?'. `style` is an alignment,
 * possibly with DS_TEXT_BOLD. `turn` is the clockwise angle in degrees about (x, y). */
void ds_canvas_text(ds_canvas *c, double x, double y, double size, int style, ds_color color, double turn,
                    const char *text);
/* Width of the text as it would be drawn. */
double ds_canvas_text_width(ds_canvas *c, double size, int style, const char *text);
/* The same, shortened with "..." to at most `width`. */
void ds_canvas_text_fit(ds_canvas *c, double x, double y, double size, int style, ds_color color,
                        double width, const char *text);

/* Draws an opaque image of w x h pixels (0x00RRGGBB); PNG canvases only. */
void ds_canvas_image(ds_canvas *c, int x, int y, int w, int h, const uint32_t *pixels);

/* Copies the pixels of a PNG canvas, 0x00RRGGBB, row by row from the top. DS_EXIT_MEMORY if drawing failed.
 */
int ds_canvas_pixels(const ds_canvas *c, uint32_t *pixels, ds_error *e);

/* Stretches an opaque image of columns x rows cells (0x00RRGGBB, top row first) over a rectangle, with sharp
 * edges between the cells. */
void ds_canvas_cells(ds_canvas *c, double x, double y, double w, double h, int columns, int rows,
                     const uint32_t *pixels);

/* Groups what is drawn until the group ends. In SVG the group is an element with this class and name, which
 * scripts and style sheets use; `title` (or NULL) is its tooltip. Groups nest; a group ends within the clip
 * in which it began. */
void ds_canvas_group(ds_canvas *c, const char *kind, const char *name, const char *title);
void ds_canvas_group_end(ds_canvas *c);

/* Writes the file atomically (file.h). */
int ds_canvas_write(ds_canvas *c, const char *path, ds_error *e);

/* Returns a PNG canvas as a PNG in memory, to be freed. On failure *png is NULL and the status
 * DS_EXIT_MEMORY. */
int ds_canvas_png(ds_canvas *c, unsigned char **png, size_t *size, ds_error *e);

/* Draws `what` to both files; either path may be NULL. `draw` returns nonzero without memory. */
typedef int ds_canvas_draw(ds_canvas *c, const void *what);
int ds_canvas_files(const char *png_path, const char *svg_path, int width, int height, ds_canvas_draw *draw,
                    const void *what, ds_error *e);

/* Draws `what` to the paper's file, on a canvas of width x height pixels. */
int ds_canvas_paper(const ds_paper *p, double width, double height, ds_canvas_draw *draw, const void *what,
                    ds_error *e);

/* A number as a label: 5 significant digits or `digits`, '.' in every locale, a real minus sign. */
void ds_label_number(char *out, size_t room, double v, int digits);

/* A unit as a label: "kg m^2" with superscript exponents. */
void ds_label_unit(char *out, size_t room, const char *unit);

/* Writes bytes as base64. */
void ds_put_base64(FILE *f, const unsigned char *data, size_t n);

#endif
