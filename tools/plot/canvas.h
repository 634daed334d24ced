/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h - one small set of drawing calls for two outputs: pixels (PNG) and SVG with text as text. */
#ifndef DS_PLOT_CANVAS_H
#define DS_PLOT_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plot/plot_color.h"

/* Units are pixels, the origin is top left, y points down. Nothing fails while drawing: a failure (memory) is
 * kept and told by the function that writes the file. */
typedef struct ds_canvas ds_canvas;

enum { DS_TEXT_LEFT = 0, DS_TEXT_CENTER = 1, DS_TEXT_RIGHT = 2, DS_TEXT_BOLD = 4 };

enum { DS_CANVAS_PNG = 0, DS_CANVAS_SVG = 1, DS_CANVAS_PDF = 2 };

/* A figure for print: text is as large as asked for at the width that it is printed in, and the layout
 * follows. PNG has DS_PAPER_DPI. */
typedef struct ds_paper {
    const char *path;
    int kind;                   /* DS_CANVAS_* */
    double width_mm, height_mm; /* height 0: as high as it needs */
    double font_pt;             /* of labels; DS_PAPER_FONT pixels of the layout */
    int no_title;
} ds_paper;
enum { DS_PAPER_DPI = 300, DS_PAPER_FONT = 15 };

/* Pixels of the layout in a millimetre. */
double ds_paper_scale(const ds_paper *p);

/* A white canvas; NULL where memory is short. */
ds_canvas *ds_canvas_new(int kind, int width, int height);
void ds_canvas_free(ds_canvas *c);

/* Filled where fill.a > 0; with an outline of `line` pixels where line > 0 and stroke.a > 0. */
void ds_canvas_rect(ds_canvas *c, double x, double y, double w, double h, ds_color fill, ds_color stroke,
                    double line);
void ds_canvas_circle(ds_canvas *c, double x, double y, double r, ds_color fill, ds_color stroke,
                      double line);

/* n points x, y in xy[0], xy[1], ... */
void ds_canvas_polygon(ds_canvas *c, const double *xy, size_t n, ds_color fill, ds_color stroke, double line);
/* dash = 0: solid; else the length of a dash and of a gap. */
void ds_canvas_polyline(ds_canvas *c, const double *xy, size_t n, ds_color stroke, double line, double dash);
void ds_canvas_line(ds_canvas *c, double x0, double y0, double x1, double y1, ds_color stroke, double line,
                    double dash);
/* Line with round ends; a dot where both ends coincide. */
void ds_canvas_stick(ds_canvas *c, double x0, double y0, double x1, double y1, ds_color stroke, double line);
/* Equal filled discs; where they overlap the opacity does not add up. */
void ds_canvas_dots(ds_canvas *c, const double *xy, size_t n, double r, ds_color color);

/* Everything between is cut at a rectangle. Does not nest. */
void ds_canvas_clip(ds_canvas *c, double x, double y, double w, double h);
void ds_canvas_unclip(ds_canvas *c);

/* Text (UTF-8; what is not valid or not printable becomes '?') with its baseline at y. `style` is an
 * alignment, possibly with DS_TEXT_BOLD. `turn` is the angle in degrees, clockwise, about (x, y). */
void ds_canvas_text(ds_canvas *c, double x, double y, double size, int style, ds_color color, double turn,
                    const char *text);
/* Width of the text as it would be drawn. */
double ds_canvas_text_width(ds_canvas *c, double size, int style, const char *text);
/* The same text, shortened with "..." to at most `width`. */
void ds_canvas_text_fit(ds_canvas *c, double x, double y, double size, int style, ds_color color,
                        double width, const char *text);

/* Puts an opaque image of w x h pixels (0x00RRGGBB) there; PNG canvases only. */
void ds_canvas_image(ds_canvas *c, int x, int y, int w, int h, const uint32_t *pixels);

/* Copies the pixels of a canvas of pixels, 0x00RRGGBB, row by row from the top. DS_EXIT_MEMORY where
 * drawing failed. */
int ds_canvas_pixels(const ds_canvas *c, uint32_t *pixels, ds_error *e);

/* Stretches an opaque image of columns x rows cells (0x00RRGGBB, top row first) over a rectangle, with hard
 * edges between the cells. */
void ds_canvas_cells(ds_canvas *c, double x, double y, double w, double h, int columns, int rows,
                     const uint32_t *pixels);

/* What is drawn until the end of the group belongs together: in an SVG it is an element of this class and
 * name, which scripts and style sheets of a page find; `title`, where it is not NULL, is told where a pointer
 * rests on it. Groups nest; a group ends within the clip in which it began. */
void ds_canvas_group(ds_canvas *c, const char *kind, const char *name, const char *title);
void ds_canvas_group_end(ds_canvas *c);

/* Writes the file atomically (file.h). */
int ds_canvas_write(ds_canvas *c, const char *path, ds_error *e);

/* A canvas of pixels as a PNG in memory, to be freed; *png is NULL on failure. DS_EXIT_MEMORY on failure. */
int ds_canvas_png(ds_canvas *c, char **png, size_t *size, ds_error *e);

/* Draws `what` to both files; either path may be NULL. `draw` returns 0, or another number without memory. */
typedef int ds_canvas_draw(ds_canvas *c, const void *what);
int ds_canvas_files(const char *png_path, const char *svg_path, int width, int height, ds_canvas_draw *draw,
                    const void *what, ds_error *e);

/* Draws `what` to the file of the paper, on a canvas of width x height pixels. */
int ds_canvas_paper(const ds_paper *p, double width, double height, ds_canvas_draw *draw, const void *what,
                    ds_error *e);

/* A number as a label: 5 significant digits or `digits`, '.' in every locale, a real minus sign. */
void ds_label_number(char *out, size_t room, double v, int digits);

/* A unit as a label: "kg m^2" with its exponents raised. */
void ds_label_unit(char *out, size_t room, const char *unit);

#endif
