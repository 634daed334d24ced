/* SPDX-License-Identifier: Apache-2.0 */
/* test_landscape.c - the measures of a landscape on functions with known results, and slices through a box:
 * the meaning of texts, positions of points, and the way back. */
#include "config.h"

#include "landscape/landscape_slice.h"
#include "landscape/landscape_verdict.h"
#include "test.h"

/* ---- measures ---- */

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
    *gx = *gy = 0;
    return x > 0.101 ? 1 : 0;
}

static double ramp(double x, double y, double *gx, double *gy)
{
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
    *gx = *gy = 0;
    return 7;
}

/* Rises within teeth of 0.01, falls by 0.02 from each to the next. */
static double saw(double x, double y, double *gx, double *gy)
{
    *gx = 1;
    *gy = 0;
    return x - 0.02 * floor(x / 0.01);
}

static void test_spread(void **state)
{
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
    assert_non_null(strstr(v.advice, "121 basins: racer, which restarts from many places; not lbfgsb alone"));
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
    *gx = *gy = NAN;
    return x < -0.5  ? -1 - 2 * x
           : x < 0   ? 2 * (x + 0.5)
           : x < 0.5 ? 1 - 2 * wells_depth * x
                     : 1 - wells_depth + 2 * wells_depth * (x - 0.5);
}

static void test_depth(void **state)
{
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
    assert_true(pair[0].point / 101 < 6 && pair[9].point / 101 > 44); /* from all parts of the grid */
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
    ds_landscape_measures m = measure_function(ramp, 101, 1);
    assert_int_equal(m.loss.axis[0].equal, 50);
    assert_int_equal(m.gradient.zero, 51);
    assert_int_equal(m.basins.minima, 1);
    assert_int_equal(m.gradient.trend.blind, 1); /* at 0 the trend rises, the gradient does not */
}

static void test_wrong_way(void **state)
{
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
    assert_string_equal(v.advice, ""); /* without an evaluation there is no verdict */
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
    *gx = -0.3 * cos(3 * x);
    *gy = 0;
    return 1000 + 0.1 * sin(3 * x);
}

/* Noise at every step: no two differences agree. */
static double noisy(double x, double y, double *gx, double *gy)
{
    *gx = *gy = 0;
    return sin(1e9 * x) + 0.5 * sin(3.7e8 * x * x);
}

static void test_quality(void **state)
{
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

/* ---- slices ---- */

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

/* Without names a variable has only its number; with names both are accepted. */
static void test_names(void **state)
{
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
    assert_string_equal(
        why, "there is no variable 'push.y': the variables of this environment have no names, use numbers");
}

static void test_variables(void **state)
{
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

RUN_TESTS(test_spread, test_bowl, test_rastrigin, test_depth, test_step, test_plateau, test_wrong_way,
          test_exploding, test_flat, test_constant, test_missing, test_holes, test_quality, test_refused,
          test_names, test_variables, test_line, test_random, test_gradient)
