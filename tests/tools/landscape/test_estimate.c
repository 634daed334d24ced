/* SPDX-License-Identifier: Apache-2.0 */
/* test_estimate.c - moments of gradient estimates, the weight of the mixture, empirical bias, and sweeps:
 * against values in closed form, and against the optimizer's own implementation of the mixture. */
#include "config.h"

#include "landscape/gradients.h"
#include "methods/gradient/alpha_gradient.h"
#include "test.h"
#include "test.h"

#include <diffsim/helper/random.h>
#include <diffsim/helper/random.h>

static void test_moments(void **state)
{
    static const double z[4][2] = {{1, 10}, {2, 10}, {3, 14}, {6, 14}};
    double room[4];
    ds_moments m;
    ds_moments_begin(&m, 2, room);
    assert_true(isnan(ds_moments_variance(&m)));
    for (int i = 0; i < 4; i++) {
        ds_moments_add(&m, z[i], 1);
    }
    assert_true(fabs(m.mean[0] - 3) < 1e-15 && fabs(m.mean[1] - 12) < 1e-15);
    assert_true(fabs(ds_moments_variance_of(&m, 0) - 14.0 / 3) < 1e-14);
    assert_true(fabs(ds_moments_variance(&m) - 10) < 1e-14); /* 14/3 + 16/3 */
    ds_moments_begin(&m, 2, room);
    for (int i = 0; i < 4; i++) {
        ds_moments_add(&m, z[i], 2); /* means of pairs: one sample has twice the variance */
    }
    assert_true(fabs(ds_moments_variance(&m) - 20) < 1e-14);
}

/* For any numbers: alpha in [0, 1], eps + alpha B <= gamma unless g0 is too uncertain. */
static void test_alpha(void **state)
{
    ds_random r = ds_random_open(1, "alpha", 0);
    for (int i = 0; i < 20000; i++) {
        ds_alpha_rule rule = {DS_ALPHA_BIAS, exp(4 * ds_random_normal(&r)), exp(2 * ds_random_normal(&r)),
                              ds_random_uniform(&r), -1};
        double v1 = exp(6 * ds_random_normal(&r)), v0 = exp(6 * ds_random_normal(&r)),
               b = exp(4 * ds_random_normal(&r));
        uint64_t n = 1 + ds_random_below(&r, 50), N = 2 + ds_random_below(&r, 1000);
        ds_alpha a = ds_alpha_choose(&rule, v1, v0, b, n, N);
        double words = log((double)(n + 1) / rule.chance);
        double eps = sqrt(2 * v0 * words / (double)N) + 2 * rule.largest / (3 * (double)N) * words;
        double free_alpha = v0 / (v0 + v1 + 1e-5);
        assert_true(a.alpha >= 0 && a.alpha <= 1);
        assert_true(fabs(a.eps - eps) <= 1e-12 * eps);
        assert_true((a.which == DS_ALPHA_UNCERTAIN) == (a.eps > rule.gamma));
        assert_true(a.which != DS_ALPHA_UNCERTAIN || (a.alpha >= 0 && a.alpha <= 0));
        assert_true(a.which == DS_ALPHA_UNCERTAIN || a.eps + a.alpha * b <= rule.gamma * (1 + 1e-12));
        assert_true(a.which != DS_ALPHA_INSIDE || fabs(a.alpha - free_alpha) < 1e-15);
        assert_true(a.which != DS_ALPHA_HIT ||
                    fabs(a.alpha * b - (rule.gamma - a.eps)) <= 1e-12 * rule.gamma);
        rule.gamma = INFINITY;
        a = ds_alpha_choose(&rule, v1, v0, b, n, N);
        assert_true(fabs(a.alpha - free_alpha) < 1e-15 && a.which == DS_ALPHA_INSIDE);
    }
    /* a step: the first order is certain and wrong; gamma decides, not the variances */
    const ds_alpha_rule step = {DS_ALPHA_BIAS, 1.0, 1.0, 0.05, -1};
    ds_alpha a = ds_alpha_choose(&step, 0, 8.5, 2.0, 1, 100000);
    assert_true(a.which == DS_ALPHA_HIT && fabs(a.alpha - (1 - a.eps) / 2) < 1e-15);
    const ds_alpha_rule fixed = {DS_ALPHA_BIAS, 0, 1.0, 0.05, 0.3};
    assert_true(fabs(ds_alpha_choose(&fixed, 1, 1, 1, 1, 10).alpha - 0.3) < 1e-15);
    assert_true(ds_alpha_choose(&step, NAN, 1, NAN, 1, 10).alpha <= 0);
    assert_true(ds_alpha_choose(&step, 1, NAN, NAN, 1, 10).alpha >= 1);
}

/* The optimizer alphaorder has its own implementation, for blocks and pairs: the same samples, the same
 * result. */
static void test_both_implementations(void **state)
{
    enum { N = 40, DIM = 3 };
    double w[N * DIM], grad[N * DIM], loss[N], work[(2 * N + 1) * DIM], g[DIM], room1[2 * DIM],
        room0[2 * DIM];
    uint32_t outcome[N] = {0};
    ds_random r = ds_random_open(2, "w", 0);
    for (int i = 0; i < N; i++) {
        loss[i] = 0;
        for (int k = 0; k < DIM; k++) {
            double x = (w[i * DIM + k] = 0.2 * ds_random_normal(&r)) + 0.5 * k;
            loss[i] += x * x * x;
            grad[i * DIM + k] = 3 * x * x;
        }
    }
    const double base = 0.125 + 1;
    const alpha_samples s = {DIM, N, w, loss, grad, outcome, base};
    for (double gamma = 0.3; gamma < 100; gamma *= 1.7) {
        const alpha_rule theirs = {.rule = ALPHA_BIAS,
                                   .s = 0.2,
                                   .gamma = gamma,
                                   .chance = 0.1,
                                   .largest = 0.5,
                                   .small = 1e-5,
                                   .fixed = -1};
        const ds_alpha_rule ours = {DS_ALPHA_BIAS, gamma, 0.5, 0.1, -1};
        alpha_report report;
        ds_moments first, zeroth;
        ds_moments_begin(&first, DIM, room1);
        ds_moments_begin(&zeroth, DIM, room0);
        for (int i = 0; i < N; i++) {
            double z[DIM];
            for (int k = 0; k < DIM; k++) {
                z[k] = (loss[i] - base) * w[i * DIM + k] / 0.04;
            }
            ds_moments_add(&first, grad + i * DIM, 1);
            ds_moments_add(&zeroth, z, 1);
        }
        assert_int_equal(alpha_gradient(&theirs, &s, &s, work, g, &report), 1);
        double v1 = ds_moments_variance(&first), v0 = ds_moments_variance(&zeroth);
        double b = ds_distance(first.mean, zeroth.mean, DIM);
        ds_alpha a = ds_alpha_choose(&ours, v1, v0, b, DIM, N);
        assert_true(fabs(report.v1 / v1 - 1) < 1e-10 && fabs(report.v0 / v0 - 1) < 1e-10);
        assert_true(fabs(report.distance / b - 1) < 1e-10 && fabs(report.eps / a.eps - 1) < 1e-10);
        assert_true(fabs(report.alpha - a.alpha) < 1e-10 && report.which == a.which);
        for (int k = 0; k < DIM; k++) {
            assert_true(fabs(g[k] - a.alpha * first.mean[k] - (1 - a.alpha) * zeroth.mean[k]) < 1e-10);
        }
    }
}

/* For a linear loss a pair w, -w gives the slope times w^2 / s^2, whatever is subtracted from both losses. A
 * pair whose mirror image failed takes the others' mean. */
static void test_mean_of_others(void **state)
{
    enum { N = 6 };
    const double w[N] = {0.3, -0.1, 0.7, -0.3, 0.1, -0.7}, s2 = 0.25;
    double loss[N], work[2 * N + 1], none, mean;
    uint32_t outcome[N] = {0};
    for (int i = 0; i < N; i++) {
        loss[i] = 5 + 3 * w[i];
    }
    const alpha_rule rule = {.rule = ALPHA_IVW, .s = 0.5, .antithetic = 1, .fixed = -1};
    alpha_samples s = {1, N, w, loss, NULL, outcome, 0};
    assert_int_equal(alpha_gradient(&rule, NULL, &s, work, &none, NULL), 1);
    s.base = NAN;
    assert_int_equal(alpha_gradient(&rule, NULL, &s, work, &mean, NULL), 1);
    assert_true(fabs(none - 3 * (0.09 + 0.01 + 0.49) / 3 / s2) < 1e-12 && fabs(mean - none) < 1e-12);
    loss[3] =
        INFINITY; /* of the pair of w[0] there remains 3 (w[0] - the mean of the four others, 0) w[0] / s^2 */
    assert_int_equal(alpha_gradient(&rule, NULL, &s, work, &mean, NULL), 1);
    assert_true(fabs(mean - 3 * (0.09 + 0.01 + 0.49) / 3 / s2) < 1e-12);
}

/* A slope that one sample in a hundred sees: without those the mean is 0, and the variance at least that of
 * the lemma. */
static void test_empirical_bias(void **state)
{
    enum { COUNT = 10000 };
    double *z = calloc(COUNT, sizeof *z), mean = 0, square = 0;
    for (int i = 0; i < COUNT; i += 100) {
        z[i] = 200;
    }
    for (int i = 0; i < COUNT; i++) {
        mean += z[i] / COUNT;
        square += z[i] * z[i] / COUNT;
    }
    ds_empirical_bias b;
    assert_int_equal(ds_empirical_bias_of(z, COUNT, 1, &mean, 0.05, &b), 0);
    assert_true(fabs(b.beta - 0.01) < 1e-12 && fabs(b.delta - 2) < 1e-12 && b.radius <= 0);
    /* (0.99 * 2 - 0.01 * 2)^2 / 0.01 = 384.16, of a variance of 396 */
    assert_true(fabs(b.bound - 384.16) < 1e-6 && b.bound <= square - mean * mean);
    assert_int_equal(ds_empirical_bias_of(z, 10, 1, &mean, 0.05, &b), 0);
    assert_true(isnan(b.delta)); /* ten samples cannot show a share of 5 % */
    free(z);
}

static const ds_param *const schema[] = {DS_INT("T", "1", 0, 10, "", "steps"), NULL};

static void test_sweeps(void **state)
{
    ds_sweep s[DS_SWEEPS_MAX];
    int count = 0;
    char why[DS_SWEEP_WHY];
    assert_int_equal(ds_sweeps_parse("samples=10,100 env.k=log:1e2:1e6:3  env.mode=a,b", s, &count, why), 0);
    assert_int_equal(count, 3);
    assert_true(s[0].what == DS_SWEEP_SAMPLES && s[0].count == 2 && s[0].value[1].number >= 100);
    assert_true(s[1].what == DS_SWEEP_ENV && s[1].log && fabs(s[1].value[1].number / 1e4 - 1) < 1e-12);
    assert_string_equal(s[1].value[2].text, "1e+06");
    assert_true(strcmp(s[2].value[1].text, "b") == 0 && s[2].value[1].number >= 1);
    ds_sweeps_free(s, count);
    assert_int_equal(ds_sweeps_parse("env.T=lin:1:4:7", s, &count, why), 0);
    assert_int_equal(ds_sweep_fit(&s[0], schema, why), 0);
    assert_int_equal(s[0].count, 4); /* 1, 1.5 -> 2, 2, ... */
    assert_string_equal(s[0].value[3].text, "4");
    ds_sweeps_free(s, count);
    static const char *const wrong[] = {"samples",
                                        "samples=",
                                        "samples=1",
                                        "samples=x",
                                        "sigma=0",
                                        "gamma=-1",
                                        "steps=3",
                                        "env.=3",
                                        "env.k=log:0:1:3",
                                        "env.k=lin:2:1:3",
                                        "env.k=lin:1:2:1",
                                        "env.k=lin:1:2",
                                        "samples=3 samples=4",
                                        "env.a=1 env.b=1 env.c=1 env.d=1 env.e=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        assert_int_equal(ds_sweeps_parse(wrong[i], s, &count, why), -1);
        assert_true(why[0] != '\0');
        ds_sweeps_free(s, count);
    }
}

RUN_TESTS(test_moments, test_alpha, test_both_implementations, test_mean_of_others, test_empirical_bias,
          test_sweeps)
