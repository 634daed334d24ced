/* SPDX-License-Identifier: Apache-2.0 */
/* test_finite_difference.c - finite differences with a chosen step, on functions with known derivatives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "difference/finite_difference.h"

static double smooth(void *ctx, const double *x, int *failed)
{
    ++*(int *)ctx;
    *failed = 0;
    return exp(0.3 * x[0]) * sin(x[1]) + 1e-3 * x[2];
}

static double kink(void *ctx, const double *x, int *failed)
{
    (void)ctx;
    *failed = 0;
    return fabs(x[0] - 3e-5) + x[1];
}

static double rough(void *ctx, const double *x, int *failed)
{
    double d = 0.0;
    (void)ctx;
    *failed = 0;
    /* Noise of 1e-3 that depends on every bit of x. */
    for (int i = 0; i < 2; i++) {
        d += fmod(fabs(x[i]) * 1e9, 1.0);
    }
    return x[0] + 1e-3 * d;
}

static double offset(void *ctx, const double *x, int *failed)
{
    (void)ctx;
    *failed = 0;
    return 1e6 + 1e-3 * x[0]; /* most digits are lost in the constant */
}

static double fails_far_away(void *ctx, const double *x, int *failed)
{
    const double *radius = ctx;
    if (fabs(x[0]) > *radius) {
        *failed = 1;
        return INFINITY;
    }
    return x[0] * x[0] + 2 * x[0];
}

static const double lower[] = {-1, -1, -2}, upper[] = {1, 1, 2};

static void central(void **state)
{
    double x[] = {0.2, 0.4, 0.0}, before[3];
    int calls = 0, failed = 0;
    (void)state;
    memcpy(before, x, sizeof x);
    const double want[] = {0.3 * exp(0.06) * sin(0.4), exp(0.06) * cos(0.4), 1e-3};
    double f = smooth(&calls, x, &failed);
    for (uint64_t i = 0; i < 3; i++) {
        calls = 0;
        ds_quotient q = ds_difference_component(smooth, &calls, 3, x, lower, upper, i, f);
        assert_true(q.agreed);
        assert_true(fabs(q.value - want[i]) <= 1e-9 * fabs(want[i]) + 1e-10);
        assert_true(fabs(q.value - want[i]) <= 2 * q.spread + 1e-9 * fabs(want[i]) + 1e-10);
        assert_true(q.step > 0 && q.step <= 1e-4 * (upper[i] - lower[i]));
        assert_int_equal(calls, 4); /* two steps sizes agree at once */
        assert_memory_equal(x, before, sizeof x);
    }
}

static void one_sided_at_the_bounds(void **state)
{
    double x[] = {-1, 1, 2};
    int calls = 0, failed = 0;
    (void)state;
    const double want[] = {0.3 * exp(-0.3) * sin(1), exp(-0.3) * cos(1), 1e-3};
    double f = smooth(&calls, x, &failed);
    for (uint64_t i = 0; i < 3; i++) {
        ds_quotient q = ds_difference_component(smooth, &calls, 3, x, lower, upper, i, f);
        assert_true(q.agreed);
        assert_true(fabs(q.value - want[i]) <= 1e-7 * fabs(want[i]) + 1e-10);
    }
    /* A box that leaves no room at all for a quotient. */
    double low[] = {0, 0, 0}, high[] = {1e-320, 1, 1}, at[] = {0, 0.5, 0.5};
    ds_quotient q = ds_difference_component(smooth, &calls, 3, at, low, high, 0, f);
    assert_false(q.agreed);
}

static void finer_than_a_kink(void **state)
{
    /* The kink lies 3e-5 away: the coarse step of 2e-4 straddles it, the finer ones agree on the slope -1. */
    double x[] = {0, 0};
    (void)state;
    ds_quotient q = ds_difference_component(kink, NULL, 2, x, lower, upper, 0, 3e-5);
    assert_true(q.agreed);
    assert_true(fabs(q.value + 1) < 1e-8);
    assert_true(q.step < 3e-5);
    /* On the kink every central quotient is 0; it is symmetric there, so that nothing can be noticed. */
    x[0] = 3e-5;
    q = ds_difference_component(kink, NULL, 2, x, lower, upper, 1, 0.0);
    assert_true(q.agreed && fabs(q.value - 1) < 1e-8);
}

static void noise_is_admitted(void **state)
{
    double x[] = {0.123, 0.456};
    int failed = 0;
    (void)state;
    ds_quotient q = ds_difference_component(rough, NULL, 2, x, lower, upper, 0, rough(NULL, x, &failed));
    assert_false(q.agreed);
    assert_true(q.spread > 1e-6);
}

static void round_off_counts_as_agreement(void **state)
{
    double x[] = {0.1, 0.1};
    int failed = 0;
    (void)state;
    ds_quotient q = ds_difference_component(offset, NULL, 2, x, lower, upper, 0, offset(NULL, x, &failed));
    assert_true(q.agreed);
    assert_true(fabs(q.value - 1e-3) < 1e-4);
}

static void failed_points_give_no_number(void **state)
{
    double x[] = {0.0, 0.0}, radius = 1e-5;
    (void)state;
    /* Steps 2e-4 and 2e-5 leave the radius, 2e-6 and 2e-7 agree. */
    ds_quotient q = ds_difference_component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(q.agreed && fabs(q.value - 2) < 1e-8);
    /* One step is left: a number, but none to compare it with. */
    radius = 1e-6;
    q = ds_difference_component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(!q.agreed && fabs(q.value - 2) < 1e-6 && q.spread == HUGE_VAL);
    radius = 1e-9;
    q = ds_difference_component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(!q.agreed && isnan(q.value));
    assert_true(x[0] == 0.0);
}

static void along_a_direction(void **state)
{
    double x[] = {0.2, 0.4, 0.0}, d[] = {1, -2, 0.5};
    int calls = 0, failed = 0;
    (void)state;
    double want = 0.3 * exp(0.06) * sin(0.4) - 2 * exp(0.06) * cos(0.4) + 0.5e-3;
    ds_quotient q = ds_difference(smooth, &calls, 3, x, lower, upper, d, smooth(&calls, x, &failed));
    assert_true(q.agreed && fabs(q.value - want) < 1e-8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(central),
        cmocka_unit_test(one_sided_at_the_bounds),
        cmocka_unit_test(finer_than_a_kink),
        cmocka_unit_test(noise_is_admitted),
        cmocka_unit_test(round_off_counts_as_agreement),
        cmocka_unit_test(failed_points_give_no_number),
        cmocka_unit_test(along_a_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
