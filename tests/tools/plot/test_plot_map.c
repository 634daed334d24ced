/* SPDX-License-Identifier: Apache-2.0 */
/* test_plot_map.c - contour lines, colour scales, heat maps and panels: geometry, and inputs that are hard to
 * draw. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cairo.h>
#include <math.h>

#include "plot/canvas.h"
#include "plot/plot_map.h"
#include "plot/plot_lines.h"
#include "temporary.h"

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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contour), cmocka_unit_test(test_colors),
                                       cmocka_unit_test(test_map), cmocka_unit_test(test_panels)};
    return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
