/* SPDX-License-Identifier: Apache-2.0 */
/* test_surrogate.c - which simulations enter the Gaussian process of Bayesian optimization, and
 * that its proposals do not depend on what should not matter. */
#include "functions.h"

#include "methods/bayes/surrogate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int polls_left;

static uint32_t should_stop(const ds_host *host)
{
    (void)host;
    return polls_left >= 0 && polls_left-- == 0;
}

static void silent(const ds_host *host, uint32_t level, const char *line)
{
    (void)host, (void)level, (void)line;
}

static const double lower[8] = {0}, upper[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static const ds_host host = {
    .struct_size = sizeof(ds_host), .seed = 3, .log = silent, .should_stop = should_stop};

static surrogate *make(size_t n, const surrogate_options *options)
{
    static ds_problem problem;
    problem =
        (ds_problem){.struct_size = sizeof(problem), .n = n, .lower = lower, .upper = upper, .x0 = lower};
    problem.target = problem.loss_floor = -INFINITY;
    polls_left = -1;
    surrogate *s = surrogate_create(&host, &problem, options);
    assert_non_null(s);
    return s;
}

static const surrogate_options usual = {
    .alpha = 1.0, .raw = 64, .starts = 3, .around_best = 1, .fit_max = 500, .n_max = 2000};

static void add_random(surrogate *s, size_t n, int count, uint64_t stream)
{
    ds_random rng = ds_random_open(1, "points", stream);
    for (int i = 0; i < count; i++) {
        double v[8];
        for (size_t k = 0; k < n; k++) {
            v[k] = 2.0 * ds_random_uniform(&rng) - 1.0;
        }
        double loss = ripples(NULL, n, v, NULL);
        assert_true(surrogate_add(s, 1, v, &loss, i % 10 == 0));
    }
}

static void test_empty(void **state)
{
    (void)state;
    surrogate *s = make(3, &usual);
    double a[3], b[3], failed = INFINITY;
    assert_int_equal(surrogate_propose(s, 1, a), DS_OK);
    for (int k = 0; k < 3; k++) {
        assert_true(a[k] > -1.0 && a[k] < 1.0);
    }
    assert_true(
        surrogate_add(s, 1, a, &failed, 1)); /* a failure teaches nothing: uniform again, but elsewhere */
    assert_int_equal(surrogate_propose(s, 2, b), DS_OK);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_int_equal(surrogate_recorded(s), 1);
    surrogate_destroy(s);
}

static void test_near_points_and_failures(void **state)
{
    (void)state;
    for (int worst = 0; worst < 2; worst++) {
        surrogate_options o = usual;
        o.on_failure = worst ? SURROGATE_WORST_FOR_FAILED : SURROGATE_SKIP_FAILED;
        surrogate *s = make(2, &o);
        static const double v[7][2] = {{0, 0},         {1e-9, 0}, {0, 1e-9}, {0.5, 0.5},
                                       {0.5, 0.50001}, {-0.7, 0}, {0.7, 0}};
        static const double loss[7] = {2.0, 2.5, 1.0, 3.0, 3.0, INFINITY, 1e9};
        assert_true(surrogate_add(s, 7, v[0], loss, 0));
        double proposal[2];
        assert_int_equal(surrogate_propose(s, 1, proposal), DS_OK);
        /* left out: the second (near the first, no new best), the fifth; the third was a new best */
        assert_int_equal(surrogate_recorded(s), 7);
        assert_int_equal(surrogate_size(s), worst ? 5 : 4);
        assert_true(fabs(proposal[0]) <= 1.0 && fabs(proposal[1]) <= 1.0);
        surrogate_destroy(s);
    }
}

static void test_limits(void **state)
{
    (void)state;
    surrogate_options o = usual;
    o.n_max = 60;
    o.fit_max = 30;
    surrogate *s = make(4, &o);
    double v[4];
    for (int i = 0; i < 5; i++) {
        add_random(s, 4, 40, (uint64_t)i);
        assert_int_equal(surrogate_propose(s, (uint64_t)i + 1, v), DS_OK);
        assert_int_equal(surrogate_recorded(s), 40 * (i + 1));
        assert_int_equal(surrogate_size(s), i == 0 ? 40 : 60);
    }
    surrogate_destroy(s);
}

/* Above 200 points some proposals extend the factor instead of fitting anew; nothing is lost on the way. */
static void test_growth(void **state)
{
    (void)state;
    surrogate *s = make(5, &usual);
    double v[5];
    add_random(s, 5, 230, 0);
    assert_int_equal(surrogate_propose(s, 1, v), DS_OK);
    for (int i = 1; i <= 4; i++) {
        add_random(s, 5, 7, (uint64_t)i);
        assert_int_equal(surrogate_propose(s, (uint64_t)i + 1, v), DS_OK);
        assert_int_equal(surrogate_size(s), 230 + 7 * i);
    }
    surrogate_destroy(s);
}

/* The losses enter through their standardisation: an affine change of them changes no proposal
 * but by rounding. */
static void test_affine_losses(void **state)
{
    (void)state;
    surrogate *s = make(3, &usual), *t = make(3, &usual);
    ds_random rng = ds_random_open(4, "points", 0);
    for (int i = 0; i < 30; i++) {
        double v[3];
        for (int k = 0; k < 3; k++) {
            v[k] = 2.0 * ds_random_uniform(&rng) - 1.0;
        }
        double loss = sphere(NULL, 3, v, NULL), other = 1e6 + 1e3 * loss;
        surrogate_add(s, 1, v, &loss, 0);
        surrogate_add(t, 1, v, &other, 0);
    }
    double a[3], b[3];
    assert_int_equal(surrogate_propose(s, 1, a), DS_OK);
    assert_int_equal(surrogate_propose(t, 1, b), DS_OK);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(a[k] - b[k]) < 1e-3);
        assert_true(fabs(a[k]) < 0.3); /* it found the bowl */
    }
    surrogate_destroy(s);
    surrogate_destroy(t);
}

/* A search in progress counts as if it had been simulated: the next one begins elsewhere. Afterwards nothing
 * of it is left in the model. */
static void test_searches_in_progress(void **state)
{
    (void)state;
    surrogate *s = make(3, &usual), *t = make(3, &usual);
    double a[3], b[3], bad = 1e3, distance = 0.0;
    add_random(s, 3, 40, 0);
    add_random(t, 3, 40, 0);
    assert_int_equal(surrogate_propose(t, 1, a), DS_OK);
    assert_int_equal(surrogate_propose_beside(s, 1, 1, a, &bad, b), DS_OK);
    for (int k = 0; k < 3; k++) {
        distance = fmax(distance, fabs(a[k] - b[k]));
    }
    assert_true(distance > 0.05);
    assert_int_equal(surrogate_size(s), surrogate_size(t));
    assert_int_equal(surrogate_propose(s, 2, a), DS_OK);
    assert_int_equal(surrogate_propose(t, 2, b), DS_OK);
    assert_memory_equal(a, b, sizeof(a));
    surrogate_destroy(s);
    surrogate_destroy(t);
}

/* So do four that have only just begun, whose losses are not known: none begins where another does. */
static void test_searches_just_begun(void **state)
{
    (void)state;
    surrogate *s = make(3, &usual), *t = make(3, &usual);
    double begun[12], again[3], last[3];
    const double unknown[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    add_random(s, 3, 40, 0);
    add_random(t, 3, 40, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(surrogate_propose_beside(s, 1, i, begun, unknown, begun + 3 * i), DS_OK);
        for (size_t j = 0; j < i; j++) {
            double distance = 0.0;
            for (size_t k = 0; k < 3; k++) {
                distance = fmax(distance, fabs(begun[3 * i + k] - begun[3 * j + k]));
            }
            print_message("# starts %zu and %zu are %.3g apart\n", j, i, distance);
            assert_true(distance > 0.02);
        }
    }
    assert_int_equal(surrogate_recorded(s), 40);
    assert_int_equal(surrogate_size(s), 40);
    assert_int_equal(surrogate_propose(s, 2, again), DS_OK);
    assert_int_equal(surrogate_propose(t, 2, last), DS_OK);
    assert_memory_equal(again, last, sizeof again);
    surrogate_destroy(s);
    surrogate_destroy(t);
}

/* A stop request at any moment of a proposal ends it; asked again, it succeeds. */
static void test_stop(void **state)
{
    (void)state;
    surrogate *s = make(4, &usual);
    double v[4];
    add_random(s, 4, 60, 0);
    for (int after = 0; after < 12; after++) {
        polls_left = after;
        assert_int_equal(surrogate_propose(s, 1, v), DS_STOPPED);
    }
    polls_left = -1;
    assert_int_equal(surrogate_propose(s, 1, v), DS_OK);
    surrogate_destroy(s);
}

/* Losses without spread, enormous ones, and a single one. */
static void test_odd_losses(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        surrogate *s = make(2, &usual);
        for (int i = 0; i < (kind == 3 ? 1 : 20); i++) {
            double v[2] = {0.05 * i - 0.5, 0.3 * sin(i)}, loss = 7.0;
            loss = kind == 1 ? (i % 2 ? 1e307 : -1e307) : (kind == 2 ? (i == 9 ? 1e300 : 1e-300 * i) : loss);
            assert_true(surrogate_add(s, 1, v, &loss, 0));
        }
        for (uint64_t trial = 1; trial < 4; trial++) {
            double v[2];
            assert_int_equal(surrogate_propose(s, trial, v), DS_OK);
            assert_true(fabs(v[0]) <= 1.0 && fabs(v[1]) <= 1.0);
        }
        surrogate_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_near_points_and_failures),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_affine_losses),
        cmocka_unit_test(test_odd_losses),
        cmocka_unit_test(test_searches_in_progress),
        cmocka_unit_test(test_searches_just_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
