/* SPDX-License-Identifier: Apache-2.0 */
/* canvas_svg.c - writes SVG elements into memory. */
#include "config.h"

#include "plot/canvas_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAIRS = 8 /* points that are worth a path */ };

struct ds_svg {
    FILE *f; /* into `text` */
    char *text;
    size_t length;
    int failed;
};

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

ds_svg *ds_svg_new(int width, int height)
{
    char size[120];
    snprintf(size, sizeof size, "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"", width, height, width,
             height);
    return begin(size);
}

ds_svg *ds_svg_new_paper(double width, double height, double per_mm)
{
    char size[200];
    snprintf(size, sizeof size, "width=\"%.4gmm\" height=\"%.4gmm\" viewBox=\"0 0 %.2f %.2f\"",
             width / per_mm, height / per_mm, width, height);
    return begin(size);
}

void ds_svg_free(ds_svg *s)
{
    if (s != NULL) {
        fclose(s->f);
        free(s->text);
        free(s);
    }
}

int ds_svg_document(ds_svg *s, const char **text, size_t *length)
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

/* A coordinate with at most two decimals in every locale; far outside the page is as good as outside. */
static void add_number(ds_svg *s, double v)
{
    v = isnan(v) ? 0 : fmax(-1e6, fmin(1e6, v));
    long k = lround(v * 100), a = labs(k), rest = a % 100;
    fprintf(s->f, "%s%ld", k < 0 ? "-" : "", a / 100);
    if (rest != 0) {
        fprintf(s->f, rest % 10 == 0 ? ".%ld" : ".%02ld", rest % 10 == 0 ? rest / 10 : rest);
    }
}

/* Attributes that are numbers; `names` lies between blanks. */
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

/* Ends an element that was begun with its shape. */
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

void ds_svg_rect(ds_svg *s, const double box[4], ds_color fill, ds_color stroke, double line)
{
    fputs("<rect", s->f);
    add_attributes(s, "x y width height", box);
    add_paint(s, fill, stroke, line);
}

void ds_svg_circle(ds_svg *s, const double circle[3], ds_color fill, ds_color stroke, double line)
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

/* Stairs are half as long as a path that says only which way it goes, and how far. Returns 0 where the points
 * are no stairs, or few. */
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

void ds_svg_points(ds_svg *s, const char *element, const double *xy, size_t n, double dash, ds_color fill,
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

void ds_svg_sticks(ds_svg *s, const double *from, const double *to, size_t n, ds_color stroke, double line)
{
    fputs("<path stroke-linecap=\"round\" d=\"", s->f);
    for (size_t i = 0; i < n; i++) {
        add_point(s, "M", from + 2 * i, " ");
        add_point(s, "L", to + 2 * i, " ");
    }
    fputc('"', s->f);
    add_paint(s, (ds_color){0, 0, 0, 0}, stroke, line);
}

/* With what has a meaning in XML escaped; between quotes they do, too. */
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

void ds_svg_group(ds_svg *s, const char *kind, const char *name, const char *title)
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

void ds_svg_group_end(ds_svg *s)
{
    fputs("</g>\n", s->f);
}

/* An inner svg cuts off what is outside of it, without a name that could be another figure's in a page. */
void ds_svg_clip(ds_svg *s, const double box[4])
{
    fputs("<svg", s->f);
    add_attributes(s, "x y width height", box);
    fprintf(s->f, " viewBox=\"%.8g %.8g %.8g %.8g\">\n", box[0], box[1], box[2], box[3]);
}

void ds_svg_unclip(ds_svg *s)
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

static cairo_status_t append(void *closure, const unsigned char *data, unsigned int length)
{
    return fwrite(data, 1, length, closure) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

int ds_surface_png(cairo_surface_t *surface, char **png, size_t *size)
{
    *png = NULL;
    *size = 0;
    FILE *f = open_memstream(png, size);
    int good = f != NULL && cairo_surface_write_to_png_stream(surface, append, f) == CAIRO_STATUS_SUCCESS;
    good = (f == NULL || fclose(f) == 0) && good;
    if (!good) {
        free(*png);
        *png = NULL;
        *size = 0;
    }
    return good;
}

/* The image as a PNG inside of the SVG. */
void ds_svg_cells(ds_svg *s, const double box[4], cairo_surface_t *cells)
{
    char *png = NULL;
    size_t size = 0;
    fputs("<image", s->f);
    add_attributes(s, "x y width height", box);
    fputs(" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
          s->f);
    s->failed |= !ds_surface_png(cells, &png, &size);
    ds_put_base64(s->f, (unsigned char *)png, size);
    free(png);
    fputs("\"/>\n", s->f);
}

void ds_svg_text(ds_svg *s, double x, double y, double size, const char *anchor, int bold, ds_color color,
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
