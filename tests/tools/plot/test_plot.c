/* SPDX-License-Identifier: Apache-2.0 */
/* test_plot.c - figures of many groups and lines, contour lines, colour scales, heat maps and panels:
 * geometry, and values that are hard to draw. */
#include "config.h"

#include "base/file.h"
#include "plot/canvas.h"
#include "plot/plot_axes.h"
#include "plot/plot_lines.h"
#include "plot/plot_map.h"
#include "temporary.h"
#include "test.h"

#include <cairo.h>
#include <unistd.h>

/* ---- groups and lines ---- */

enum { MANY = 28 };

static temporary place;
static char figure_path[500];
static int how_steps;

/* The figure as text; to be freed. */
static char *text_of_file(void)
{
    void *data = NULL;
    size_t size = 0;
    ds_error e = {0, ""};
    assert_int_equal(ds_file_read(figure_path, 1 << 20, &data, &size, DS_EXIT_IO, &e), 0);
    assert_int_equal(unlink(figure_path), 0);
    return data;
}

static void expect(const char *figure, const char *text, int wanted)
{
    if ((strstr(figure, text) != NULL) != wanted) {
        fail_msg("'%s' is %s", text, wanted ? "missing" : "there");
    }
}

static char *lines(const double *y, size_t count, size_t how_many)
{
    static const double x[] = {1, 10, 100};
    static char name[MANY][32];
    ds_line line[MANY];
    ds_error e = {0, ""};
    for (size_t k = 0; k < how_many; k++) {
        snprintf(name[k], sizeof name[k], "method%zu", k);
        line[k] = (ds_line){.name = name[k],
                            .color = {0, 0, 0, 1},
                            .x = x,
                            .y = y,
                            .count = count,
                            .dashed = (int)(k / 8) % DS_LINE_STYLES};
    }
    const ds_lines p = {"title", "subtitle", "x",  "y",      DS_SCALE_LOG, DS_SCALE_LOG,
                        NAN,     NAN,        line, how_many, NULL,         how_steps};
    assert_int_equal(ds_plot_lines(NULL, figure_path, &p, &e), 0);
    return text_of_file();
}

static char *groups(const double *value, size_t how_many, const char *name)
{
    static char names[MANY][64];
    ds_group group[MANY];
    ds_error e = {0, ""};
    for (size_t k = 0; k < how_many; k++) {
        snprintf(names[k], sizeof names[k], "%s%zu", name, k);
        group[k] = (ds_group){names[k], {0, 0, 0, 1}, 1, value[k], NAN, NAN, NULL, 0};
    }
    const ds_groups p = {"title", "subtitle", "loss", 1, NAN, group, how_many, NULL};
    assert_int_equal(ds_plot_groups(NULL, figure_path, &p, &e), 0);
    return text_of_file();
}

static void legends_have_all_lines(void **state)
{
    const double y[] = {3, 2, 1};
    char *figure = lines(y, 3, MANY);
    for (int k = 0; k < MANY; k++) {
        char text[40];
        snprintf(text, sizeof text, ">method%d<", k);
        expect(figure, text, 1);
    }
    expect(figure, "dasharray", 1);
    free(figure);
}

static void zeros_leave_an_axis_logarithmic(void **state)
{
    const double y[] = {1000, 0.01, 0}, below[] = {1000, 0.01, -1}, nothing[] = {0, 0, 0};
    char *figure = lines(y, 3, 1);
    expect(figure, ">0.1<", 1);
    free(figure);
    figure = lines(below, 3, 1);
    expect(figure, ">0.1<", 0);
    free(figure);
    figure = lines(nothing, 3, 1);
    expect(figure, "nothing to draw", 0);
    free(figure);
    figure = groups(y, 3, "m");
    expect(figure, "logarithmic axis", 1);
    free(figure);
    figure = groups(below, 3, "m");
    expect(figure, "logarithmic axis", 0);
    free(figure);
}

static void rows_have_room_for_all(void **state)
{
    double value[MANY];
    for (int k = 0; k < MANY; k++) {
        value[k] = 1.234567 + k;
    }
    char *figure = groups(value, MANY, "longername");
    expect(figure, ">longername27<", 1);
    expect(figure, ">1.235<", 1);
    expect(figure, "rotate(", 0);
    free(figure);
    figure = groups(value, MANY, "a_name_that_is_longer_than_the_margin_has_room");
    expect(figure, "...", 1);
    free(figure);
}

/* Values that are close together fill the axis, which does not begin at 0. */
static void axes_fit_the_values(void **state)
{
    const double value[] = {0.912, 0.913, 0.915};
    char *figure = groups(value, 3, "m");
    expect(figure, ">0.912<", 1);
    expect(figure, ">0<", 0);
    free(figure);
}

/* The best loss so far is constant until it falls. */
static void stairs_are_no_slopes(void **state)
{
    const double y[] = {3, 2, 1};
    double last[2] = {0, 0};
    int slopes = 0, corners = 0;
    how_steps = 1;
    char *figure = lines(y, 3, 1);
    how_steps = 0;
    const char *at = strstr(figure, "stroke-width=\"2.4\"");
    assert_non_null(at);
    while (strncmp(at, "<polyline points=\"", strlen("<polyline points=\"")) != 0) {
        at--;
    }
    for (at += strlen("<polyline points=\""); *at != '"'; corners++) {
        char *end;
        const double px = strtod(at, &end), py = strtod(end + 1, &end);
        slopes += corners > 0 && fabs(px - last[0]) > 0.01 && fabs(py - last[1]) > 0.01;
        last[0] = px;
        last[1] = py;
        at = end + (*end == ' ');
    }
    if (corners != 5 || slopes != 0) {
        fail_msg("%d corners, %d slopes: %.300s", corners, slopes, strstr(figure, "polyline points"));
    }
    free(figure);
}

static void says_when_there_is_nothing(void **state)
{
    const double value[] = {INFINITY, INFINITY, NAN};
    char *figure = groups(value, 3, "m");
    expect(figure, "nothing to draw", 1);
    free(figure);
    figure = lines(value, 3, 1);
    expect(figure, "nothing to draw", 1);
    free(figure);
}

static int set_up(void **state)
{
    temporary_open(&place);
    snprintf(figure_path, sizeof figure_path, "%s/figure.svg", place.folder);
    return 0;
}

static int tear_down(void **state)
{
    return rmdir(place.folder);
}

/* ---- maps ---- */

/* ---- contours ---- */

typedef struct tally {
    int count, closed;
    double length, worst; /* largest distance from a circle about (20, 20) with radius 10 */
} tally;

static void collect(void *ctx, const double *xy, size_t n)
{
    tally *l = ctx;
    assert_true(n >= 2);
    l->count++;
    l->closed += hypot(xy[0] - xy[2 * n - 2], xy[1] - xy[2 * n - 1]) < 1e-12;
    for (size_t k = 0; k < n; k++) {
        l->worst = fmax(l->worst, fabs(hypot(xy[2 * k] - 20, xy[2 * k + 1] - 20) - 10));
        if (k > 0) {
            l->length += hypot(xy[2 * k] - xy[2 * k - 2], xy[2 * k + 1] - xy[2 * k - 1]);
        }
    }
}

static void test_contour(void **state)
{
    enum { SIDE = 41 };
    double v[SIDE * SIDE];
    tally l = {0, 0, 0, 0};
    for (int k = 0; k < SIDE * SIDE; k++) {
        v[k] = hypot(k % SIDE - 20, k / SIDE - 20);
    }
    assert_int_equal(ds_contour(v, SIDE, SIDE, 10, collect, &l), 0);
    assert_true(l.count == 1 && l.closed == 1);
    assert_true(l.worst < 0.02 && fabs(l.length - 20 * acos(-1.0)) < 0.1);
    /* Open lines at the edge: a plane. */
    for (int k = 0; k < SIDE * SIDE; k++) {
        v[k] = k % SIDE;
    }
    l = (tally){0, 0, 0, 0};
    assert_int_equal(ds_contour(v, SIDE, SIDE, 7.25, collect, &l), 0);
    assert_true(l.count == 1 && l.closed == 0 && fabs(l.length - 40) < 1e-9);
    /* A missing value cuts it. */
    v[20 * SIDE + 7] = NAN;
    l = (tally){0, 0, 0, 0};
    assert_int_equal(ds_contour(v, SIDE, SIDE, 7.25, collect, &l), 0);
    assert_true(l.count == 2 && fabs(l.length - 38) < 1e-9);
    /* A saddle: two lines that do not cross. */
    const double saddle[4] = {1, 0, 0, 1};
    l = (tally){0, 0, 0, 0};
    assert_int_equal(ds_contour(saddle, 2, 2, 0.6, collect, &l), 0);
    assert_true(l.count == 2 && fabs(l.length - 2 * 0.4 * sqrt(2)) < 1e-12);
    assert_int_equal(ds_contour(v, SIDE, SIDE, 1e9, collect, &l), 0);
    assert_int_equal(l.count, 2);
}

static void test_colors(void **state)
{
    assert_int_equal(ds_color_pixel(ds_color_viridis(0)), 0x440154);
    assert_int_equal(ds_color_pixel(ds_color_viridis(1)), 0xfde725);
    assert_int_equal(ds_color_pixel(ds_color_viridis(-3)), 0x440154);
    assert_int_equal(ds_color_pixel(ds_color_viridis(NAN)), 0x440154);
    double before = -1;
    for (int k = 0; k <= 100; k++) { /* it gets lighter all the way */
        ds_color c = ds_color_viridis(k / 100.0);
        double light = 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b;
        assert_true(light > before - 1e-3);
        before = light;
    }
}

/* ---- pictures ---- */

/* The colour of one pixel of a PNG. */
static uint32_t pixel(const char *path, int x, int y)
{
    cairo_surface_t *s = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(s), CAIRO_STATUS_SUCCESS);
    const unsigned char *p = cairo_image_surface_get_data(s);
    p += (ptrdiff_t)y * cairo_image_surface_get_stride(s) + (ptrdiff_t)4 * x;
    uint32_t v = (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
    cairo_surface_destroy(s);
    return v;
}

static void write_map(const ds_map *m, temporary *t)
{
    char png[512];
    ds_error e = {0, ""};
    snprintf(png, sizeof png, "%s", temporary_path(t, "m.png"));
    assert_int_equal(ds_plot_map(png, temporary_path(t, "m.svg"), m, &e), 0);
    size_t len;
    unsigned char *svg = temporary_read(temporary_path(t, "m.svg"), &len);
    assert_memory_equal(svg, "<?xml", 5);
    assert_non_null(strstr((char *)svg, "</svg>"));
    assert_non_null(strstr((char *)svg, "data:image/png;base64,iVBORw0KGgo"));
    assert_null(strstr((char *)svg, "nan"));
    free(svg);
}

static void test_map(void **state)
{
    enum { W = 31, H = 11 };
    temporary t;
    double v[W * H], dx[W * H], dy[W * H];
    uint8_t cell[W * H], marked[W * H];
    temporary_open(&t);
    for (int k = 0; k < W * H; k++) {
        v[k] = k % W;
        dx[k] = k % W == 3 ? 0 : k % 7 - 3;
        dy[k] = k % 5 == 0 ? (double)NAN : 1e300;
        cell[k] = k / W > 8 ? DS_CELL_FAILED : k % W > 28 ? DS_CELL_OUTSIDE : DS_CELL_VALUE;
        marked[k] = k % 2;
    }
    const double way[] = {0, 0, 1, 1, 50, -50, NAN, NAN};
    const double weight[] = {0, 0.5, 1, 1};
    ds_map_path path = {"a run", way, 4, weight, NULL, ds_color_series(5, 1)};
    static const char *const lines[] = {"*Bold", "name\tvalue", "", "only <&> text"};
    ds_map m = {.title = "t",
                .subtitle = "s",
                .x_label = "x",
                .y_label = "y",
                .value_label = "v",
                .columns = W,
                .rows = H,
                .x_low = -1,
                .x_high = 1,
                .y_low = 0,
                .y_high = 5,
                .value = v,
                .cell = cell,
                .low = NAN,
                .high = NAN,
                .contours = 8,
                .dx = dx,
                .dy = dy,
                .marked = marked,
                .path = &path,
                .paths = 1,
                .best = {0, 1},
                .line = lines,
                .lines = 4};
    write_map(&m, &t);
    m.dx = m.dy = NULL;
    write_map(&m, &t);
    /* Without anything on it the colours are those of the values: low at the left, high at the right. */
    m.marked = NULL;
    m.cell = NULL;
    m.contours = m.paths = 0;
    m.best[0] = NAN;
    write_map(&m, &t);
    assert_int_equal(pixel(temporary_path(&t, "m.png"), 113, 400), 0x440154);
    assert_int_equal(pixel(temporary_path(&t, "m.png"), 747, 400), 0xfde725);
    for (int kind = 0; kind < 5; kind++) { /* nothing to scale by */
        for (int k = 0; k < W * H; k++) {
            v[k] = kind == 0   ? (double)NAN
                   : kind == 1 ? 3
                   : kind == 2 ? 0
                   : kind == 3 ? 1e308 * (k % 2 - 0.5)
                               : -5;
        }
        m.kind = kind == 4 ? DS_SCALE_LOG : DS_SCALE_LINEAR;
        m.contours = 5;
        write_map(&m, &t);
    }
    temporary_close(&t);
}

static void test_panels(void **state)
{
    temporary t;
    double x[50], y[50], none[50];
    ds_error e = {0, ""};
    temporary_open(&t);
    for (int k = 0; k < 50; k++) {
        x[k] = k;
        y[k] = k % 10 == 0 ? (double)NAN : k * sin(k);
        none[k] = NAN;
    }
    ds_color blue = ds_color_series(0, 1);
    ds_panels g = {.title = "t", .subtitle = "s", .x_label = "x", .x_low = 0, .x_high = 49, .count = 3};
    g.panel[0] = (ds_panel){"a", DS_SCALE_LINEAR, 1, NAN, NAN, {{"y", x, y, 50, blue, DS_CURVE_LINE, 2}}, 1};
    g.panel[1] =
        (ds_panel){"b", DS_SCALE_SYMLOG, 0.1, NAN, NAN, {{"y", x, y, 50, blue, DS_CURVE_DOTS, 3}}, 1};
    g.panel[2] =
        (ds_panel){"c", DS_SCALE_LINEAR, 1, NAN, NAN, {{"y", x, none, 50, blue, DS_CURVE_LINE, 2}}, 1};
    double low, high;
    assert_true(ds_panel_range(&g.panel[0], &low, &high) && low < -40 && high > 30);
    assert_false(ds_panel_range(&g.panel[2], &low, &high));
    char png[512];
    snprintf(png, sizeof png, "%s", temporary_path(&t, "p.png"));
    assert_int_equal(ds_plot_panels(png, temporary_path(&t, "p.svg"), &g, &e), 0);
    assert_int_equal(ds_plot_panels("/no/such/folder/p.png", NULL, &g, &e), DS_EXIT_IO);
    temporary_close(&t);
}

RUN_TESTS_WITH(set_up, tear_down, legends_have_all_lines, zeros_leave_an_axis_logarithmic,
               rows_have_room_for_all, axes_fit_the_values, stairs_are_no_slopes, says_when_there_is_nothing,
               test_contour, test_colors, test_map, test_panels)
