/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.c - the drawing calls: pixels through cairo, or SVG through canvas_svg.c. */
#include "config.h"

#include "plot/canvas.h"

#include <ctype.h>
#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "plot/canvas_svg.h"

#define FONT "DejaVu Sans"

#ifdef DS_SANITIZERS
/* fontconfig, which cairo asks for fonts, keeps some patterns until the process ends. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}
#endif

struct ds_canvas {
    int width, height;
    cairo_surface_t *surface; /* an SVG canvas has one of 1x1 pixels, to measure text */
    cairo_t *cr;
    ds_svg *svg; /* NULL = pixels, or PDF: */
    FILE *pdf;   /* into `text`; NULL = no PDF */
    char *text;
    size_t size;
    int failed;
};

/* ---- cairo ---- */

static void set_color(ds_canvas *c, ds_color v)
{
    cairo_set_source_rgba(c->cr, v.r, v.g, v.b, v.a);
}

static void paint(ds_canvas *c, ds_color fill, ds_color stroke, double line)
{
    if (fill.a > 0) {
        set_color(c, fill);
        cairo_fill_preserve(c->cr);
    }
    if (line > 0 && stroke.a > 0) {
        set_color(c, stroke);
        cairo_set_line_width(c->cr, line);
        cairo_stroke_preserve(c->cr);
    }
    cairo_new_path(c->cr);
}

/* cairo keeps 24.8 fixed-point coordinates. */
static double limited(double v)
{
    return isnan(v) ? 0 : fmax(-1e6, fmin(1e6, v));
}

/* ---- life ---- */

ds_canvas *ds_canvas_new(int kind, int width, int height)
{
    ds_canvas *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->width = width;
    c->height = height;
    int svg = kind == DS_CANVAS_SVG;
    c->svg = svg ? ds_svg_new(width, height) : NULL;
    c->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, svg ? 1 : width, svg ? 1 : height);
    c->cr = cairo_create(c->surface);
    if (cairo_status(c->cr) != CAIRO_STATUS_SUCCESS || (svg && c->svg == NULL)) {
        ds_canvas_free(c);
        return NULL;
    }
    cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
    ds_canvas_rect(c, 0, 0, width, height, ds_color_hex(0xffffff, 1), ds_color_hex(0, 0), 0);
    return c;
}

static cairo_status_t put_pdf(void *closure, const unsigned char *data, unsigned int length)
{
    return fwrite(data, 1, length, closure) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Of width x height pixels of the layout, `per_mm` of them in a millimetre. */
static ds_canvas *new_paper(int kind, double width, double height, double per_mm)
{
    const double inch = 25.4, dots = kind == DS_CANVAS_PDF ? 72 : DS_PAPER_DPI;
    const double scale = dots / (inch * per_mm); /* units of the surface in a pixel of the layout */
    if (kind == DS_CANVAS_SVG) {
        ds_canvas *c = ds_canvas_new(kind, 1, 1);
        ds_svg_free(c != NULL ? c->svg : NULL);
        if (c == NULL || (c->svg = ds_svg_new_paper(width, height, per_mm)) == NULL) {
            ds_canvas_free(c);
            return NULL;
        }
        ds_canvas_rect(c, 0, 0, width, height, ds_color_hex(0xffffff, 1), ds_color_hex(0, 0), 0);
        return c;
    }
    ds_canvas *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->width = (int)ceil(width * scale);
    c->height = (int)ceil(height * scale);
    if (kind == DS_CANVAS_PDF && (c->pdf = open_memstream(&c->text, &c->size)) == NULL) {
        free(c);
        return NULL;
    }
    c->surface = kind == DS_CANVAS_PDF
                     ? cairo_pdf_surface_create_for_stream(put_pdf, c->pdf, width * scale, height * scale)
                     : cairo_image_surface_create(CAIRO_FORMAT_RGB24, c->width, c->height);
#if CAIRO_VERSION >= CAIRO_VERSION_ENCODE(1, 16, 0)
    if (kind == DS_CANVAS_PDF) { /* the same figure is the same file, whenever it is drawn */
        cairo_pdf_surface_set_metadata(c->surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
    }
#endif
    c->cr = cairo_create(c->surface);
    if (cairo_status(c->cr) != CAIRO_STATUS_SUCCESS) {
        ds_canvas_free(c);
        return NULL;
    }
    cairo_scale(c->cr, scale, scale);
    cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
    if (kind == DS_CANVAS_PNG) {
        ds_canvas_rect(c, 0, 0, width + 1, height + 1, ds_color_hex(0xffffff, 1), ds_color_hex(0, 0), 0);
    }
    return c;
}

void ds_canvas_free(ds_canvas *c)
{
    if (c == NULL) {
        return;
    }
    cairo_destroy(c->cr);
    cairo_surface_destroy(c->surface);
    ds_svg_free(c->svg);
    if (c->pdf != NULL) {
        fclose(c->pdf);
    }
    free(c->text);
    free(c);
}

/* ---- shapes ---- */

void ds_canvas_rect(ds_canvas *c, double x, double y, double w, double h, ds_color fill, ds_color stroke,
                    double line)
{
    if (c->svg != NULL) {
        ds_svg_rect(c->svg, (double[]){x, y, w, h}, fill, stroke, line);
        return;
    }
    cairo_rectangle(c->cr, limited(x), limited(y), limited(w), limited(h));
    paint(c, fill, stroke, line);
}

void ds_canvas_circle(ds_canvas *c, double x, double y, double r, ds_color fill, ds_color stroke, double line)
{
    if (c->svg != NULL) {
        ds_svg_circle(c->svg, (double[]){x, y, r}, fill, stroke, line);
        return;
    }
    cairo_arc(c->cr, limited(x), limited(y), limited(r), 0, 2 * acos(-1.0));
    paint(c, fill, stroke, line);
}

static void path(ds_canvas *c, const double *xy, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cairo_line_to(c->cr, limited(xy[2 * i]), limited(xy[2 * i + 1]));
    }
}

void ds_canvas_polygon(ds_canvas *c, const double *xy, size_t n, ds_color fill, ds_color stroke, double line)
{
    if (n == 0) {
        return;
    }
    if (c->svg != NULL) {
        ds_svg_points(c->svg, "polygon", xy, n, 0, fill, stroke, line);
        return;
    }
    path(c, xy, n);
    cairo_close_path(c->cr);
    paint(c, fill, stroke, line);
}

void ds_canvas_polyline(ds_canvas *c, const double *xy, size_t n, ds_color stroke, double line, double dash)
{
    if (n == 0) {
        return;
    }
    ds_color none = {0, 0, 0, 0};
    if (c->svg != NULL) {
        ds_svg_points(c->svg, "polyline", xy, n, dash, none, stroke, line);
        return;
    }
    path(c, xy, n);
    cairo_set_dash(c->cr, &dash, dash > 0 ? 1 : 0, 0);
    paint(c, none, stroke, line);
    cairo_set_dash(c->cr, NULL, 0, 0);
}

void ds_canvas_line(ds_canvas *c, double x0, double y0, double x1, double y1, ds_color stroke, double line,
                    double dash)
{
    double xy[4] = {x0, y0, x1, y1};
    ds_canvas_polyline(c, xy, 2, stroke, line, dash);
}

/* A path of single segments with round caps. */
static void capped(ds_canvas *c, const double *from, const double *to, size_t n, ds_color stroke, double line)
{
    ds_color none = {0, 0, 0, 0};
    if (n == 0) {
        return;
    }
    if (c->svg != NULL) {
        ds_svg_sticks(c->svg, from, to, n, stroke, line);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        cairo_move_to(c->cr, limited(from[2 * i]), limited(from[2 * i + 1]));
        cairo_line_to(c->cr, limited(to[2 * i]), limited(to[2 * i + 1]));
    }
    cairo_set_line_cap(c->cr, CAIRO_LINE_CAP_ROUND);
    paint(c, none, stroke, line);
    cairo_set_line_cap(c->cr, CAIRO_LINE_CAP_BUTT);
}

void ds_canvas_stick(ds_canvas *c, double x0, double y0, double x1, double y1, ds_color stroke, double line)
{
    capped(c, (double[]){x0, y0}, (double[]){x1, y1}, 1, stroke, line);
}

void ds_canvas_dots(ds_canvas *c, const double *xy, size_t n, double r, ds_color color)
{
    /* In pieces: the cost of one cairo path grows faster than its length. */
    size_t piece = c->svg != NULL ? n : 256;
    for (size_t i = 0; i < n; i += piece) {
        capped(c, xy + 2 * i, xy + 2 * i, n - i < piece ? n - i : piece, color, 2 * r);
    }
}

void ds_canvas_clip(ds_canvas *c, double x, double y, double w, double h)
{
    if (c->svg != NULL) {
        ds_svg_clip(c->svg, (double[]){x, y, w, h});
        return;
    }
    cairo_save(c->cr);
    cairo_rectangle(c->cr, x, y, w, h);
    cairo_clip(c->cr);
}

void ds_canvas_unclip(ds_canvas *c)
{
    if (c->svg != NULL) {
        ds_svg_unclip(c->svg);
    } else {
        cairo_restore(c->cr);
    }
}

void ds_canvas_image(ds_canvas *c, int x, int y, int w, int h, const uint32_t *pixels)
{
    if (c->svg != NULL) {
        return;
    }
    cairo_surface_flush(c->surface);
    unsigned char *data = cairo_image_surface_get_data(c->surface);
    int stride = cairo_image_surface_get_stride(c->surface);
    for (int j = 0; j < h; j++) {
        for (int i = 0; i < w; i++) {
            if (x + i >= 0 && x + i < c->width && y + j >= 0 && y + j < c->height) {
                uint32_t v = pixels[(size_t)j * (size_t)w + (size_t)i];
                memcpy(data + (ptrdiff_t)(y + j) * stride + (ptrdiff_t)4 * (x + i), &v, 4);
            }
        }
    }
    cairo_surface_mark_dirty(c->surface);
}

int ds_canvas_pixels(const ds_canvas *c, uint32_t *pixels, ds_error *e)
{
    if (c->svg != NULL || cairo_status(c->cr) != CAIRO_STATUS_SUCCESS) {
        return ds_fail(e, DS_EXIT_MEMORY, "the picture was not drawn: %s",
                       cairo_status_to_string(cairo_status(c->cr)));
    }
    cairo_surface_flush(c->surface);
    const unsigned char *data = cairo_image_surface_get_data(c->surface);
    int stride = cairo_image_surface_get_stride(c->surface);
    for (int j = 0; j < c->height; j++) {
        uint32_t *row = pixels + (size_t)j * (size_t)c->width;
        memcpy(row, data + (ptrdiff_t)j * stride, (size_t)c->width * sizeof *row);
        for (int i = 0; i < c->width; i++) {
            row[i] &= 0xffffff; /* the upper byte is nobody's */
        }
    }
    return 0;
}

void ds_canvas_cells(ds_canvas *c, double x, double y, double w, double h, int columns, int rows,
                     const uint32_t *pixels)
{
    cairo_surface_t *cells = cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows);
    if (cairo_surface_status(cells) != CAIRO_STATUS_SUCCESS) {
        c->failed = 1;
        cairo_surface_destroy(cells);
        return;
    }
    unsigned char *data = cairo_image_surface_get_data(cells);
    int stride = cairo_image_surface_get_stride(cells);
    for (int j = 0; j < rows; j++) {
        memcpy(data + (ptrdiff_t)j * stride, pixels + (ptrdiff_t)j * columns,
               (size_t)columns * sizeof *pixels);
    }
    cairo_surface_mark_dirty(cells);
    if (c->svg != NULL) {
        ds_svg_cells(c->svg, (double[]){x, y, w, h}, cells);
    } else {
        cairo_save(c->cr);
        cairo_rectangle(c->cr, limited(x), limited(y), limited(w), limited(h));
        cairo_clip(c->cr);
        cairo_translate(c->cr, limited(x), limited(y));
        cairo_scale(c->cr, w / columns, h / rows);
        cairo_set_source_surface(c->cr, cells, 0, 0);
        cairo_pattern_set_filter(cairo_get_source(c->cr),
                                 columns > w ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
        cairo_paint(c->cr);
        cairo_restore(c->cr);
    }
    cairo_surface_destroy(cells);
}

/* ---- text ---- */

/* Length of the printable character at p, or 0. */
static size_t printable(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    size_t n = ds_utf8_length(p, strnlen(p, 4));
    int control = u[0] < 0x20 || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);
    int noncharacter = u[0] == 0xef && n == 3 && u[1] == 0xbf && u[2] >= 0xbe;
    return control || noncharacter ? 0 : n;
}

enum { TEXT_MAX = 512 };

/* Copies what can be shown; names of plugins and units come from outside. */
static void clean(char out[TEXT_MAX], const char *text)
{
    size_t used = 0;
    while (*text != '\0' && used + 5 < TEXT_MAX) {
        size_t n = printable(text);
        if (n == 0) {
            out[used++] = '?';
            text++;
        } else {
            memcpy(out + used, text, n);
            used += n;
            text += n;
        }
    }
    out[used] = '\0';
}

void ds_canvas_group(ds_canvas *c, const char *kind, const char *name, const char *title)
{
    if (c->svg != NULL) {
        char text[TEXT_MAX], about[TEXT_MAX];
        clean(text, name);
        clean(about, title != NULL ? title : "");
        ds_svg_group(c->svg, kind, text, about);
    }
}

void ds_canvas_group_end(ds_canvas *c)
{
    if (c->svg != NULL) {
        ds_svg_group_end(c->svg);
    }
}

static void choose_font(ds_canvas *c, double size, int style)
{
    cairo_select_font_face(c->cr, FONT, CAIRO_FONT_SLANT_NORMAL,
                           (style & DS_TEXT_BOLD) != 0 ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c->cr, size);
}

double ds_canvas_text_width(ds_canvas *c, double size, int style, const char *text)
{
    char s[TEXT_MAX];
    cairo_text_extents_t extents;
    clean(s, text);
    choose_font(c, size, style);
    cairo_text_extents(c->cr, s, &extents);
    return extents.x_advance;
}

void ds_canvas_text(ds_canvas *c, double x, double y, double size, int style, ds_color color, double turn,
                    const char *text)
{
    char s[TEXT_MAX];
    clean(s, text);
    if (c->svg != NULL) {
        static const char *const anchors[4] = {"start", "middle", "end", "start"};
        ds_svg_text(c->svg, x, y, size, anchors[style & 3], style & DS_TEXT_BOLD, color, turn, s);
        return;
    }
    double width = ds_canvas_text_width(c, size, style, s);
    int align = style & 3;
    cairo_save(c->cr);
    set_color(c, color);
    cairo_translate(c->cr, limited(x), limited(y));
    cairo_rotate(c->cr, turn * acos(-1.0) / 180);
    cairo_move_to(c->cr, align == DS_TEXT_CENTER ? -width / 2 : align == DS_TEXT_RIGHT ? -width : 0, 0);
    cairo_show_text(c->cr, s);
    cairo_restore(c->cr);
    cairo_new_path(c->cr);
}

void ds_canvas_text_fit(ds_canvas *c, double x, double y, double size, int style, ds_color color,
                        double width, const char *text)
{
    char s[TEXT_MAX + 8];
    clean(s, text);
    size_t n = strlen(s);
    while (n > 0 && ds_canvas_text_width(c, size, style, s) > width) {
        do {
            n--;
        } while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80);
        memcpy(s + n, "...", 4);
    }
    ds_canvas_text(c, x, y, size, style, color, 0, s);
}

/* Appends a short text where it fits whole. */
static size_t append(char *out, size_t room, size_t n, const char *text)
{
    size_t k = strlen(text);
    if (n + k < room) {
        memcpy(out + n, text, k);
        n += k;
    }
    return n;
}

/* One of the digits and the minus sign, raised. */
static size_t append_raised(char *out, size_t room, size_t n, char sign)
{
    static const char *const superscript[10] = {
        "\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
        "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9"};
    return append(out, room, n, sign == '-' ? "\xe2\x81\xbb" : superscript[sign - '0']);
}

void ds_label_number(char *out, size_t room, double v, int digits)
{
    char s[64];
    snprintf(s, sizeof s, "%.*g", digits > 0 ? digits : 5, v + 0.0);
    size_t n = 0;
    const char *e = strchr(s, 'e');
    for (const char *p = s; *p != '\0' && p != e; p++) {
        char one[2] = {*p == ',' ? '.' : *p, '\0'};
        n = append(out, room, n, *p == '-' ? "\xe2\x88\x92" : one);
    }
    if (e != NULL) {
        char exponent[24];
        int power = atoi(e + 1);
        /* A mantissa of 1 is not worth writing. */
        n = n == 1 && out[0] == '1' ? 0 : append(out, room, n, "\xc2\xb7");
        n = append(out, room, n, "10");
        snprintf(exponent, sizeof exponent, "%d", power);
        for (const char *p = exponent; *p != '\0'; p++) {
            n = append_raised(out, room, n, *p);
        }
    }
    out[n] = '\0';
}

void ds_label_unit(char *out, size_t room, const char *unit)
{
    size_t n = 0;
    for (const char *p = unit; *p != '\0'; p++) {
        if (*p == '^' && (isdigit((unsigned char)p[1]) || (p[1] == '-' && isdigit((unsigned char)p[2])))) {
            for (p++; *p == '-' || isdigit((unsigned char)*p); p++) {
                n = append_raised(out, room, n, *p);
            }
            p--;
            continue;
        }
        char one[2] = {*p, '\0'};
        n = append(out, room, n, one);
    }
    out[n] = '\0';
}

/* ---- writing ---- */

typedef struct sink {
    ds_file *file;
    ds_error *e;
} sink;

static cairo_status_t write_png(void *closure, const unsigned char *data, unsigned int length)
{
    sink *s = closure;
    return ds_file_write(s->file, data, length, s->e) == 0 ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static int no_memory(const char *path_name, ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for the picture", path_name);
}

int ds_canvas_write(ds_canvas *c, const char *path_name, ds_error *e)
{
    cairo_status_t st = cairo_status(c->cr);
    if (c->failed || st == CAIRO_STATUS_NO_MEMORY) {
        return no_memory(path_name, e);
    }
    if (st != CAIRO_STATUS_SUCCESS) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot draw the picture: %s", path_name,
                       cairo_status_to_string(st));
    }
    if (c->svg != NULL) {
        const char *text;
        size_t length;
        return !ds_svg_document(c->svg, &text, &length) ? no_memory(path_name, e)
                                                        : ds_file_write_atomic(path_name, text, length, e);
    }
    if (c->pdf != NULL) {
        cairo_surface_finish(c->surface);
        return cairo_surface_status(c->surface) != CAIRO_STATUS_SUCCESS || fflush(c->pdf) != 0
                   ? no_memory(path_name, e)
                   : ds_file_write_atomic(path_name, c->text, c->size, e);
    }
    sink s = {NULL, e};
    int status = ds_file_open(&s.file, path_name, e);
    if (status != 0) {
        return status;
    }
    st = cairo_surface_write_to_png_stream(c->surface, write_png, &s);
    if (st == CAIRO_STATUS_SUCCESS) {
        return ds_file_commit(s.file, e);
    }
    ds_file_abort(s.file);
    return st == CAIRO_STATUS_WRITE_ERROR ? DS_EXIT_IO
                                          : ds_fail(e, DS_EXIT_IO, "%s: cannot make the picture: %s",
                                                    path_name, cairo_status_to_string(st));
}

int ds_canvas_png(ds_canvas *c, char **png, size_t *size, ds_error *e)
{
    *png = NULL;
    return c->failed || c->surface == NULL || !ds_surface_png(c->surface, png, size) ? ds_no_memory(e) : 0;
}

double ds_paper_scale(const ds_paper *p)
{
    return DS_PAPER_FONT / (p->font_pt * 25.4 / 72);
}

int ds_canvas_paper(const ds_paper *p, double width, double height, ds_canvas_draw *draw, const void *what,
                    ds_error *e)
{
    ds_canvas *c = new_paper(p->kind, width, height, ds_paper_scale(p));
    int rc = c == NULL || draw(c, what) != 0 ? no_memory(p->path, e) : ds_canvas_write(c, p->path, e);
    ds_canvas_free(c);
    return rc;
}

int ds_canvas_files(const char *png_path, const char *svg_path, int width, int height, ds_canvas_draw *draw,
                    const void *what, ds_error *e)
{
    const char *const path_name[] = {[DS_CANVAS_PNG] = png_path, [DS_CANVAS_SVG] = svg_path};
    int rc = 0;
    for (int kind = DS_CANVAS_PNG; kind <= DS_CANVAS_SVG && rc == 0; kind++) {
        if (path_name[kind] != NULL) {
            ds_canvas *c = ds_canvas_new(kind, width, height);
            rc = c == NULL || draw(c, what) != 0 ? no_memory(path_name[kind], e)
                                                 : ds_canvas_write(c, path_name[kind], e);
            ds_canvas_free(c);
        }
    }
    return rc;
}
