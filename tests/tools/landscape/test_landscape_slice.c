/* SPDX-License-Identifier: Apache-2.0 */
/* test_landscape_slice.c - slices through a box: what texts mean, where points are, and the way back. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "landscape/landscape_slice.h"

enum { N = 4 };
static const double lower[N] = {-1, 0, -5, 10}, upper[N] = {1, 2, 5, 30}, start[N] = {0.5, 0.25, 1, 12};

static ds_pool_env env_of(uint64_t n)
{
    ds_pool_env e;
    memset(&e, 0, sizeof e);
    e.info.n = n;
    e.lower = lower;
    e.upper = upper;
    e.x0 = start;
    return e;
}

static ds_slice_text text_of(const char *axes, const char *range, const char *grid)
{
    return (ds_slice_text){axes, "", "", "", range, grid};
}

static int make(ds_slice_text text, uint64_t n, ds_slice *s, const char **key)
{
    ds_slice_plan plan;
    ds_pool_env env = env_of(n);
    ds_error e = {0, ""};
    char why[160] = "";
    *key = "";
    int rc = ds_slice_parse(&text, &plan, key, why);
    rc = rc != 0 ? rc : ds_slice_make(&plan, &text, "toy", &env, 5, s, key, why, &e);
    assert_true(rc != -1 || (why[0] != '\0' && (*key)[0] != '\0'));
    assert_true(rc <= 0 || e.text[0] != '\0');
    return rc;
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        ds_slice_text text;
        const char *key;
    } cases[] = {
        {{"0,1,2", "", "", "", "", ""}, "axes"},
        {{"0,0", "", "", "", "", ""}, "axes"},
        {{"-1", "", "", "", "", ""}, "axes"},
        {{"4", "", "", "", "", ""}, "axes"},
        {{"0,", "", "", "", "", ""}, "axes"},
        {{",", "", "", "", "", ""}, "axes"},
        {{"x", "", "", "", "", ""}, "axes"},
        {{"0;1", "", "", "", "", ""}, "axes"},
        {{"0", "", "", "", "1", ""}, "range"},
        {{"0", "", "", "", "1:1", ""}, "range"},
        {{"0", "", "", "", "0:nan", ""}, "range"},
        {{"0", "", "", "", "0:inf", ""}, "range"},
        {{"0", "", "", "", "0:1,0:1", ""}, "range"},
        {{"0", "", "", "", "-2:1", ""}, "range"},
        {{"0,1", "", "", "", "0:1,0:1,0:1", ""}, "range"},
        {{"0", "", "", "", "", "2"}, "grid"},
        {{"0", "", "", "", "", "5x5"}, "grid"},
        {{"0,1", "", "", "", "", "5x"}, "grid"},
        {{"0,1", "", "", "", "", "5x5x5"}, "grid"},
        {{"0,1", "", "", "", "", "5000x5000"}, "grid"},
        {{"0", "", "", "", "", "1e3"}, "grid"},
        {{"", "start", "", "", "", ""}, "from"},
        {{"", "", "start", "", "", ""}, "to"},
        {{"", "start", "center", "center", "", ""}, "center"},
        {{"", "start", "start", "", "", ""}, "to"},
        {{"0,1", "start", "center", "", "", ""}, "axes"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        ds_slice s;
        const char *key;
        if (make(cases[k].text, N, &s, &key) != -1 || strcmp(key, cases[k].key) != 0) {
            fail_msg("case %zu: key '%s', expected '%s'", k, key, cases[k].key);
        }
    }
    ds_slice s;
    const char *key;
    assert_int_equal(make((ds_slice_text){"0,1", "", "", "/no/such/file", "", ""}, N, &s, &key),
                     DS_EXIT_CONFIG);
    assert_int_equal(make((ds_slice_text){"0,1", "", "", "random:x", "", ""}, N, &s, &key), DS_EXIT_USAGE);
    assert_int_equal(make(text_of("0,1", "", ""), 1, &s, &key), -1);
}

/* Without names there is no such variable; with them a name is its number. */
static void test_names(void **state)
{
    (void)state;
    static const double low[2] = {-1, -1}, high[2] = {1, 1}, x0[2] = {0, 0};
    ds_named_variable names[2];
    ds_pool_env named = {.info = {.n = 2}, .lower = low, .upper = high, .x0 = x0, .variables = names};
    const ds_slice_text text = text_of("push.y,push.x", "", "3x3");
    ds_slice_plan plan;
    ds_slice s;
    const char *key = "";
    char why[160] = "", breach[DS_VARIABLE_WHY];
    ds_error e = {0};
    assert_int_equal(ds_variable_set(&names[0], "push.x", "N", "push", 0, breach), 0);
    assert_int_equal(ds_variable_set(&names[1], "push.y", "", "push", 0, breach), 0);
    assert_int_equal(ds_slice_parse(&text, &plan, &key, why), 0);
    assert_int_equal(ds_slice_make(&plan, &text, "toy", &named, 5, &s, &key, why, &e), 0);
    assert_true(s.variable[0] == 1 && s.variable[1] == 0);
    assert_string_equal(s.label[0], "variable 1: push.y");
    assert_string_equal(s.label[1], "variable 0: push.x [N]");
    ds_slice_free(&s);
    named.variables = NULL;
    assert_int_equal(ds_slice_make(&plan, &text, "toy", &named, 5, &s, &key, why, &e), -1);
    assert_string_equal(key, "axes");
    assert_string_equal(why, "there is no variable 'push.y': the variables of this environment have no names, use numbers");
}

static void test_variables(void **state)
{
    (void)state;
    ds_slice s;
    const char *key;
    double c[2], x[N];
    assert_int_equal(make(text_of("", "", ""), N, &s, &key), 0);
    assert_true(s.dims == 2 && s.count[0] == 101 && s.count[1] == 101);
    ds_slice_free(&s);
    assert_int_equal(make(text_of("", "", ""), 1, &s, &key), 0);
    assert_true(s.dims == 1 && s.count[0] == 1001 && s.count[1] == 1);
    ds_slice_free(&s);
    assert_int_equal(make(text_of("3,1", "", "5x3"), N, &s, &key), 0);
    assert_int_equal(ds_slice_points(&s), 15);
    ds_slice_grid(&s, 14, c);
    assert_true(c[0] >= 30 && c[0] <= 30 && c[1] >= 2 && c[1] <= 2);
    ds_slice_grid(&s, 6, c); /* second column, second row */
    assert_true(fabs(c[0] - 15) < 1e-12 && fabs(c[1] - 1) < 1e-12);
    assert_int_equal(ds_slice_x(&s, c, x), 1);
    assert_true(fabs(x[0] - 0.5) + fabs(x[1] - 1) + fabs(x[2] - 1) + fabs(x[3] - 15) < 1e-12);
    double back[2];
    x[0] = -1; /* off the slice by 1.5 of 2 */
    double distance = ds_slice_project(&s, x, back);
    assert_true(fabs(back[0] - 15) + fabs(back[1] - 1) < 1e-9 && fabs(distance - 0.75 / 2) < 1e-12);
    const double g[N] = {1, 20, 300, 4000};
    ds_slice_gradient(&s, g, c);
    assert_true(fabs(c[0] - 4000) < 1e-9 && fabs(c[1] - 20) < 1e-12);
    c[0] = 31;
    c[1] = 1;
    assert_int_equal(ds_slice_x(&s, c, x), 0);
    ds_slice_free(&s);
}

static void test_line(void **state)
{
    (void)state;
    ds_slice s;
    const char *key;
    double c[2] = {0, 0}, x[N];
    assert_int_equal(make((ds_slice_text){"", "start", "random:3", "", "", "11"}, N, &s, &key), 0);
    assert_true(s.dims == 1 && s.count[0] == 11);
    assert_int_equal(ds_slice_x(&s, c, x), 1);
    assert_memory_equal(x, start, sizeof x);
    ds_slice_free(&s);
    assert_int_equal(make((ds_slice_text){"2", "start", "center", "", "0:1,-1:1", "11"}, N, &s, &key), 0);
    assert_int_equal(s.dims, 2);
    c[0] = 1;
    c[1] = 0.5;
    assert_int_equal(ds_slice_x(&s, c, x), 1);
    assert_true(fabs(x[0]) + fabs(x[1] - 1) + fabs(x[2] - 0.5) + fabs(x[3] - 20) < 1e-12);
    double back[2];
    assert_true(ds_slice_project(&s, x, back) < 1e-12);
    assert_true(fabs(back[0] - 1) + fabs(back[1] - 0.5) < 1e-9);
    ds_slice_free(&s);
}

static void test_random(void **state)
{
    (void)state;
    ds_slice s, t;
    const char *key;
    double x[N], ab = 0;
    ds_slice_text text = {"random,random", "", "", "center", "", "21"};
    assert_int_equal(make(text, N, &s, &key), 0);
    assert_int_equal(make(text, N, &t, &key), 0);
    for (int i = 0; i < N; i++) {
        double w = upper[i] - lower[i];
        ab += s.dir[0][i] / w * (s.dir[1][i] / w);
        assert_true(s.dir[0][i] <= t.dir[0][i] && s.dir[0][i] >= t.dir[0][i]);
    }
    assert_true(fabs(ab) < 1e-12); /* orthogonal in widths of the box */
    int touches = 0;
    for (uint64_t k = 0; k < ds_slice_points(&s); k++) {
        double c[2];
        ds_slice_grid(&s, k, c);
        assert_int_equal(ds_slice_x(&s, c, x), 1); /* the whole square fits */
        for (int i = 0; i < N; i++) {
            touches += x[i] - lower[i] < 1e-9 || upper[i] - x[i] < 1e-9;
        }
    }
    assert_true(touches > 0);
    ds_slice_free(&s);
    ds_slice_free(&t);
}

/* The derivative along a direction is that of the loss along it. */
static void test_gradient(void **state)
{
    (void)state;
    ds_slice s;
    const char *key;
    ds_slice_text text = {"random,1", "", "", "", "", "5"};
    assert_int_equal(make(text, N, &s, &key), 0);
    double c[2] = {0.01, 0.3}, x[N], g[N], out[2];
    for (int a = 0; a < 2; a++) {
        double f[2];
        for (int side = 0; side < 2; side++) {
            double d[2] = {c[0], c[1]};
            d[a] += side == 0 ? -1e-6 : 1e-6;
            assert_int_equal(ds_slice_x(&s, d, x), 1);
            f[side] = 0;
            for (int i = 0; i < N; i++) {
                f[side] += (i + 1) * x[i] * x[i];
            }
        }
        ds_slice_x(&s, c, x);
        for (int i = 0; i < N; i++) {
            g[i] = 2 * (i + 1) * x[i];
        }
        ds_slice_gradient(&s, g, out);
        assert_true(fabs(out[a] - (f[1] - f[0]) / 2e-6) < 1e-6 * fmax(1, fabs(out[a])));
    }
    ds_slice_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused),   cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_variables), cmocka_unit_test(test_line),
                                       cmocka_unit_test(test_random),    cmocka_unit_test(test_gradient)};
    return cmocka_run_group_tests_name("slice", tests, NULL, NULL);
}
