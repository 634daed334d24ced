/* SPDX-License-Identifier: Apache-2.0 */
/* test_cem.c - the cross-entropy method: what it fits, where it gets to, and that it starts again. */
#include "functions.h"
#include "objective.h"
#include "optimizer_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_every_case(void **state)
{
    (void)state;
    optimizer_stands("cem", "samples=10 elite=3", 203, 1, 0);
    optimizer_stands("cem", "samples=7 elite=7 units=x init_std=2 start=random smoothing=0.3 min_std=0.1",
                     203, 1, 0);
    optimizer_stands("cem", "samples=2 elite=1 start=center", 203, 1, 0);
    optimizer_stands("cem", "samples=10 elite=3 polish=0.5", 203, 1, 1);
}

/* The second generation of a linear loss: its mean lies where that of the elite does, (samples - elite) being
 * cut off. For 100 of a normal distribution the best 20 have the mean -1.4 standard deviations and 0.47 of
 * the scatter. */
static double linear(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx, (void)n, (void)g;
    return x[0];
}

static void test_fit(void **state)
{
    (void)state;
    const size_t B = 2000, E = 400;
    fake_problem p = optimizer_box(1, -100, 100, linear, 2 * B);
    fake_result r = fake_run("cem", "samples=2000 elite=400 init_std=2 units=x start=center", &p, 1);
    double mean[2] = {0, 0}, square[2] = {0, 0};
    for (size_t i = 0; i < 2 * B; i++) {
        mean[i / B] += r.x[i] / (double)B;
    }
    for (size_t i = 0; i < 2 * B; i++) {
        double d = r.x[i] - mean[i / B];
        square[i / B] += d * d / (double)B;
    }
    /* E[z | z below its 20 % quantile] = -1.39981, variance 1 - 1.39981 (1.39981 - 0.84162) = 0.21863 */
    assert_true(fabs(mean[0]) < 5 * 2 / sqrt((double)B));
    assert_true(fabs(mean[1] + 2 * 1.39981) < 5 * 2 * 0.4676 * sqrt(1.0 / (double)E + 1.0 / (double)B));
    assert_true(fabs(sqrt(square[0]) / 2 - 1) < 0.1 && fabs(sqrt(square[1]) / 2 - 0.46758) < 0.08);
    fake_free(&r);
}

/* A ball: to rounding with the usual constants, and from anywhere. */
static void test_reaches(void **state)
{
    (void)state;
    double centre[10];
    for (int k = 0; k < 10; k++) {
        centre[k] = 0.7 * sin(k + 1.0);
    }
    fake_problem p = optimizer_box(10, -1, 1, sphere, 3000);
    p.ctx = centre;
    fake_result r = fake_run("cem", "", &p, 1);
    optimizer_assert_sound(&r, 3000);
    print_message("# sphere: %.2e\n", r.best);
    assert_true(r.best < 1e-6);
    fake_free(&r);
}

/* A search that has shrunk is followed by another, from elsewhere. */
static void test_starts_again(void **state)
{
    (void)state;
    double centre[2] = {0.2, -0.1};
    fake_problem p = optimizer_box(2, -1, 1, sphere, 4000);
    p.ctx = centre;
    fake_result r = fake_run("cem", "samples=20 elite=5 tol=1e-3", &p, 1);
    assert_true(fake_groups(&r) > 5);
    fake_free(&r);
    r = fake_run("cem", "samples=20 elite=5 tol=1e-3 min_std=1e-2", &p, 1);
    assert_true(fake_groups(&r) == 1);
    fake_free(&r);
}

/* Sampling first, gradients after: the polish begins where its share of the budget does, with the same
 * samples before it, and gets much further down a valley. */
static void test_polish(void **state)
{
    (void)state;
    fake_problem p = optimizer_box(6, -2, 2, rosenbrock, 400);
    double plain = 0.0, polished = 0.0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        fake_result a = fake_run("cem", "samples=20 elite=5", &p, seed);
        fake_result b = fake_run("cem", "samples=20 elite=5 polish=0.5", &p, seed);
        optimizer_assert_sound(&b, 400);
        assert_memory_equal(a.x, b.x, 200 * 6 * sizeof(double));
        assert_int_equal(fake_count(&a, "refine"), 0);
        assert_string_equal(b.rows[199].tag, "sample");
        assert_string_equal(b.rows[200].tag, "refine");
        assert_int_equal(b.rows[200].want, DS_WANT_GRAD);
        plain += log(a.best) / 5.0;
        polished += log(b.best) / 5.0;
        fake_free(&a);
        fake_free(&b);
    }
    print_message("# without and with polish %.2e %.2e\n", exp(plain), exp(polished));
    assert_true(polished < plain - log(2.0));
    p.no_gradient = 1;
    fake_result r = fake_run("cem", "samples=20 elite=5 polish=0.5", &p, 0);
    optimizer_assert_sound(&r, 400);
    assert_true(fake_count(&r, "refine") > 0);
    fake_free(&r);
}

/* A generation does not take what is kept for it. */
static void test_keeps_the_polish(void **state)
{
    (void)state;
    static const uint64_t budget[] = {60, 100, 120, 250};
    for (size_t k = 0; k < sizeof budget / sizeof *budget; k++) {
        fake_problem p = optimizer_box(5, -2, 2, rosenbrock, budget[k]);
        fake_result r = fake_run("cem", "polish=0.5", &p, 1);
        optimizer_assert_sound(&r, budget[k]);
        assert_true(8 * fake_count(&r, "refine") >= 3 * budget[k]);
        fake_free(&r);
    }
}

static void test_refused(void **state)
{
    (void)state;
    fake_problem p = optimizer_box(2, -1, 1, sphere, 10);
    fake_result r = fake_run("cem", "samples=5 elite=6", &p, 1);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "elite = 6 is more than samples = 5"));
    fake_free(&r);
    p.budget = 0; /* a share of nothing */
    r = fake_run("cem", "polish=0.5", &p, 1);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "budget"));
    fake_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case), cmocka_unit_test(test_fit),
        cmocka_unit_test(test_reaches),    cmocka_unit_test(test_starts_again),
        cmocka_unit_test(test_polish),     cmocka_unit_test(test_keeps_the_polish),
        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
