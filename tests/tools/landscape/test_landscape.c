/* SPDX-License-Identifier: Apache-2.0 */
/* test_landscape.c - the measures of a landscape on functions whose answers are known. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_verdict.h"

/* A function with its gradient on [-1, 1]^2, or on a line where the second variable is 0. */
typedef double function(double x, double y, double *gx, double *gy);

typedef struct sheet {
    ds_field f;
    double *v;
} sheet;

static sheet make_sheet(function *fun, uint64_t w, uint64_t h)
{
    sheet s;
    uint64_t points = w * h;
    s.v = malloc(4 * points * sizeof(double));
    assert_non_null(s.v);
    for (uint64_t k = 0; k < points; k++) {
        double x = -1 + 2 * (double)(k % w) / (double)(w - 1);
        double y = h > 1 ? -1 + 2 * (double)(k / w) / (double)(h - 1) : 0;
        s.v[k] = fun(x, y, s.v + points + k, s.v + 2 * points + k);
        s.v[3 * points + k] = 2 * hypot(s.v[points + k], s.v[2 * points + k]);
    }
    s.f = (ds_field){h > 1 ? 2 : 1, {w, h}, {2, 2}, s.v, {s.v + points, s.v + 2 * points}, s.v + 3 * points};
    return s;
}

static ds_landscape_measures measure(const sheet *s)
{
    ds_landscape_measures m;
    memset(&m, 0, sizeof m);
    assert_int_equal(ds_measure_loss(&s->f, &m.loss), 0);
    assert_int_equal(ds_measure_basins(&s->f, m.loss.range, &m.basins), 0);
    assert_int_equal(ds_measure_gradient(&s->f, m.loss.range, &m.gradient), 0);
    m.has_gradient = 1;
    return m;
}

static ds_landscape_measures measure_function(function *fun, uint64_t w, uint64_t h)
{
    sheet s = make_sheet(fun, w, h);
    ds_landscape_measures m = measure(&s);
    free(s.v);
    return m;
}

static double bowl(double x, double y, double *gx, double *gy)
{
    *gx = 2 * x;
    *gy = 2 * y;
    return x * x + y * y;
}

static double rastrigin(double x, double y, double *gx, double *gy)
{
    const double pi = acos(-1.0), a = 5 * x, b = 5 * y;
    *gx = 5 * (2 * a + 20 * pi * sin(2 * pi * a));
    *gy = 5 * (2 * b + 20 * pi * sin(2 * pi * b));
    return 20 + a * a - 10 * cos(2 * pi * a) + b * b - 10 * cos(2 * pi * b);
}

static double step(double x, double y, double *gx, double *gy)
{
    (void)y;
    *gx = *gy = 0;
    return x > 0.101 ? 1 : 0;
}

static double ramp(double x, double y, double *gx, double *gy)
{
    (void)y;
    *gx = x > 0 ? 1 : 0;
    *gy = 0;
    return x > 0 ? x : 0;
}

static double wrong(double x, double y, double *gx, double *gy)
{
    double v = bowl(x, y, gx, gy);
    *gx = -*gx;
    *gy = -*gy;
    return v;
}

static double exploding(double x, double y, double *gx, double *gy)
{
    double v = bowl(x, y, gx, gy);
    *gx *= 1e6;
    *gy *= 1e6;
    return v;
}

static double flat(double x, double y, double *gx, double *gy)
{
    (void)x;
    (void)y;
    *gx = *gy = 0;
    return 7;
}

/* Rises within teeth of 0.01, falls by 0.02 from each to the next. */
static double saw(double x, double y, double *gx, double *gy)
{
    (void)y;
    *gx = 1;
    *gy = 0;
    return x - 0.02 * floor(x / 0.01);
}

static void test_spread(void **state)
{
    (void)state;
    double v[] = {5, NAN, 1, 3, INFINITY, 2, 4};
    ds_spread s = ds_spread_of(v, 7);
    assert_int_equal(s.count, 5);
    assert_true(fabs(s.min - 1) + fabs(s.max - 5) + fabs(s.median - 3) < 1e-15);
    assert_true(fabs(s.q10 - 1.4) < 1e-12 && fabs(s.q90 - 4.6) < 1e-12);
    s = ds_spread_of(v, 0);
    assert_true(s.count == 0 && isnan(s.median));
}

static void test_bowl(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(bowl, 101, 101);
    ds_verdict v;
    assert_true(fabs(m.loss.range - 2) < 1e-12 && fabs(m.loss.loss.min) < 1e-15);
    assert_int_equal(m.loss.best, 50 * 101 + 50);
    assert_int_equal(m.basins.minima, 1);
    assert_int_equal(m.basins.basins, 1);
    assert_true(fabs(m.basins.drain - 1) < 1e-15 && isnan(m.basins.second));
    assert_int_equal(m.loss.axis[0].pairs, 100 * 101);
    assert_int_equal(m.loss.axis[0].triples, 99 * 101);
    assert_int_equal(m.loss.axis[0].turns, 101); /* every line turns once */
    assert_true(fabs(m.loss.axis[1].sweeps - 2) < 1e-9);
    assert_int_equal(m.gradient.points, 101 * 101);
    assert_int_equal(m.gradient.zero, 1);
    assert_int_equal(m.gradient.zero_axis[0], 101);
    assert_int_equal(m.gradient.trend.wrong_way, 0);
    /* Central differences of a square are exact. */
    assert_true(m.gradient.trend.cosine.min > 1 - 1e-12);
    assert_true(fabs(m.gradient.trend.ratio.median - 1) < 1e-9);
    /* |g| times the width 2 over the range 2, at a corner. */
    assert_true(fabs(m.gradient.size.max - sqrt(8)) < 1e-12);
    ds_verdict_make(&m, &v);
    assert_string_equal(v.words, "smooth, 1 basin; good gradients");
    assert_non_null(strstr(v.advice, "gradients are good: racer; lbfgsb"));
}

static void test_rastrigin(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(rastrigin, 101, 101);
    ds_verdict v;
    assert_int_equal(m.basins.basins, 121);
    assert_int_equal(m.basins.minima, 121);
    assert_true(m.basins.drain > 0.5 / 121 && m.basins.drain < 2.0 / 121);
    assert_int_equal(m.loss.axis[0].turns, 19 * 101); /* 10 maxima and the 9 minima between them */
    assert_int_equal(m.loss.axis[1].turns, 19 * 101);
    ds_verdict_make(&m, &v);
    assert_string_equal(v.words, "rugged, 121 basins; good gradients");
    assert_non_null(
        strstr(v.advice, "lead to one of 121 basins: racer or leaprefine, which leap between them; "));
    m.n = 401; /* racer leaps up to 400 variables */
    ds_verdict_make(&m, &v);
    assert_non_null(strstr(v.advice, "121 basins: leaprefine, which leaps between them; not lbfgsb alone"));
    m.n = 5001; /* and leaprefine refuses more than 5000 */
    ds_verdict_make(&m, &v);
    assert_non_null(
        strstr(v.advice, "121 basins: racer, which restarts from many places; not lbfgsb alone"));
    m.n = 2;
    m = measure_function(rastrigin, 1001, 1);
    assert_int_equal(m.basins.basins, 11);
    assert_int_equal(m.loss.axis[0].turns, 19); /* whatever the spacing */
    /* The derivative changes its sign at 11 minima and 10 maxima, of which x = 0 is a grid point. */
    assert_true(m.gradient.turns >= 20 && m.gradient.turns <= 21);
}

/* Two wells of which the second one is `depth` deep below the wall between them, of range 1. */
static double wells_depth;
static double wells(double x, double y, double *gx, double *gy)
{
    (void)y;
    *gx = *gy = NAN;
    return x < -0.5  ? -1 - 2 * x
           : x < 0   ? 2 * (x + 0.5)
           : x < 0.5 ? 1 - 2 * wells_depth * x
                     : 1 - wells_depth + 2 * wells_depth * (x - 0.5);
}

static void test_depth(void **state)
{
    (void)state;
    wells_depth = 0.005;
    ds_landscape_measures m = measure_function(wells, 201, 1);
    assert_int_equal(m.basins.minima, 2);
    assert_int_equal(m.basins.basins, 1);
    assert_int_equal(m.loss.axis[0].turns, 1);
    assert_true(fabs(m.basins.drain - 1) < 1e-15);
    wells_depth = 0.02;
    m = measure_function(wells, 201, 1);
    assert_int_equal(m.basins.basins, 2);
    assert_int_equal(m.loss.axis[0].turns, 3);
    assert_true(fabs(m.basins.second - 0.98) < 1e-9);
    assert_int_equal(m.gradient.points, 0);
    assert_int_equal(m.gradient.missing, 201);
}

static void test_step(void **state)
{
    (void)state;
    sheet s = make_sheet(step, 101, 51);
    ds_landscape_measures m = measure(&s);
    ds_pair pair[60];
    ds_verdict v;
    assert_int_equal(m.loss.axis[0].steep, 51);
    assert_int_equal(m.loss.axis[1].steep, 0);
    assert_int_equal(m.loss.axis[0].equal, 99 * 51);
    assert_int_equal(m.loss.steep_cells, 50);
    assert_int_equal(m.loss.cells, 100 * 50);
    assert_int_equal(ds_measure_steep(&s.f, 1, pair, 60), 51);
    for (int k = 0; k < 51; k++) {
        assert_int_equal(pair[k].axis, 0);
        assert_int_equal(pair[k].point, k * 101 + 55); /* 0.1; the next one is 0.12 */
    }
    assert_int_equal(ds_measure_steep(&s.f, 1, pair, 10), 10);
    assert_true(pair[0].point / 101 < 6 && pair[9].point / 101 > 44); /* from all over */
    m.jump = (ds_jump_measure){51, m.loss.axis[0].pairs + m.loss.axis[1].pairs, 10, 10};
    ds_verdict_make(&m, &v);
    assert_true(v.jumps && v.plateaus && v.zero && v.rugged == 0);
    assert_string_equal(v.shape, "1 basin, with plateaus and jumps");
    assert_non_null(strstr(v.advice, "gradients vanish at 100 % of the points"));
    m.jump.tested = m.jump.jumps = 0;
    ds_verdict_make(&m, &v);
    assert_true(!v.jumps && isnan(v.jump_share));
    assert_string_equal(v.shape, "1 basin, with plateaus, jumps not tested");
    assert_non_null(strstr(v.advice, "not adam"));
    free(s.v);
}

static void test_plateau(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(ramp, 101, 1);
    assert_int_equal(m.loss.axis[0].equal, 50);
    assert_int_equal(m.gradient.zero, 51);
    assert_int_equal(m.basins.minima, 1);
    assert_int_equal(m.gradient.trend.blind, 1); /* at 0 the trend rises, the gradient does not */
}

static void test_wrong_way(void **state)
{
    (void)state;
    sheet s = make_sheet(wrong, 21, 21);
    ds_landscape_measures m = measure(&s);
    ds_verdict v;
    /* All interior points but the middle. */
    assert_int_equal(m.gradient.trend.compared, 19 * 19 - 1);
    assert_int_equal(m.gradient.trend.wrong_way, 19 * 19 - 1);
    assert_true(m.gradient.trend.cosine.max < -1 + 1e-12);
    assert_int_equal(m.gradient.trend.wrong_sign, m.gradient.trend.signs);
    assert_true(ds_wrong_way(&s.f, m.loss.range, 21 * 5 + 3));
    assert_false(ds_wrong_way(&s.f, m.loss.range, 21 * 10 + 10));
    ds_verdict_make(&m, &v);
    assert_int_equal(v.wrong_way, 2);
    assert_non_null(strstr(v.advice, "the wrong way at 100 %"));
    assert_non_null(
        strstr(v.advice, ": racer or leaprefine, which average them over samples, or cmaes; not lbfgsb"));
    m.n = 5000;
    ds_verdict_make(&m, &v);
    assert_non_null(strstr(v.advice, ": leaprefine, which averages them over samples, or cmaes; not lbfgsb"));
    m.n = 5001;
    ds_verdict_make(&m, &v);
    assert_non_null(strstr(v.advice, ": alphaorder, which averages them over samples, or cmaes with"));
    free(s.v);
    m = measure_function(saw, 101, 1);
    assert_int_equal(m.gradient.trend.wrong_way, m.gradient.trend.compared);
    assert_int_equal(m.gradient.trend.compared, 99);
}

static void test_exploding(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(exploding, 21, 21);
    ds_verdict v;
    assert_int_equal(m.gradient.exploding, 21 * 21 - 1);
    assert_true(m.gradient.trend.ratio.median > 0.99e6 && m.gradient.trend.ratio.median < 1.01e6);
    ds_verdict_make(&m, &v);
    assert_true(v.exploding && !v.wrong_way && !v.zero);
    assert_non_null(strstr(v.advice, "gradients are huge in places"));
    m = measure_function(bowl, 21, 21);
    assert_int_equal(m.gradient.exploding, 0);
}

static void test_flat(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(flat, 9, 9);
    ds_verdict v;
    ds_verdict_make(&m, &v);
    assert_true(v.constant);
    assert_string_equal(v.words, "constant; zero gradients");
    assert_string_equal(v.advice, "");
    assert_int_equal(m.basins.basins, 1);
}

/* A gradient that the loss does not have. */
static double drift(double x, double y, double *gx, double *gy)
{
    flat(x, y, gx, gy);
    *gx = 1e-3;
    return x > 0 ? 7 : 7 + 1e-15; /* rounding */
}

static void test_constant(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(drift, 9, 9);
    ds_verdict v;
    assert_int_equal(m.gradient.exploding, 0);
    ds_verdict_make(&m, &v);
    assert_true(v.constant && !v.exploding);
    assert_string_equal(v.words, "constant; gradients not zero");
}

/* Failed points cut the line in two. */
static double hole(double x, double y, double *gx, double *gy)
{
    double v = bowl(x, y, gx, gy);
    return fabs(x) < 0.3 ? (double)NAN : v;
}

static void test_missing(void **state)
{
    (void)state;
    ds_landscape_measures m = measure_function(hole, 101, 101);
    assert_int_equal(m.basins.basins, 2);
    assert_true(fabs(m.basins.drain - 0.5) < 1e-12);
    assert_true(fabs(m.basins.second) < 1e-12);
    assert_true(m.loss.with_loss == 101 * (101 - 29));
    ds_verdict v;
    ds_verdict_make(&m, &v);
    assert_non_null(strstr(v.words, ", no loss at 29 %; "));
    m.outside = 101 * 29; /* what is not in the box is not missing */
    ds_verdict_make(&m, &v);
    assert_null(strstr(v.words, "no loss"));
    m = measure_function(bowl, 21, 21); /* one point of the slice, or of the box, is enough for a word */
    m.gradient.missing = 1;
    ds_verdict_make(&m, &v);
    assert_string_equal(v.gradients, "gradients missing in places");
    assert_non_null(strstr(v.advice, "gradients are good"));
    m.gradient.missing = 0;
    m.box = (ds_box_measure){.points = 50, .with_loss = 40, .missing = 1};
    ds_verdict_make(&m, &v);
    assert_string_equal(v.gradients, "gradients missing in places");
    assert_true(v.missing_share == 1.0 / 40);
    assert_non_null(strstr(v.advice, "gradients are missing in places: racer"));
    m.has_gradient = 0;
    m.not_measured = 1;
    ds_verdict_make(&m, &v);
    assert_non_null(strstr(v.words, "; gradients not measured"));
    assert_string_equal(v.advice, ""); /* who has not looked cannot say */
    m.not_measured = 0;
    ds_verdict_make(&m, &v);
    assert_non_null(strstr(v.advice, "there are no gradients: racer or cmaes"));
    m.not_measured = 1;
    sheet s = make_sheet(bowl, 5, 5);
    for (int k = 0; k < 25; k++) {
        s.v[k] = NAN;
    }
    m = measure(&s);
    ds_verdict_make(&m, &v);
    assert_string_equal(v.words, "no loss anywhere");
    assert_int_equal(m.basins.basins, 0);
    free(s.v);
}

/* A share of the points, chosen by a hash, has no loss. */
static void punch(sheet *s, uint64_t points, uint32_t percent)
{
    for (uint64_t k = 0; k < points; k++) {
        uint64_t h = (k + 1) * 0x9e3779b97f4a7c15u;
        h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
        s->v[k] = (h >> 32) % 100 < percent ? (double)NAN : s->v[k];
    }
}

/* A hole in the data is no ridge, and does not hide one. */
static void test_holes(void **state)
{
    (void)state;
    static const uint64_t sides[][2] = {{21, 21}, {101, 101}, {1001, 1}};
    for (int k = 0; k < 3; k++) {
        sheet s = make_sheet(bowl, sides[k][0], sides[k][1]);
        punch(&s, sides[k][0] * sides[k][1], 60);
        ds_landscape_measures m = measure(&s);
        ds_verdict v;
        assert_true(m.loss.with_loss > 0 && m.loss.with_loss < sides[k][0] * sides[k][1] / 2);
        assert_int_equal(m.basins.basins, 1);
        assert_true(m.basins.drain > 0.99);
        ds_verdict_make(&m, &v);
        assert_true(v.rugged == 0 && strstr(v.advice, "gradients are good") != NULL);
        free(s.v);
    }
    wells_depth = 0.5;
    sheet s = make_sheet(wells, 201, 1);
    punch(&s, 201, 60);
    assert_int_equal(measure(&s).basins.basins, 2);
    free(s.v);
    s = make_sheet(rastrigin, 101, 101);
    punch(&s, (uint64_t)101 * 101, 10);
    const uint64_t basins = measure(&s).basins.basins;
    assert_true(basins > 100 && basins < 140);
    free(s.v);
}

/* ---- finite differences ---- */

enum { SAMPLES = 40, STEPS = 4 };
static const double steps[STEPS] = {1e-3, 1e-4, 1e-5, 1e-6};

/* Samples of a function at points of [-1, 1]^2. */
static ds_quality_measure quality_of(function *fun, int dims, double range, const double *step)
{
    double loss[SAMPLES], g[2 * SAMPLES], d[2 * SAMPLES * STEPS], none[2];
    ds_quality_measure q;
    for (int m = 0; m < SAMPLES; m++) {
        double x = -0.9 + 1.8 * m / SAMPLES + 0.0123, y = dims > 1 ? 0.7 * cos(m) : 0;
        loss[m] = fun(x, y, g + 2 * m, g + 2 * m + 1);
        g[2 * m] *= 2;
        g[2 * m + 1] *= dims > 1 ? 2 : 0;
        for (int k = 0; k < STEPS; k++) {
            double h = 2 * step[k], *to = d + 2 * (m * STEPS + k);
            to[0] = (fun(x + h, y, none, none + 1) - fun(x - h, y, none, none + 1)) / h;
            to[1] = dims > 1 ? (fun(x, y + h, none, none + 1) - fun(x, y - h, none, none + 1)) / h : 0;
        }
    }
    ds_samples s = {dims, SAMPLES, STEPS, step, loss, g, d};
    assert_int_equal(ds_measure_quality(&s, range, &q), 0);
    return q;
}

static ds_quality_measure quality(function *fun, int dims, double range)
{
    return quality_of(fun, dims, range, steps);
}

/* A small slope on a large loss, and a gradient of the wrong sign. */
static double raised(double x, double y, double *gx, double *gy)
{
    (void)y;
    *gx = -0.3 * cos(3 * x);
    *gy = 0;
    return 1000 + 0.1 * sin(3 * x);
}

/* Noise at every step: no two differences agree. */
static double noisy(double x, double y, double *gx, double *gy)
{
    (void)y;
    *gx = *gy = 0;
    return sin(1e9 * x) + 0.5 * sin(3.7e8 * x * x);
}

static void test_quality(void **state)
{
    (void)state;
    for (int dims = 1; dims <= 2; dims++) {
        ds_quality_measure q = quality(rastrigin, dims, 80);
        assert_int_equal(q.judged, SAMPLES);
        assert_int_equal(q.converged, SAMPLES);
        assert_int_equal(q.exact, SAMPLES);
        assert_int_equal(q.opposite, 0);
        assert_true(q.error.max < 1e-4);
        assert_true(q.at[2].cosine.min > 1 - 1e-6 && fabs(q.at[2].ratio.median - 1) < 1e-6);
        q = quality(wrong, dims, 2);
        assert_int_equal(q.converged, SAMPLES);
        assert_int_equal(q.exact, 0);
        assert_int_equal(q.opposite, SAMPLES);
        assert_int_equal(q.at[0].wrong_way, SAMPLES);
        q = quality(exploding, dims, 2);
        assert_int_equal(q.exact, 0);
        assert_int_equal(q.opposite, 0);
        q = quality(flat, dims, 0);
        assert_int_equal(q.exact, SAMPLES);
    }
    /* The finest difference is all round-off: what counts is that of the one which was believed. */
    static const double too_fine[STEPS] = {1e-3, 1e-4, 1e-5, 1e-12};
    ds_quality_measure q = quality_of(raised, 1, 0.2, too_fine);
    assert_true(q.converged > SAMPLES / 2);
    assert_int_equal(q.exact, 0);
    assert_int_equal(q.opposite, q.converged);
    q = quality(noisy, 1, 3);
    assert_int_equal(q.judged, SAMPLES);
    assert_true(q.converged <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),    cmocka_unit_test(test_bowl),      cmocka_unit_test(test_rastrigin),
        cmocka_unit_test(test_depth),     cmocka_unit_test(test_step),      cmocka_unit_test(test_plateau),
        cmocka_unit_test(test_wrong_way), cmocka_unit_test(test_exploding), cmocka_unit_test(test_flat),
        cmocka_unit_test(test_constant),  cmocka_unit_test(test_missing),   cmocka_unit_test(test_holes),
        cmocka_unit_test(test_quality)};
    return cmocka_run_group_tests_name("landscape", tests, NULL, NULL);
}
