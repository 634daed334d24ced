/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.c - SVG elements, colours, and the drawing calls of canvas.h for SVG and, through cairo, pixels
 * and PDF.
 *
 * We write SVG ourselves because cairo's own turns letters into outlines, which cannot be searched, copied
 * or edited. */
#include "config.h"

#include "plot/canvas.h"

#include "base/file.h"
#include "base/text.h"
#include "plot/png.h"

#include <cairo-pdf.h>
#include <cairo.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- SVG elements, written into memory ---- */

enum { STAIRS = 8 /* a path is shorter from so many points on */ };

typedef struct ds_svg {
    FILE *f; /* into `text` */
    char *text;
    size_t length;
    int failed;
} ds_svg;

static ds_svg *begin(const char *size)
{
    ds_svg *s = calloc(1, sizeof *s);
    s = s != NULL && (s->f = open_memstream(&s->text, &s->length)) != NULL ? s : (free(s), NULL);
    if (s != NULL) {
        fprintf(s->f,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<svg xmlns=\"http://www.w3.org/2000/svg\" %s "
                "font-family=\"DejaVu Sans, Verdana, sans-serif\" stroke-linejoin=\"round\">\n",
                size);
    }
    return s;
}

/* Each function behaves like its namesake in canvas.h. */
static ds_svg *svg_new(int width, int height)
{
    char size[120];
    snprintf(size, sizeof size, "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"", width, height, width,
             height);
    return begin(size);
}

/* With a size on paper: `per_mm` pixels per millimetre. */
static ds_svg *svg_new_paper(double width, double height, double per_mm)
{
    char size[200];
    snprintf(size, sizeof size, "width=\"%.4gmm\" height=\"%.4gmm\" viewBox=\"0 0 %.2f %.2f\"",
             width / per_mm, height / per_mm, width, height);
    return begin(size);
}

static void svg_free(ds_svg *s)
{
    if (s != NULL) {
        fclose(s->f);
        free(s->text);
        free(s);
    }
}

/* The complete document so far; drawing may continue. Returns 0 if memory ran out. */
static int svg_document(ds_svg *s, const char **text, size_t *length)
{
    static const char end[] = "</svg>\n";
    fputs(end, s->f);
    if (fflush(s->f) != 0 || ferror(s->f) || s->failed) {
        return 0;
    }
    *text = s->text;
    *length = s->length;
    return fseek(s->f, -(long)strlen(end), SEEK_CUR) == 0;
}

/* ---- attributes ---- */

/* A coordinate with at most two decimals in every locale. Far outside the page the exact place does not
 * matter. */
static void add_number(ds_svg *s, double v)
{
    v = isnan(v) ? 0 : fmax(-1e6, fmin(1e6, v));
    long k = lround(v * 100), a = labs(k), rest = a % 100;
    fprintf(s->f, "%s%ld", k < 0 ? "-" : "", a / 100);
    if (rest != 0) {
        fprintf(s->f, rest % 10 == 0 ? ".%ld" : ".%02ld", rest % 10 == 0 ? rest / 10 : rest);
    }
}

/* Numeric attributes; `names` are separated by blanks. */
static void add_attributes(ds_svg *s, const char *names, const double *v)
{
    for (; *names != '\0'; v++) {
        int n = (int)strcspn(names, " ");
        fprintf(s->f, " %.*s=\"", n, names);
        add_number(s, *v);
        fputc('"', s->f);
        names += n + (names[n] == ' ');
    }
}

static void add_color(ds_svg *s, const char *name, ds_color v)
{
    fprintf(s->f, " %s=\"#%02x%02x%02x\"", name, (unsigned)lround(v.r * 255), (unsigned)lround(v.g * 255),
            (unsigned)lround(v.b * 255));
    if (v.a < 1) {
        fprintf(s->f, " %s-opacity=\"", name);
        add_number(s, v.a);
        fputc('"', s->f);
    }
}

/* Ends an element whose shape has been written. */
static void add_paint(ds_svg *s, ds_color fill, ds_color stroke, double line)
{
    if (fill.a > 0) {
        add_color(s, "fill", fill);
    } else {
        fputs(" fill=\"none\"", s->f);
    }
    if (line > 0 && stroke.a > 0) {
        add_color(s, "stroke", stroke);
        add_attributes(s, "stroke-width", &line);
    }
    fputs("/>\n", s->f);
}

/* ---- elements ---- */

static void svg_rect(ds_svg *s, const double box[4], ds_color fill, ds_color stroke, double line)
{
    fputs("<rect", s->f);
    add_attributes(s, "x y width height", box);
    add_paint(s, fill, stroke, line);
}

static void svg_circle(ds_svg *s, const double circle[3], ds_color fill, ds_color stroke, double line)
{
    fputs("<circle", s->f);
    add_attributes(s, "cx cy r", circle);
    add_paint(s, fill, stroke, line);
}

static void add_point(ds_svg *s, const char *before, const double *xy, const char *between)
{
    fputs(before, s->f);
    add_number(s, xy[0]);
    fputs(between, s->f);
    add_number(s, xy[1]);
}

static int is_level(const double *a, const double *b, int k)
{
    return fabs(a[k] - b[k]) < 1e-9;
}

/* A path of horizontal and vertical steps is half as long for stairs. Returns 0 if the points are not stairs,
 * or few. */
static int add_stairs(ds_svg *s, const double *xy, size_t n, int closed)
{
    for (size_t i = 1; i < n; i++) {
        if (!is_level(xy + 2 * i - 2, xy + 2 * i, 0) && !is_level(xy + 2 * i - 2, xy + 2 * i, 1)) {
            return 0;
        }
    }
    if (n <= STAIRS) {
        return 0;
    }
    fputs("<path d=\"", s->f);
    add_point(s, "M", xy, " ");
    for (size_t i = 1; i < n; i++) {
        const int across = is_level(xy + 2 * i - 2, xy + 2 * i, 1);
        fputc(across ? 'H' : 'V', s->f);
        add_number(s, xy[2 * i + (across ? 0 : 1)]);
    }
    fputs(closed ? "Z\"" : "\"", s->f);
    return 1;
}

/* `element` is a polygon or a polyline. */
static void svg_points(ds_svg *s, const char *element, const double *xy, size_t n, double dash, ds_color fill,
                       ds_color stroke, double line)
{
    if (!add_stairs(s, xy, n, strcmp(element, "polygon") == 0)) {
        fprintf(s->f, "<%s points=\"", element);
        for (size_t i = 0; i < n; i++) {
            add_point(s, i > 0 ? " " : "", xy + 2 * i, ",");
        }
        fputc('"', s->f);
    }
    if (dash > 0) {
        add_attributes(s, "stroke-dasharray", &dash);
    }
    add_paint(s, fill, stroke, line);
}

/* Single segments with round ends. */
static void svg_sticks(ds_svg *s, const double *from, const double *to, size_t n, ds_color stroke,
                       double line)
{
    fputs("<path stroke-linecap=\"round\" d=\"", s->f);
    for (size_t i = 0; i < n; i++) {
        add_point(s, "M", from + 2 * i, " ");
        add_point(s, "L", to + 2 * i, " ");
    }
    fputc('"', s->f);
    add_paint(s, (ds_color){0, 0, 0, 0}, stroke, line);
}

/* Escapes XML's special characters; between quotes also quotes. */
static void add_text(ds_svg *s, const char *text, int quoted)
{
    for (; *text != '\0'; text++) {
        fputs(*text == '&'             ? "&amp;"
              : *text == '<'           ? "&lt;"
              : *text == '>'           ? "&gt;"
              : *text == '"' && quoted ? "&quot;"
                                       : (char[]){*text, '\0'},
              s->f);
    }
}

/* `title` is "" where there is none. */
static void svg_group(ds_svg *s, const char *kind, const char *name, const char *title)
{
    fprintf(s->f, "<g class=\"%s\" data-name=\"", kind);
    add_text(s, name, 1);
    fputs("\">", s->f);
    if (title[0] != '\0') {
        fputs("<title>", s->f);
        add_text(s, title, 0);
        fputs("</title>", s->f);
    }
    fputc('\n', s->f);
}

static void svg_group_end(ds_svg *s)
{
    fputs("</g>\n", s->f);
}

/* An inner svg element clips without a name, which could clash with other figures in a page. */
static void svg_clip(ds_svg *s, const double box[4])
{
    fputs("<svg", s->f);
    add_attributes(s, "x y width height", box);
    fprintf(s->f, " viewBox=\"%.8g %.8g %.8g %.8g\">\n", box[0], box[1], box[2], box[3]);
}

static void svg_unclip(ds_svg *s)
{
    fputs("</svg>\n", s->f);
}

void ds_put_base64(FILE *f, const unsigned char *data, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) |
                     (i + 2 < n ? data[i + 2] : 0);
        fputc(digit[v >> 18], f);
        fputc(digit[v >> 12 & 63], f);
        fputc(i + 1 < n ? digit[v >> 6 & 63] : '=', f);
        fputc(i + 2 < n ? digit[v & 63] : '=', f);
    }
}

/* The pixels of a surface as a PNG in memory, to be freed; 0, or DS_EXIT_MEMORY. */
static int surface_png(cairo_surface_t *surface, unsigned char **png, size_t *size, ds_error *e)
{
    cairo_surface_flush(surface);
    return ds_png_encode((const uint32_t *)(void *)cairo_image_surface_get_data(surface),
                         (size_t)cairo_image_surface_get_stride(surface) / sizeof(uint32_t),
                         cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), png,
                         size, e);
}

/* The image as a PNG inside of the SVG. */
static void svg_cells(ds_svg *s, const double box[4], cairo_surface_t *cells)
{
    unsigned char *png = NULL;
    size_t size = 0;
    ds_error e;
    fputs("<image", s->f);
    add_attributes(s, "x y width height", box);
    fputs(" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
          s->f);
    s->failed |= surface_png(cells, &png, &size, &e) != 0;
    ds_put_base64(s->f, png, size);
    free(png);
    fputs("\"/>\n", s->f);
}

/* `anchor` is start, middle or end. */
static void svg_text(ds_svg *s, double x, double y, double size, const char *anchor, int bold, ds_color color,
                     double turn, const char *text)
{
    fputs("<text", s->f);
    add_attributes(s, "x y font-size", (double[]){x, y, size});
    add_color(s, "fill", color);
    if (strcmp(anchor, "start") != 0) {
        fprintf(s->f, " text-anchor=\"%s\"", anchor);
    }
    fputs(bold ? " font-weight=\"bold\"" : "", s->f);
    if (turn < 0 || turn > 0) {
        fputs(" transform=\"rotate(", s->f);
        add_number(s, turn);
        add_point(s, " ", (double[]){x, y}, " ");
        fputs(")\"", s->f);
    }
    fputc('>', s->f);
    add_text(s, text, 0);
    fputs("</text>\n", s->f);
}

/* ---- colours ---- */

ds_color ds_color_hex(uint32_t rgb, double a)
{
    return (ds_color){(double)(rgb >> 16 & 255) / 255, (double)(rgb >> 8 & 255) / 255,
                      (double)(rgb & 255) / 255, a};
}

int ds_color_is_dark(uint32_t background)
{
    const ds_color b = ds_color_hex(background, 1);
    return 0.299 * b.r + 0.587 * b.g + 0.114 * b.b < 0.5;
}

ds_color ds_color_on(uint32_t background, uint32_t rgb, double a)
{
    const ds_color c = ds_color_hex(rgb, a), b = ds_color_hex(background, 1);
    const double ink = ds_color_is_dark(background);
    return background == 0xffffff ? c
                                  : (ds_color){b.r + (ink - b.r) * (1 - c.r), b.g + (ink - b.g) * (1 - c.g),
                                               b.b + (ink - b.b) * (1 - c.b), a};
}

ds_color ds_color_series(uint32_t i, double a)
{
    static const uint32_t okabe_ito[7] = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                          0x56b4e9, 0xd55e00, 0xf0e442};
    return ds_color_hex(okabe_ito[i % 7], a);
}

/* Interpolates between `count` equidistant colours. */
static ds_color between(const uint32_t *colors, int count, double t)
{
    double at = (isnan(t) ? 0 : fmax(0, fmin(1, t))) * (count - 1);
    int k = at >= count - 1 ? count - 2 : (int)at;
    double s = at - k;
    ds_color a = ds_color_hex(colors[k], 1), b = ds_color_hex(colors[k + 1], 1);
    return (ds_color){(1 - s) * a.r + s * b.r, (1 - s) * a.g + s * b.g, (1 - s) * a.b + s * b.b, 1};
}

ds_color ds_color_viridis(double t)
{
    static const uint32_t colors[] = {0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e,
                                      0x2a788e, 0x23888e, 0x1f988b, 0x22a884, 0x35b779, 0x54c568,
                                      0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};
    return between(colors, 16, t);
}

uint32_t ds_color_pixel(ds_color c)
{
    return (uint32_t)lround(c.r * 255) << 16 | (uint32_t)lround(c.g * 255) << 8 | (uint32_t)lround(c.b * 255);
}

#define FONT "DejaVu Sans"

#ifdef DS_SANITIZERS
/* cairo finds fonts through fontconfig, which keeps some patterns until the process ends. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}
#endif

struct ds_canvas {
    int width, height;
    cairo_surface_t *surface; /* 1x1 pixels for SVG, to measure text */
    cairo_t *cr;
    ds_svg *svg; /* NULL = pixels, or PDF: */
    FILE *pdf;   /* into `text`; NULL = no PDF */
    char *text;
    size_t size;
    int failed;
};

/* ---- drawing with cairo ---- */

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

/* ---- opening and closing ---- */

enum { HUGE_PAGE = 1 << 21 };

static cairo_user_data_key_t pixels_key;

/* In huge pages where there are some: faults of 4 KB pages cost as much as most of the drawing. The pixels
 * are not initialised. */
static cairo_surface_t *new_pixels(int width, int height)
{
    const int stride = cairo_format_stride_for_width(CAIRO_FORMAT_RGB24, width);
    const size_t size = stride > 0 && height > 0 ? (size_t)stride * (size_t)height : 0;
    const size_t room = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    unsigned char *pixels = size >= HUGE_PAGE / 2 ? aligned_alloc(HUGE_PAGE, room) : NULL;
    if (pixels == NULL) {
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    }
    madvise(pixels, room, MADV_HUGEPAGE); /* only advice: without it the image is the same */
    cairo_surface_t *surface =
        cairo_image_surface_create_for_data(pixels, CAIRO_FORMAT_RGB24, width, height, stride);
    if (cairo_surface_set_user_data(surface, &pixels_key, pixels, free) != CAIRO_STATUS_SUCCESS) {
        cairo_surface_destroy(surface);
        free(pixels);
        return cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    }
    return surface;
}

ds_canvas *ds_canvas_new(int kind, int width, int height)
{
    ds_canvas *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->width = width;
    c->height = height;
    int svg = kind == DS_CANVAS_SVG;
    c->svg = svg ? svg_new(width, height) : NULL;
    c->surface = new_pixels(svg ? 1 : width, svg ? 1 : height);
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

/* A canvas of width x height layout pixels, `per_mm` per millimetre. */
static ds_canvas *new_paper(int kind, double width, double height, double per_mm)
{
    const double inch = 25.4, dots = kind == DS_CANVAS_PDF ? 72 : DS_PAPER_DPI;
    const double scale = dots / (inch * per_mm); /* surface units per layout pixel */
    if (kind == DS_CANVAS_SVG) {
        ds_canvas *c = ds_canvas_new(kind, 1, 1);
        svg_free(c != NULL ? c->svg : NULL);
        if (c == NULL || (c->svg = svg_new_paper(width, height, per_mm)) == NULL) {
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
                     : new_pixels(c->width, c->height);
#if CAIRO_VERSION >= CAIRO_VERSION_ENCODE(1, 16, 0)
    if (kind == DS_CANVAS_PDF) { /* makes the file reproducible */
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
    svg_free(c->svg);
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
        svg_rect(c->svg, (double[]){x, y, w, h}, fill, stroke, line);
        return;
    }
    cairo_rectangle(c->cr, limited(x), limited(y), limited(w), limited(h));
    paint(c, fill, stroke, line);
}

void ds_canvas_circle(ds_canvas *c, double x, double y, double r, ds_color fill, ds_color stroke, double line)
{
    if (c->svg != NULL) {
        svg_circle(c->svg, (double[]){x, y, r}, fill, stroke, line);
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
        svg_points(c->svg, "polygon", xy, n, 0, fill, stroke, line);
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
        svg_points(c->svg, "polyline", xy, n, dash, none, stroke, line);
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

/* Segments with round caps as one path. */
static void capped(ds_canvas *c, const double *from, const double *to, size_t n, ds_color stroke, double line)
{
    ds_color none = {0, 0, 0, 0};
    if (n == 0) {
        return;
    }
    if (c->svg != NULL) {
        svg_sticks(c->svg, from, to, n, stroke, line);
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
    /* In pieces, because the cost of a cairo path grows faster than its length. */
    size_t piece = c->svg != NULL ? n : 256;
    for (size_t i = 0; i < n; i += piece) {
        capped(c, xy + 2 * i, xy + 2 * i, n - i < piece ? n - i : piece, color, 2 * r);
    }
}

void ds_canvas_clip(ds_canvas *c, double x, double y, double w, double h)
{
    if (c->svg != NULL) {
        svg_clip(c->svg, (double[]){x, y, w, h});
        return;
    }
    cairo_save(c->cr);
    cairo_rectangle(c->cr, x, y, w, h);
    cairo_clip(c->cr);
}

void ds_canvas_unclip(ds_canvas *c)
{
    if (c->svg != NULL) {
        svg_unclip(c->svg);
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
        return ds_fail(e, DS_EXIT_MEMORY, "the figure was not drawn: %s",
                       cairo_status_to_string(cairo_status(c->cr)));
    }
    cairo_surface_flush(c->surface);
    const unsigned char *data = cairo_image_surface_get_data(c->surface);
    int stride = cairo_image_surface_get_stride(c->surface);
    for (int j = 0; j < c->height; j++) {
        uint32_t *row = pixels + (size_t)j * (size_t)c->width;
        memcpy(row, data + (ptrdiff_t)j * stride, (size_t)c->width * sizeof *row);
        for (int i = 0; i < c->width; i++) {
            row[i] &= 0xffffff; /* cairo leaves the upper byte undefined */
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
        svg_cells(c->svg, (double[]){x, y, w, h}, cells);
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

/* Replaces what cannot be shown: names of plugins and units come from third parties. */
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
        svg_group(c->svg, kind, text, about);
    }
}

void ds_canvas_group_end(ds_canvas *c)
{
    if (c->svg != NULL) {
        svg_group_end(c->svg);
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
        svg_text(c->svg, x, y, size, anchors[style & 3], style & DS_TEXT_BOLD, color, turn, s);
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

/* Appends a short text if all of it fits. */
static size_t append(char *out, size_t room, size_t n, const char *text)
{
    size_t k = strlen(text);
    if (n + k < room) {
        memcpy(out + n, text, k);
        n += k;
    }
    return n;
}

/* Appends one digit or minus sign as a superscript. */
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
        /* Leaves out a mantissa of 1. */
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

static int no_memory(const char *path_name, ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for the figure", path_name);
}

int ds_canvas_write(ds_canvas *c, const char *path_name, ds_error *e)
{
    cairo_status_t st = cairo_status(c->cr);
    if (c->failed || st == CAIRO_STATUS_NO_MEMORY) {
        return no_memory(path_name, e);
    }
    if (st != CAIRO_STATUS_SUCCESS) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot draw the figure: %s", path_name,
                       cairo_status_to_string(st));
    }
    if (c->svg != NULL) {
        const char *text;
        size_t length;
        return !svg_document(c->svg, &text, &length) ? no_memory(path_name, e)
                                                     : ds_file_write_atomic(path_name, text, length, e);
    }
    if (c->pdf != NULL) {
        cairo_surface_finish(c->surface);
        return cairo_surface_status(c->surface) != CAIRO_STATUS_SUCCESS || fflush(c->pdf) != 0
                   ? no_memory(path_name, e)
                   : ds_file_write_atomic(path_name, c->text, c->size, e);
    }
    unsigned char *png;
    size_t size;
    int rc = surface_png(c->surface, &png, &size, e);
    rc = rc != 0 ? no_memory(path_name, e) : ds_file_write_atomic(path_name, png, size, e);
    free(png);
    return rc;
}

int ds_canvas_png(ds_canvas *c, unsigned char **png, size_t *size, ds_error *e)
{
    *png = NULL;
    return c->failed || c->surface == NULL ? ds_no_memory(e) : surface_png(c->surface, png, size, e);
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
