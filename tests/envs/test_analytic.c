/* SPDX-License-Identifier: Apache-2.0 */
/* test_analytic.c - environment analytic: values and minima known from the literature, gradients against
 * central differences, placement, noise and failures. */
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/helper/random.h>
#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static double value(const char *function, const char *optimum, uint64_t n, const double *x)
{
    char f[64], o[64], d[64];
    snprintf(f, sizeof f, "function=%s", function);
    snprintf(o, sizeof o, "optimum=%s", optimum);
    snprintf(d, sizeof d, "dim=%d", (int)n);
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS(f, o, d), 1, -HUGE_VAL);
    double loss = fake_eval(&e, x, NULL, 0, NULL);
    fake_env_close(&e);
    return loss;
}

/* Values that follow from the formulas by hand, and the minima printed in the literature. */
static void test_values(void **state)
{
    (void)state;
    const double x3[3] = {1, -2, 0.5};
    assert_near(value("sphere", "textbook", 3, x3), 5.25, 1e-14);
    assert_near(value("ellipsoid", "textbook", 3, x3), 1 + 4e3 + 0.25e6, 1e-9);
    assert_near(value("cigar", "textbook", 3, x3), 1 + 4.25e6, 1e-8);
    assert_near(value("tablet", "textbook", 3, x3), 1e6 + 4.25, 1e-8);
    assert_near(value("sharp_ridge", "textbook", 3, x3), 1 + 100 * sqrt(4.25), 1e-12);
    assert_near(value("rosenbrock", "textbook", 3, x3), 100 * 9 + 0 + 100 * 3.5 * 3.5 + 9, 1e-11);
    assert_near(value("rastrigin", "textbook", 3, x3), 5.25 + 20, 1e-12);
    assert_near(value("ackley", "textbook", 2, (const double[]){1, 1}), 20 - 20 * exp(-0.2), 1e-13);
    assert_near(value("griewank", "textbook", 2, (const double[]){1, 1}),
                2.0 / 4000 + 1 - cos(1) * cos(sqrt(0.5)), 1e-14);
    double q = pow(1 + pow(sin(50 * pow(2, 0.1)), 2), 2) * sqrt(2);
    assert_near(value("schaffer_f7", "textbook", 2, (const double[]){1, 1}), q, 1e-12);

    assert_near(value("branin", "random", 2, (const double[]){-3.14159265358979, 12.275}), 0.397887, 1e-6);
    assert_near(value("branin", "random", 2, (const double[]){3.14159265358979, 2.275}), 0.397887, 1e-6);
    assert_near(value("branin", "random", 2, (const double[]){9.42478, 2.475}), 0.397887, 1e-6);
    assert_near(value("hartmann3", "random", 3, (const double[]){0.114614, 0.555649, 0.852547}), -3.86278,
                5e-6);
    assert_near(value("hartmann6", "random", 6,
                      (const double[]){0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}),
                -3.32237, 5e-6);
    assert_near(value("camel6", "random", 2, (const double[]){0.08984201, -0.7126564}), -1.0316284, 1e-6);
}

static const char *const free_functions[] = {
    "sphere", "ellipsoid",   "cigar",    "tablet", "sharp_ridge", "rosenbrock", "rastrigin",
    "ackley", "schaffer_f7", "griewank", "rugged", "plateau",     "valley"};
enum { FREE = sizeof free_functions / sizeof *free_functions };

/* The suite's functions have their own rotation and optimum. */
static const char *const bbob_functions[] = {"bbob_f1",  "bbob_f2",  "bbob_f3",  "bbob_f8", "bbob_f10",
                                             "bbob_f15", "bbob_f17", "bbob_f18", "bbob_f21"};
enum { BBOB = sizeof bbob_functions / sizeof *bbob_functions };

/* At optimum = origin the loss at 0 is the floor, exactly; nearby it is larger. */
static void test_origin(void **state)
{
    (void)state;
    for (int k = 0; k < FREE + BBOB; k++) {
        const char *function = k < FREE ? free_functions[k] : bbob_functions[k - FREE];
        double x[4] = {0, 0, 0, 0};
        assert_true(value(function, "origin", 4, x) == 0);
        x[1] = 1e-3;
        assert_true(value(function, "origin", 4, x) > 0);
    }
}

/* Largest difference between gradient and fourth-order central differences, relative to the gradient's
 * length. */
static double gradient_error(fake_env *e, const double *x)
{
    uint64_t n = e->info.n;
    double g[16], ignored, y[16], worst = 0, norm = 0;
    uint32_t outcome = 0;
    assert_true(n <= 16);
    ignored = fake_eval(e, x, g, 0, &outcome);
    assert_true(isfinite(ignored) && outcome == DS_EVAL_OK);
    for (uint64_t i = 0; i < n; i++) {
        double f[4], h = 1e-4 * (e->upper[i] - e->lower[i]) / 10;
        static const double step[4] = {-2, -1, 1, 2};
        memcpy(y, x, n * sizeof(double));
        for (int k = 0; k < 4; k++) {
            y[i] = x[i] + step[k] * h;
            f[k] = fake_eval(e, y, NULL, 0, NULL);
        }
        double fd = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
        worst = fmax(worst, fabs(fd - g[i]));
        norm = fmax(norm, fabs(g[i]));
    }
    return worst / norm;
}

static void check_gradients(const char *const *settings)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", settings, 1, -HUGE_VAL);
    ds_random r = ds_random_open(7, "test", 0);
    double x[16];
    for (int trial = 0; trial < 10; trial++) {
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = e.lower[i] + (0.05 + 0.9 * ds_random_uniform(&r)) * (e.upper[i] - e.lower[i]);
        }
        double error = gradient_error(&e, x);
        if (!(error < 1e-6)) {
            fail_msg("%s: gradient error %g", settings[0], error);
        }
    }
    fake_env_close(&e);
}

static void test_gradients(void **state)
{
    (void)state;
    for (int k = 0; k < FREE; k++) {
        char f[64];
        snprintf(f, sizeof f, "function=%s", free_functions[k]);
        check_gradients(SETTINGS(f, "dim=6"));
        check_gradients(SETTINGS(f, "dim=7", "rotate=true", "instance=3"));
        check_gradients(SETTINGS(f, "dim=2", "optimum=textbook"));
    }
    for (int k = 0; k < BBOB; k++) {
        char f[64];
        snprintf(f, sizeof f, "function=%s", bbob_functions[k]);
        check_gradients(SETTINGS(f, "dim=6"));
        check_gradients(SETTINGS(f, "dim=2", "instance=3"));
        check_gradients(SETTINGS(f, "dim=3", "lower=-7", "upper=6")); /* beyond the suite's box: penalties */
    }
    check_gradients(SETTINGS("function=branin"));
    check_gradients(SETTINGS("function=hartmann3"));
    check_gradients(SETTINGS("function=hartmann6"));
    check_gradients(SETTINGS("function=camel6"));
}

/* A rotation keeps the sphere, changes the ellipsoid, and another instance is another problem. */
static void test_placement(void **state)
{
    (void)state;
    const double x[5] = {0.3, -1.2, 2, 0.7, -0.1};
    fake_env a, b, c;
    fake_env_open(&a, "envs/analytic", SETTINGS("function=sphere", "dim=5", "optimum=origin", "rotate=true"),
                  1, 0);
    assert_near(fake_eval(&a, x, NULL, 0, NULL), 0.09 + 1.44 + 4 + 0.49 + 0.01, 1e-14);
    fake_env_close(&a);
    fake_env_open(&a, "envs/analytic", SETTINGS("function=ellipsoid", "dim=5"), 1, 0);
    fake_env_open(&b, "envs/analytic", SETTINGS("function=ellipsoid", "dim=5", "rotate=true"), 1, 0);
    fake_env_open(&c, "envs/analytic", SETTINGS("function=ellipsoid", "dim=5", "instance=2"), 1, 0);
    double fa = fake_eval(&a, x, NULL, 0, NULL);
    assert_true(fabs(fake_eval(&b, x, NULL, 0, NULL) - fa) > 1);
    assert_true(fabs(fake_eval(&c, x, NULL, 0, NULL) - fa) > 1);
    assert_true(a.info.loss_floor == 0 && a.lower[4] == -5 && a.upper[0] == 5);
    fake_env_close(&a);
    fake_env_close(&b);
    fake_env_close(&c);
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=3", "lower=-1", "upper=1,2,3"), 1, 0);
    assert_true(a.lower[2] == -1 && a.upper[1] == 2 && a.upper[2] == 3);
    fake_env_close(&a);
}

/* Noise has the asked standard deviation, is a function of the key alone and absent without a key. */
static void test_noise(void **state)
{
    (void)state;
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=3", "optimum=origin", "noise=0.5", "grad_noise=0.5"), 1,
                  0);
    const double x[3] = {1, 2, 3};
    double g[3], sum = 0, square = 0;
    int spoiled = 0;
    assert_true(fake_eval(&e, x, g, 0, NULL) == 14 && g[2] == 6);
    assert_true(e.info.loss_floor == -HUGE_VAL);
    for (uint64_t key = 1; key <= 4000; key++) {
        double d = fake_eval(&e, x, g, key, NULL) - 14;
        sum += d;
        square += d * d;
        if (g[0] != 2) {
            spoiled++;
            assert_near(g[0] * g[0] + g[1] * g[1] + g[2] * g[2], 9 * 56, 1e-9);
        }
    }
    assert_near(sum / 4000, 0, 0.03);
    assert_near(sqrt(square / 4000), 0.5, 0.02);
    assert_in_range(spoiled, 1900, 2100);
    assert_true(fake_eval(&e, x, NULL, 5, NULL) == fake_eval(&e, x, NULL, 5, NULL));
    fake_env_close(&e);
}

static void test_failures(void **state)
{
    (void)state;
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=2", "fail_rate=0.2"), 1, 0);
    int failed = 0;
    for (int i = 0; i < 5000; i++) {
        uint32_t outcome = 0, again = 0;
        double x[2] = {1e-3 * i - 2, 0.5}, g[2];
        fake_eval(&e, x, g, 0, &outcome);
        fake_eval(&e, x, NULL, 0, &again);
        assert_int_equal(outcome, again);
        failed += outcome == DS_EVAL_DIVERGED;
    }
    assert_in_range(failed, 900, 1100);
    fake_env_close(&e);
}

static void test_bad_parameters(void **state)
{
    (void)state;
    fake_env_refuses("envs/analytic", SETTINGS("function=branin", "dim=3"), "dim = 3");
    fake_env_refuses("envs/analytic", SETTINGS("function=branin", "rotate=true"), "rotate");
    fake_env_refuses("envs/analytic", SETTINGS("function=rosenbrock", "dim=1"), "at least 2");
    fake_env_refuses("envs/analytic", SETTINGS("function=bbob_f10", "rotate=true"), "rotations of its suite");
    fake_env_refuses("envs/analytic", SETTINGS("function=bbob_f10", "dim=501"), "up to 500");
    fake_env_refuses("envs/analytic", SETTINGS("lower=1", "upper=0.5"), "lower");
    fake_env_refuses("envs/analytic", SETTINGS("lower=1,2,3"), "3 values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_origin),
        cmocka_unit_test(test_gradients),      cmocka_unit_test(test_placement),
        cmocka_unit_test(test_noise),          cmocka_unit_test(test_failures),
        cmocka_unit_test(test_bad_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
