/* SPDX-License-Identifier: Apache-2.0 */
/* test_alphaorder.c - mixtures of first- and zeroth-order gradients, and the optimizer alphaorder.
 */
#include "methods/gradient/alpha_gradient.h"
#include "objective.h"
#include "functions.h"
#include "optimizer_cases.h"

#include <diffsim/helper/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A set of samples of f around x, and the estimate from it. */
typedef struct estimate {
    double g[64], alpha;
} estimate;

static estimate make(fake_function f, size_t n, const double *x, size_t count, const alpha_rule *rule,
                     int gradient)
{
    double *w = calloc(count * n * 4 + n + count, sizeof(double)), *gradients = w + count * n;
    double *work = gradients + count * n, *loss = work + (2 * count + 1) * n, at[64];
    uint32_t *outcome = calloc(count, sizeof(*outcome));
    ds_random rng = ds_random_open(1, "w", n);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < n; k++) {
            size_t half = count / 2;
            w[i * n + k] =
                rule->antithetic && i >= half ? -w[(i - half) * n + k] : rule->s * ds_random_normal(&rng);
            at[k] = x[k] + w[i * n + k];
        }
        loss[i] = f(NULL, n, at, gradients + i * n);
    }
    alpha_samples s = {n, count, w, loss, gradient ? gradients : NULL, outcome, f(NULL, n, x, NULL)};
    estimate e;
    assert_int_equal(alpha_gradient(rule, &s, work, e.g, &e.alpha), 1);
    free(outcome);
    free(w);
    return e;
}

/* On a quadratic both orders have the exact gradient as their mean: each component
 * within 5 standard errors. */
static void test_unbiased(void **state)
{
    (void)state;
    static const double x[3] = {0.5, -1.0, 0.2};
    size_t N = 100000;
    for (int antithetic = 0; antithetic < 2; antithetic++) {
        alpha_rule rule = {ALPHA_IVW, 0.1, antithetic, 0, INFINITY, 0.05, 1.0};
        estimate zeroth = make(sphere, 3, x, N, &rule, 0), mixed = make(sphere, 3, x, N, &rule, 1);
        assert_true(zeroth.alpha == 0.0);
        assert_true(mixed.alpha > 0.5);
        for (int k = 0; k < 3; k++) {
            /* variance of (g . w) w_k / s^2 is |g|^2 + g_k^2, of 2 w_k it is 4 s^2; quadratic
             * terms add less */
            double error = sqrt((4 * 1.29 + 4 * x[k] * x[k] + 1.0) / (double)N);
            assert_true(fabs(zeroth.g[k] - 2 * x[k]) < 5 * error);
            assert_true(fabs(mixed.g[k] - 2 * x[k]) < 5 * error);
        }
    }
}

/* A step at 0 without slope on either side: the first order is 0 with certainty, and wrong. */
static double heaviside(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx;
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 0.0;
    }
    return x[0] > 0.0 ? 1.0 : 0.0;
}

static void test_jump(void **state)
{
    (void)state;
    static const double x[1] = {0.0};
    alpha_rule rule = {ALPHA_IVW, 0.1, 0, 0, INFINITY, 0.05, 1.0};
    double slope = 1.0 / (0.1 * sqrt(2.0 * FUNCTIONS_PI)); /* density of w at the jump */
    estimate zeroth = make(heaviside, 1, x, 100000, &rule, 0);
    assert_true(fabs(zeroth.g[0] - slope) < 0.02 * slope);
    estimate trusting = make(heaviside, 1, x, 1000, &rule, 1);
    assert_true(trusting.alpha == 1.0 && trusting.g[0] == 0.0);
    rule.rule = ALPHA_BIAS;
    rule.gamma = 0.01; /* far below what 1000 samples can tell */
    estimate wary = make(heaviside, 1, x, 1000, &rule, 1);
    assert_true(wary.alpha == 0.0);
    assert_true(fabs(wary.g[0] - slope) < 0.2 * slope);
    rule.gamma = 1.0;
    estimate limited = make(heaviside, 1, x, 100000, &rule, 1);
    assert_true(limited.alpha > 0.0 && limited.alpha < 1.0);
    assert_true(fabs(limited.g[0] - slope) < 1.0 + 0.02 * slope); /* the bias is at most gamma */
}

static double linear(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx;
    for (size_t k = 0; g && k < n; k++) {
        g[k] = k == 0;
    }
    return x[0];
}

/* The squared error of the zeroth order grows like n + 1 for a slope of length 1: 5 and 41 variables,
 * ratio 7. */
static void test_variance(void **state)
{
    (void)state;
    static const size_t sizes[2] = {5, 41};
    double x[64] = {0}, error[2] = {0, 0};
    alpha_rule rule = {ALPHA_IVW, 0.1, 0, 0, INFINITY, 0.05, 1.0};
    for (int i = 0; i < 2; i++) {
        estimate e = make(linear, sizes[i], x, 2000, &rule, 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            error[i] += (e.g[k] - (k == 0)) * (e.g[k] - (k == 0));
        }
        error[i] *= 2000.0 / ((double)sizes[i] + 1.0);
        print_message("# n = %d: squared error is %.2f of the expected one\n", (int)sizes[i], error[i]);
    }
    assert_true(error[0] > 0.1 && error[0] < 3.0); /* chi-square with 5 and 41 degrees of freedom */
    assert_true(error[1] > 0.5 && error[1] < 1.7);
}

static void test_every_case(void **state)
{
    (void)state;
    optimizer_stands("alphaorder", "", 203, 1, 0);
    optimizer_stands("alphaorder", "antithetic=false samples=5 block=2 step=sgd", 203, 1, 0);
    optimizer_stands("alphaorder", "rule=bias gamma=0.1 j=3", 203, 1, 0);
}

static void test_reaches(void **state)
{
    (void)state;
    double centre[10];
    for (int k = 0; k < 10; k++) {
        centre[k] = 0.7 * sin(k + 1.0);
    }
    for (int no_gradient = 0; no_gradient < 2; no_gradient++) {
        fake_problem p = optimizer_box(10, -1, 1, sphere, 1000);
        p.ctx = centre;
        p.no_gradient = no_gradient;
        fake_result r = fake_run("alphaorder", "", &p, 1);
        optimizer_assert_sound(&r, 1000);
        print_message("# sphere %s gradient: %.2e\n", no_gradient ? "without" : "with", r.best);
        assert_true(r.best < (no_gradient ? 0.5 : 0.02)); /* the samples alone are 10 s^2 = 0.025 away */
        fake_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unbiased),   cmocka_unit_test(test_jump),    cmocka_unit_test(test_variance),
        cmocka_unit_test(test_every_case), cmocka_unit_test(test_reaches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
