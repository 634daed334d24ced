/* SPDX-License-Identifier: Apache-2.0 */
/* test_plot_groups.c - figures of many groups and lines, and of values that a
 * logarithmic axis has no place for. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "plot/plot_lines.h"
#include "plot/plot_axes.h"
#include "temporary.h"

enum { MANY = 28 };

static temporary place;
static char path[500];
static int how_steps;

/* The figure as text; to be freed. */
static char *text_of_file(void)
{
    void *data = NULL;
    size_t size = 0;
    ds_error e = {0, ""};
    assert_int_equal(ds_file_read(path, 1 << 20, &data, &size, DS_EXIT_IO, &e), 0);
    assert_int_equal(unlink(path), 0);
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
    assert_int_equal(ds_plot_lines(NULL, path, &p, &e), 0);
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
    assert_int_equal(ds_plot_groups(NULL, path, &p, &e), 0);
    return text_of_file();
}

static void legends_have_all_lines(void **state)
{
    const double y[] = {3, 2, 1};
    (void)state;
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
    (void)state;
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
    (void)state;
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

/* Values that lie close together fill the axis: it does not begin at 0. */
static void axes_fit_the_values(void **state)
{
    const double value[] = {0.912, 0.913, 0.915};
    (void)state;
    char *figure = groups(value, 3, "m");
    expect(figure, ">0.912<", 1);
    expect(figure, ">0<", 0);
    free(figure);
}

/* The best loss so far holds until it falls. */
static void stairs_are_no_slopes(void **state)
{
    const double y[] = {3, 2, 1};
    double last[2] = {0, 0};
    int slopes = 0, corners = 0;
    (void)state;
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
    (void)state;
    char *figure = groups(value, 3, "m");
    expect(figure, "nothing to draw", 1);
    free(figure);
    figure = lines(value, 3, 1);
    expect(figure, "nothing to draw", 1);
    free(figure);
}

static int set_up(void **state)
{
    (void)state;
    temporary_open(&place);
    snprintf(path, sizeof path, "%s/figure.svg", place.folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(place.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legends_have_all_lines), cmocka_unit_test(zeros_leave_an_axis_logarithmic),
        cmocka_unit_test(rows_have_room_for_all), cmocka_unit_test(axes_fit_the_values),
        cmocka_unit_test(stairs_are_no_slopes),   cmocka_unit_test(says_when_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
