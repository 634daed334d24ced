/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_page.c - landscape.html: the figures of a slice, made interactive by a script, the surface that
 * it draws, and the report as text. Without scripts the figures are the same as in the folder. */
#include "config.h"

#include "base/file.h"
#include "base/json_text.h"
#include "landscape/landscape.h"
#include "page/page.h"
#include "plot/canvas.h"
#include "plot/plot_axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most grid points per side whose values the page has; larger grids are thinned. */
enum { SIDE_MOST = 256, LINE_MOST = 5000, PATH_MOST = 2000 };

static uint64_t stride_of(const ds_slice *s, int axis)
{
    const uint64_t most = s->dims == 1 ? LINE_MOST : SIDE_MOST;
    return (s->count[axis] + most - 1) / most;
}

/* Points taken along an axis; the last one has a shorter distance if the stride does not fit. */
static uint64_t taken(const ds_slice *s, int axis)
{
    return (s->count[axis] - 1) / stride_of(s, axis) + 1;
}

/* Numbers as base64 of floats, row by row from the low end of the second axis. */
static json_t *floats(const ds_landscape *l, const double *value)
{
    const ds_slice *s = &l->slice;
    const uint64_t nx = taken(s, 0), ny = taken(s, 1);
    float *block = malloc((size_t)(nx * ny) * sizeof *block);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    json_t *out = NULL;
    for (uint64_t j = 0; j < ny && block != NULL; j++) {
        for (uint64_t i = 0; i < nx; i++) {
            block[j * nx + i] = (float)value[j * stride_of(s, 1) * s->count[0] + i * stride_of(s, 0)];
        }
    }
    if (f != NULL && block != NULL) {
        ds_put_base64(f, (const unsigned char *)block, (size_t)(nx * ny) * sizeof *block);
    }
    if (f != NULL && fclose(f) == 0 && block != NULL) {
        out = json_stringn(text, size);
    }
    free(text);
    free(block);
    return out;
}

/* Coordinate of the last point taken. */
static double end_of(const ds_slice *s, int axis)
{
    const double step =
        s->count[axis] > 1 ? (s->high[axis] - s->low[axis]) / (double)(s->count[axis] - 1) : 0;
    return s->low[axis] + step * (double)((taken(s, axis) - 1) * stride_of(s, axis));
}

static json_t *axis_of(const ds_slice *s, int axis)
{
    return ds_json_object((const ds_json_entry[]){{"label", ds_json_text(s->label[axis])},
                                                  {"count", ds_json_whole(taken(s, axis))},
                                                  {"low", ds_json_real(s->low[axis])},
                                                  {"high", ds_json_real(end_of(s, axis))},
                                                  {0}});
}

static json_t *path_of(const ds_run_path *t)
{
    const uint64_t stride = (t->count + PATH_MOST - 1) / PATH_MOST;
    double best = INFINITY;
    json_t *point = json_array();
    for (uint64_t i = 0; i < t->count; i++) {
        const int better = t->loss[i] < best;
        best = better ? t->loss[i] : best;
        if (better || i % stride == 0 || i + 1 == t->count) {
            json_t *one = json_array();
            json_array_append_new(one, ds_json_whole(i + 1));
            json_array_append_new(one, ds_json_real(t->c[2 * i]));
            json_array_append_new(one, ds_json_real(t->c[2 * i + 1]));
            json_array_append_new(one, ds_json_real(t->loss[i]));
            json_array_append_new(one, json_integer(better));
            json_array_append_new(point, one);
        }
    }
    return ds_json_object((const ds_json_entry[]){{"title", ds_json_text(t->title)}, {"point", point}, {0}});
}

static json_t *data_of(const ds_landscape *l)
{
    ds_field field;
    double *memory = ds_landscape_field(l, &field), high;
    const int kind = ds_landscape_loss_scale(l, &high);
    json_t *axes = json_array(), *paths = json_array(), *out;
    if (memory == NULL) {
        json_decref(axes);
        json_decref(paths);
        return NULL;
    }
    for (int a = 0; a < l->slice.dims; a++) {
        json_array_append_new(axes, axis_of(&l->slice, a));
    }
    for (size_t i = 0; i < l->trails; i++) {
        json_array_append_new(paths, path_of(&l->trail[i]));
    }
    out = ds_json_object((const ds_json_entry[]){
        {"axes", axes},
        {"log", json_boolean(kind == DS_SCALE_LOG)},
        {"cut", ds_json_real(high)},
        {"loss", floats(l, field.loss)},
        {"g0", l->want_gradient ? floats(l, field.g[0]) : json_null()},
        {"g1", l->want_gradient && l->slice.dims > 1 ? floats(l, field.g[1]) : json_null()},
        {"paths", paths},
        {0}});
    free(memory);
    return out;
}

/* Embeds a figure of the folder, if it exists. */
static void put_picture(const ds_landscape *l, FILE *f, const char *name, const char *about)
{
    char *svg, *png, file[40];
    snprintf(file, sizeof file, "%s.svg", name);
    svg = ds_folder_path(l->session.folder, file);
    snprintf(file, sizeof file, "%s.png", name);
    png = ds_folder_path(l->session.folder, file);
    char *text = NULL;
    size_t size = 0;
    FILE *m = open_memstream(&text, &size);
    /* The SVG of a very rugged slice may exceed the limit; then its PNG is used. */
    const int shown =
        m != NULL && svg != NULL && png != NULL && (ds_html_svg(m, svg, about) || ds_html_png(m, png, about));
    if (m != NULL && fclose(m) == 0 && shown) {
        fprintf(f, "<figure id=%s><div class=o>", name);
        fwrite(text, 1, size, f);
        fputs("</div><figcaption class=s>", f);
        ds_html_text(f, about);
        fputs(": ", f);
        snprintf(file, sizeof file, "%s.svg", name);
        ds_html_link(f, file, "SVG");
        fputs(", ", f);
        snprintf(file, sizeof file, "%s.png", name);
        ds_html_link(f, file, "PNG");
        fputs("</figcaption></figure>\n", f);
    }
    free(text);
    free(svg);
    free(png);
}

/* The text that `dshost landscape` prints. */
static void put_report(const ds_landscape *l, FILE *f)
{
    char *text = NULL;
    size_t size = 0;
    FILE *m = open_memstream(&text, &size);
    if (m != NULL) {
        ds_landscape_print(l, m);
        if (fclose(m) == 0) {
            fputs("<h2>In numbers</h2>\n<pre>", f);
            ds_html_text(f, text);
            fputs("</pre>\n<p class=s>Values of all points: <a href=\"grid.csv\">grid.csv</a>, "
                  "<a href=\"landscape.npz\">landscape.npz</a>; all measures: <a "
                  "href=\"summary.json\">summary.json</a>.</p>\n",
                  f);
        }
    }
    free(text);
}

/* Explains the terms of the report. */
static void put_glossary(FILE *f)
{
    static const char *const word[][2] = {
        {"slice", "the line or plane through the box on which the loss is measured; other variables have the "
                  "values of the centre"},
        {"basin", "grid points from which descending leads to the same minimum. Minima less than 1 % of the "
                  "range deep are not counted. A finer grid may find more basins"},
        {"turns",
         "how often the loss along a line changes between falling and rising, by more than 1 % of its range"},
        {"plateau", "neighbouring points with equal losses: no direction to follow"},
        {"jump", "a difference between neighbours that does not shrink with their distance"},
        {"rugged", "many turns or basins: single descents end in one of many minima"},
        {"trend", "the difference of the loss across grid cells, which a search with large steps follows"},
        {"wrong way", "the gradient points uphill according to the trend"},
        {"cosine, ratio", "angle and size of the gradient compared with the difference quotient of that "
                          "step; both are 1 if they agree"},
        {"exploding", "a gradient far larger than the differences on the slice, as in chaotic motion"},
        {"zero, missing", "the gradient is 0; there is a loss but no gradient"},
    };
    fputs("<h2>Words</h2>\n<dl>\n", f);
    for (size_t k = 0; k < sizeof word / sizeof *word; k++) {
        ds_html_element(f, "dt", word[k][0]);
        ds_html_element(f, "dd", word[k][1]);
    }
    fputs("</dl>\n", f);
}

static int put_page(const ds_landscape *l, FILE *f)
{
    static const char *const *const style[] = {ds_page_page_css, ds_page_figure_css, ds_page_landscape_css,
                                               NULL};
    static const ds_page_script script[] = {{ds_page_figure_js, ds_page_figure_js_sum},
                                            {ds_page_landscape_js, ds_page_landscape_js_sum},
                                            {NULL, NULL}};
    char title[200];
    json_t *data = data_of(l);
    char *json = data != NULL ? json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(data);
    if (json == NULL) {
        return 0;
    }
    snprintf(title, sizeof title, "%.120s: landscape", l->session.env_module->id);
    const ds_page page = {title, style, script};
    ds_page_begin(f, &page);
    fputs("<header>", f);
    ds_html_element(f, "h1", title);
    ds_html_element(f, "p", l->verdict.words);
    if (l->verdict.advice[0] != '\0') {
        fputs("<p><b>Advice:</b> ", f);
        ds_html_text(f, l->verdict.advice);
        fputs("</p>\n", f);
    }
    fputs("</header>\n<main>\n<div id=tools></div>\n", f);
    put_picture(l, f, "landscape", "Loss on the slice");
    put_picture(l, f, "gradient", "Size of the gradient");
    put_picture(l, f, "time", "Gradient through time");
    put_report(l, f);
    put_glossary(f);
    fputs("</main>\n", f);
    ds_page_data(f, "data", json);
    ds_page_end(f, &page);
    free(json);
    return 1;
}

int ds_landscape_page(const ds_landscape *l, ds_error *e)
{
    char *path = ds_folder_path(l->session.folder, "landscape.html"), *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    int good = path != NULL && f != NULL && put_page(l, f);
    good &= f != NULL && !ferror(f);
    good &= f != NULL && fclose(f) == 0;
    const int rc = good ? ds_file_write_atomic(path, text, size, e) : ds_no_memory(e);
    free(path);
    free(text);
    return rc;
}
