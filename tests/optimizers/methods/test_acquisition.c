/* SPDX-License-Identifier: Apache-2.0 */
/* test_acquisition.c - acquisition functions, their search, and the Sobol points it starts from.
 */
#include "methods/bayes/acquisition.h"
#include "methods/base/sobol.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ln h at values computed with many digits. */
static void test_log_h(void **state)
{
    (void)state;
    static const double z[] = {3, 1, 0, -0.5, -1, -2, -5, -10, -40, -1000};
    static const double expected[] = {1.0987396653,   0.0800262188,  -0.9189385332,  -1.6205162643,
                                      -2.4851210257,  -4.7687835239, -16.7443011627, -55.5531220361,
                                      -808.298568357, -500014.734452};
    for (size_t i = 0; i < 10; i++) {
        double slope;
        double value = acquisition_log_h(z[i], &slope);
        assert_true(fabs(value - expected[i]) < 1e-10 * fmax(1.0, fabs(expected[i])));
        double h = 1e-6 * fmax(1.0, fabs(z[i])), unused;
        double numeric =
            (acquisition_log_h(z[i] + h, &unused) - acquisition_log_h(z[i] - h, &unused)) / (2.0 * h);
        assert_true(fabs(numeric - slope) < 1e-6 * fmax(1.0, fabs(slope)));
    }
    double a, b, unused; /* continuous where the formulas meet */
    for (double at = -1.0; at > -1e7; at = at > -2.0 ? -1e6 : -1e8) {
        a = acquisition_log_h(at * (1.0 + 1e-12), &unused);
        b = acquisition_log_h(at * (1.0 - 1e-12), &unused);
        assert_true(fabs(a - b) < 1e-9 * fabs(a));
    }
    a = acquisition_log_h(-25.0 * sqrt(2.0) * (1.0 + 1e-13), &unused);
    b = acquisition_log_h(-25.0 * sqrt(2.0) * (1.0 - 1e-13), &unused);
    assert_true(fabs(a - b) < 1e-9);
    assert_true(isfinite(acquisition_log_h(-1e100, &unused)) && isfinite(unused));
}

static void test_derivatives(void **state)
{
    (void)state;
    ds_random rng = ds_random_open(1, "points", 0);
    for (int kind = ACQUISITION_LCB; kind <= ACQUISITION_LOGEI; kind++) {
        for (int i = 0; i < 200; i++) {
            acquisition a = {kind, 1.5, ds_random_normal(&rng)};
            double mean = 2.0 * ds_random_normal(&rng), sd = exp(ds_random_normal(&rng)), dm, ds, u1, u2,
                   h = 1e-6;
            double value = acquisition_value(&a, mean, sd, &dm, &ds);
            assert_true(kind != ACQUISITION_EI || value <= 0.0);
            double nm = (acquisition_value(&a, mean + h, sd, &u1, &u2) -
                         acquisition_value(&a, mean - h, sd, &u1, &u2));
            double ns = (acquisition_value(&a, mean, sd + h, &u1, &u2) -
                         acquisition_value(&a, mean, sd - h, &u1, &u2));
            assert_true(fabs(nm / (2.0 * h) - dm) < 1e-6 * fmax(1.0, fabs(dm)));
            assert_true(fabs(ns / (2.0 * h) - ds) < 1e-6 * fmax(1.0, fabs(ds)));
        }
    }
}

/* A process on a bowl in two dimensions. */
static gp *bowl(double *u, double *y, size_t n)
{
    static const gp_model model = {GP_SE, GP_PRIOR_2024, 0.0};
    gp *g = gp_create(2, &model);
    ds_random rng = ds_random_open(3, "bowl", 0);
    sobol_points(n, 2, &rng, u);
    for (size_t i = 0; i < n; i++) {
        double a = u[2 * i] - 0.3, b = u[2 * i + 1] - 0.8;
        y[i] = 5.0 * (a * a + b * b) - 1.0;
    }
    g->hyper.length[0] = g->hyper.length[1] = 0.5;
    g->hyper.noise = 1e-4;
    assert_int_equal(gp_condition(g, n, u), DS_OK);
    gp_set_targets(g, y);
    return g;
}

/* LCB without exploration has its minimum where the mean has it, and no point of a grid is better. */
static void test_minimise(void **state)
{
    (void)state;
    double u[80], y[40], best[2], mean, sd, dm, ds;
    gp *g = bowl(u, y, 40);
    for (int kind = ACQUISITION_LCB; kind <= ACQUISITION_LOGEI; kind++) {
        acquisition a = {kind, kind == ACQUISITION_LCB ? 0.0 : 1.0, -0.9};
        acquisition_search search = {
            .raw = 128, .starts = 5, .max_iterations = 200, .told = u, .told_count = 40};
        ds_random rng = ds_random_open(1, "search", 0);
        assert_int_equal(acquisition_minimise(g, &a, &search, &rng, NULL, NULL, best), DS_OK);
        if (kind == ACQUISITION_LCB) {
            assert_true(fabs(best[0] - 0.3) < 0.02 && fabs(best[1] - 0.8) < 0.02);
        }
        gp_predict(g, 1, best, &mean, &sd, NULL, NULL);
        double found = acquisition_value(&a, mean, sd, &dm, &ds);
        for (int i = 0; i <= 50; i++) {
            for (int j = 0; j <= 50; j++) {
                double p[2] = {i / 50.0, j / 50.0};
                gp_predict(g, 1, p, &mean, &sd, NULL, NULL);
                assert_true(acquisition_value(&a, mean, sd, &dm, &ds) >= found - 1e-7);
            }
        }
    }
    gp_destroy(g);
}

/* The minimiser itself is among the told points: something else must come back. Equal seeds give equal
 * answers. */
static void test_told_points(void **state)
{
    (void)state;
    double u[80], y[40], told[2], other[2], again[2];
    gp *g = bowl(u, y, 40);
    acquisition a = {ACQUISITION_LCB, 0.0, 0.0};
    acquisition_search search = {.raw = 64, .starts = 4, .max_iterations = 200, .good = u, .good_count = 2};
    ds_random rng = ds_random_open(1, "search", 0), copy = rng;
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, told);
    search.told = told;
    search.told_count = 1;
    rng = copy;
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, other);
    assert_true(fabs(other[0] - told[0]) > 1e-6 || fabs(other[1] - told[1]) > 1e-6);
    rng = copy;
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, again);
    assert_memory_equal(again, other, sizeof(other));
    gp_destroy(g);
}

/* In every dimension, the first 2^m points have one point in each of the 2^m intervals. */
static void test_sobol(void **state)
{
    (void)state;
    static double points[64 * SOBOL_MAX_DIM];
    ds_random rng = ds_random_open(5, "sobol", 0);
    sobol_points(64, SOBOL_MAX_DIM, &rng, points);
    for (size_t k = 0; k < SOBOL_MAX_DIM; k++) {
        int seen[64] = {0};
        for (size_t i = 0; i < 64; i++) {
            double p = points[i * SOBOL_MAX_DIM + k];
            assert_true(p > 0.0 && p < 1.0);
            seen[(int)(64.0 * p)]++;
        }
        for (int i = 0; i < 64; i++) {
            assert_int_equal(seen[i], 1);
        }
    }
    int cells[8][8] = {{0}}; /* dimensions 1 and 2 are a (0, 2)-sequence: also every 8 x 8 box */
    for (size_t i = 0; i < 64; i++) {
        cells[(int)(8.0 * points[i * SOBOL_MAX_DIM])][(int)(8.0 * points[i * SOBOL_MAX_DIM + 1])]++;
    }
    for (int i = 0; i < 64; i++) {
        assert_int_equal(cells[i / 8][i % 8], 1);
    }
    double many[400];
    sobol_points(1, 400, &rng, many);
    for (int k = 0; k < 400; k++) {
        assert_true(many[k] > 0.0 && many[k] < 1.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_h),    cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_minimise), cmocka_unit_test(test_told_points),
        cmocka_unit_test(test_sobol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
