/* SPDX-License-Identifier: Apache-2.0 */
/* test_finite_difference.c - finite differences with a chosen step, on functions with known derivatives. */
#include "difference/finite_difference.h"
#include "test.h"

static double smooth(void *ctx, const double *x, int *failed)
{
    ++*(int *)ctx;
    *failed = 0;
    return exp(0.3 * x[0]) * sin(x[1]) + 1e-3 * x[2];
}

static double kink(void *ctx, const double *x, int *failed)
{
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

static double stairs(void *ctx, const double *x, int *failed)
{
    /* Slope 5 between jumps that are 1e-7 apart; the slope over long distances is 1. */
    double u = x[0] * 1e7, k = floor(u);
    (void)ctx;
    *failed = 0;
    return 1e-7 * k + 5e-7 * (u - k);
}

static double single(void *ctx, const double *x, int *failed)
{
    float sum = 0;
    (void)ctx;
    *failed = 0;
    for (int i = 0; i < 50; i++) {
        sum += 0.02f * sinf(3.0f * (float)x[0] + 0.01f * (float)i);
    }
    return (double)sum;
}

static const double lower[] = {-1, -1, -2}, upper[] = {1, 1, 2};

/* The slope of f along variable i at x, with the claim `slope`. */
static ds_quotient look(ds_function *f, void *ctx, uint64_t n, double *x, const double *low,
                        const double *high, uint64_t i, double f_at_x, double slope)
{
    const ds_around a = {f, ctx, n, x, low, high, f_at_x, 0, 0};
    double width = high[i] - low[i];
    const ds_claim claim = {slope * width, 1e-6 * fabs(slope) * width, fabs(slope) * width, 1e-10};
    return ds_difference_component(&a, i, &claim);
}

static ds_quotient component(ds_function *f, void *ctx, uint64_t n, double *x, const double *low,
                             const double *high, uint64_t i, double f_at_x)
{
    return look(f, ctx, n, x, low, high, i, f_at_x, NAN);
}

static void central(void **state)
{
    double x[] = {0.2, 0.4, 0.0}, before[3];
    int calls = 0, failed = 0;
    memcpy(before, x, sizeof x);
    const double want[] = {0.3 * exp(0.06) * sin(0.4), exp(0.06) * cos(0.4), 1e-3};
    double f = smooth(&calls, x, &failed);
    for (uint64_t i = 0; i < 3; i++) {
        calls = 0;
        ds_quotient q = component(smooth, &calls, 3, x, lower, upper, i, f);
        assert_true(q.agreed);
        assert_true(fabs(q.value - want[i]) <= 1e-9 * fabs(want[i]) + 1e-10);
        assert_true(fabs(q.value - want[i]) <= 2 * q.spread + 1e-9 * fabs(want[i]) + 1e-10);
        assert_true(q.step > 0 && q.step <= 1e-4);
        assert_int_equal(calls, 4); /* the first two step sizes agree */
        assert_memory_equal(x, before, sizeof x);
    }
}

static void one_sided_at_the_bounds(void **state)
{
    double x[] = {-1, 1, 2};
    int calls = 0, failed = 0;
    const double want[] = {0.3 * exp(-0.3) * sin(1), exp(-0.3) * cos(1), 1e-3};
    double f = smooth(&calls, x, &failed);
    for (uint64_t i = 0; i < 3; i++) {
        ds_quotient q = component(smooth, &calls, 3, x, lower, upper, i, f);
        assert_true(q.agreed);
        assert_true(fabs(q.value - want[i]) <= 1e-7 * fabs(want[i]) + 1e-10);
    }
    /* A box without room for any quotient. */
    double low[] = {0, 0, 0}, high[] = {1e-320, 1, 1}, at[] = {0, 0.5, 0.5};
    ds_quotient q = component(smooth, &calls, 3, at, low, high, 0, f);
    assert_false(q.agreed);
}

static void finer_than_a_kink(void **state)
{
    /* The kink is 3e-5 away: the coarse step of 2e-4 straddles it, the finer ones agree on the slope -1. */
    double x[] = {0, 0};
    ds_quotient q = component(kink, NULL, 2, x, lower, upper, 0, 3e-5);
    assert_true(q.agreed);
    assert_true(fabs(q.value + 1) < 1e-8);
    assert_true(q.step < 3e-5);
    /* On the kink itself the other variable has one slope, this one two. */
    x[0] = 3e-5;
    q = component(kink, NULL, 2, x, lower, upper, 1, 0.0);
    assert_true(q.agreed && !q.kink && fabs(q.value - 1) < 1e-8);
    q = component(kink, NULL, 2, x, lower, upper, 0, 0.0);
    assert_true(q.kink && !q.agreed && fabs(q.left + 1) < 1e-6 && fabs(q.right - 1) < 1e-6);
}

static void noise_is_admitted(void **state)
{
    double x[] = {0.123, 0.456};
    int failed = 0;
    ds_quotient q = component(rough, NULL, 2, x, lower, upper, 0, rough(NULL, x, &failed));
    assert_false(q.agreed);
    assert_true(q.spread > 1e-6);
}

static void round_off_counts_as_agreement(void **state)
{
    double x[] = {0.1, 0.1};
    int failed = 0;
    ds_quotient q = component(offset, NULL, 2, x, lower, upper, 0, offset(NULL, x, &failed));
    assert_true(q.agreed);
    assert_true(fabs(q.value - 1e-3) < 1e-4);
}

static void failed_points_give_no_number(void **state)
{
    double x[] = {0.0, 0.0}, radius = 1e-5;
    /* Steps 2e-4 and 2e-5 leave the radius, 2e-6 and 2e-7 agree. */
    ds_quotient q = component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(q.agreed && fabs(q.value - 2) < 1e-8);
    /* So do still finer ones, down to 1e-10 of the box. */
    radius = 1e-8;
    q = component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(q.agreed && fabs(q.value - 2) < 1e-6);
    /* With only one or two steps there is a number, but nothing to compare it with. */
    radius = 3e-10;
    q = component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(!q.agreed && fabs(q.value - 2) < 1e-6 && q.spread == HUGE_VAL);
    radius = 1e-12;
    q = component(fails_far_away, &radius, 2, x, lower, upper, 0, 0.0);
    assert_true(!q.agreed && isnan(q.value));
    assert_true(x[0] == 0.0);
}

static void along_a_direction(void **state)
{
    double x[] = {0.2, 0.4, 0.0}, d[] = {1, -2, 0.5};
    int calls = 0, failed = 0;
    double want = 0.3 * exp(0.06) * sin(0.4) - 2 * exp(0.06) * cos(0.4) + 0.5e-3;
    const ds_around a = {smooth, &calls, 3, x, lower, upper, smooth(&calls, x, &failed), 0, 0};
    const ds_direction along = {d, 0, 3}, part = {d + 1, 1, 1};
    ds_quotient q = ds_difference(&a, &along, NULL);
    assert_true(q.agreed && fabs(q.value - want) < 1e-8);
    q = ds_difference(&a, &part, NULL);
    assert_true(q.agreed && fabs(q.value + 2 * exp(0.06) * cos(0.4)) < 1e-8);
}

/* Claims that are right, off by a thousandth, or of the wrong sign. */
static void claims_are_judged(void **state)
{
    static const double wrong[] = {1.001, 0.999, 1.1, 0, -1};
    double x[] = {0.2, 0.4, 0.0};
    int calls = 0, failed = 0;
    double f = smooth(&calls, x, &failed), slope = 0.3 * exp(0.06) * sin(0.4);
    calls = 0;
    assert_int_equal(look(smooth, &calls, 3, x, lower, upper, 0, f, slope).verdict, DS_SLOPE_AGREES);
    assert_int_equal(calls, 4);
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        calls = 0;
        ds_quotient q = look(smooth, &calls, 3, x, lower, upper, 0, f, wrong[k] * slope);
        assert_int_equal(q.verdict, DS_SLOPE_WRONG);
        assert_true(fabs(q.value - slope) < 1e-9 && calls <= 40);
    }
}

static void kinks_are_judged(void **state)
{
    double x[] = {3e-5, 0};
    for (double slope = -1; slope <= 1; slope += 0.5) {
        assert_int_equal(look(kink, NULL, 2, x, lower, upper, 0, 0, slope).verdict, DS_SLOPE_KINK);
    }
    assert_int_equal(look(kink, NULL, 2, x, lower, upper, 0, 0, 1.01).verdict, DS_SLOPE_WRONG);
    assert_int_equal(look(kink, NULL, 2, x, lower, upper, 0, 0, -1.01).verdict, DS_SLOPE_WRONG);
}

/* The slope between jumps is right, although every step over a jump gives another one. */
static void dense_jumps(void **state)
{
    for (int k = 0; k < 100; k++) {
        double x[] = {0.013 * k - 0.62 + 3.7e-8};
        int failed = 0;
        ds_quotient q = look(stairs, NULL, 1, x, lower, upper, 0, stairs(NULL, x, &failed), 5);
        assert_int_not_equal(q.verdict, DS_SLOPE_WRONG);
    }
}

static void single_precision(void **state)
{
    int right = 0, wrong = 0, slightly = 0;
    for (int k = 0; k < 100; k++) {
        double x[] = {0.0123 * k - 0.6}, slope = 0;
        int failed = 0;
        for (int i = 0; i < 50; i++) {
            slope += 0.06 * cos(3 * x[0] + 0.01 * i);
        }
        double f = single(NULL, x, &failed);
        ds_quotient q = look(single, NULL, 1, x, lower, upper, 0, f, slope);
        assert_int_not_equal(q.verdict, DS_SLOPE_WRONG);
        right += q.verdict == DS_SLOPE_AGREES && q.seen < 0.05 * 3;
        wrong += look(single, NULL, 1, x, lower, upper, 0, f, 1.1 * slope).verdict == DS_SLOPE_WRONG;
        slightly += look(single, NULL, 1, x, lower, upper, 0, f, 1.001 * slope).verdict == DS_SLOPE_WRONG;
    }
    assert_true(right > 90 && wrong > 90 && slightly > 90);
}

/* A sum of a double-precision and a single-precision part: at the finest steps only the first is smooth. */
static double mixed(void *ctx, const double *x, int *failed)
{
    *failed = 0;
    return 0.1 * x[0] + (double)(0.02f * sinf(3.0f * (float)x[0]));
}

static void below_the_lattice(void **state)
{
    for (int k = 0; k < 100; k++) {
        double x[] = {0.0123 * k - 0.6};
        int failed = 0;
        double slope = 0.1 + 0.06 * cos(3 * x[0]);
        ds_quotient q = look(mixed, NULL, 1, x, lower, upper, 0, mixed(NULL, x, &failed), slope);
        assert_int_not_equal(q.verdict, DS_SLOPE_WRONG);
    }
}

static void fits_know_their_error(void **state)
{
    enum { COUNT = 32 };
    double t[COUNT] = {0}, f[COUNT] = {0};
    ds_slope_fit fit;
    assert_false(ds_slope_fit_make(DS_FIT_LEAST - 1, t, f, 0.1, &fit));
    for (int j = 0; j < COUNT; j++) {
        t[j] = 0.1 * (-1 + 2 * (j + 0.5) / COUNT);
        f[j] = exp(3 * t[j]);
    }
    assert_true(ds_slope_fit_make(COUNT, t, f, 0.1, &fit));
    assert_true(fabs(fit.slope - 3) < 1e-5 && fabs(fit.slope - 3) <= 2 * fit.error && fit.error < 1e-4);
    for (int j = 0; j < COUNT; j++) { /* a jump */
        f[j] += t[j] > 0.031 ? 0.05 : 0;
    }
    assert_true(ds_slope_fit_make(COUNT, t, f, 0.1, &fit));
    assert_true(fabs(fit.slope - 3) <= 5 * fit.error && fit.noise > 1e-3);
    for (int j = 0; j < COUNT; j++) {
        t[j] = 0.05;
    }
    assert_false(ds_slope_fit_make(COUNT, t, f, 0.1, &fit)); /* one point cannot distinguish polynomials */
}

/* Two steps settle a claim that is off by less than 1e-6 of itself; all steps show the error. */
static void small_errors_show_at_all_steps(void **state)
{
    double x[] = {0.2, 0.4, 0.0};
    int calls = 0, failed = 0;
    double f = smooth(&calls, x, &failed), slope = 0.3 * exp(0.06) * sin(0.4) * 2;
    const ds_around a = {smooth, &calls, 3, x, lower, upper, f, 0, 0};
    for (int wrong = 0; wrong < 2; wrong++) {
        double claimed = slope * (wrong ? 1 + 2e-8 : 1);
        ds_claim claim = {claimed, 1e-6 * fabs(claimed), fabs(claimed), 1e-10};
        assert_int_equal(ds_difference_component(&a, 0, &claim).verdict, DS_SLOPE_AGREES);
        claim.tolerance = 2e-9 * fabs(claimed);
        assert_int_equal(ds_difference_component_again(&a, 0, &claim).verdict,
                         wrong ? DS_SLOPE_WRONG : DS_SLOPE_AGREES);
    }
}

/* ---- seams ---- */

static double sum(void *ctx, const double *x, int *failed)
{
    *failed = 0;
    return x[0] + 2 * x[1];
}

/* Along x0 a slope at x1 = 0; elsewhere noise hides it. */
static double hidden(void *ctx, const double *x, int *failed)
{
    *failed = 0;
    return x[0] + (x[1] > -1 + 1e-5 ? 1e-2 * sin(1e15 * (x[0] + 1.001) * (2 + x[1])) : 0);
}

/* The gradient of the sum, written so that it is wrong at a tie of x0 and x1. */
static int tied(void *ctx, const double *x, double *grad)
{
    grad[0] = x[0] != x[1];
    grad[1] = 2;
    return 1;
}

/* Wrong at the bound of x0, wherever x1 is. */
static int clamped(void *ctx, const double *x, double *grad)
{
    grad[0] = x[0] > -1;
    grad[1] = 2;
    return 1;
}

/* The derivative at the lower bound of x0 is that of the other side, where the slope is 1.1. */
static int outside(void *ctx, const double *x, double *grad)
{
    grad[0] = x[0] > -1 ? 1 : 1.1;
    grad[1] = 2;
    return 1;
}

/* Half of the derivative at every bound, as of a clamp at a tie. */
static int halved(void *ctx, const double *x, double *grad)
{
    grad[0] = fabs(x[0]) < 1 ? 1 : 0.5;
    grad[1] = fabs(x[1]) < 1 ? 2 : 1;
    return 1;
}

/* Wrong at the bound, and by another amount inside. */
static int outside_and_wrong(void *ctx, const double *x, double *grad)
{
    grad[0] = x[0] > -1 ? 1.03 : 1.1;
    grad[1] = 2;
    return 1;
}

/* Wrong everywhere. */
static int wrong(void *ctx, const double *x, double *grad)
{
    grad[0] = 0.999;
    grad[1] = 2;
    return 1;
}

static int on_seam_of(ds_function *f, ds_gradient_function *gradient, double x0, double x1)
{
    double x[] = {x0, x1}, grad[2], room[4], width = 2;
    int failed = 0;
    gradient(NULL, x, grad);
    const ds_around a = {f, NULL, 2, x, lower, upper, f(NULL, x, &failed), 0, 0};
    const ds_gradient_claim g = ds_gradient_claim_make(2, grad, lower, upper, 0, 0);
    const ds_seam_test b = {&a, &g, gradient, room, 7};
    const ds_direction along = {&width, 0, 1};
    int seam = ds_on_seam(&b, &along, (1 - grad[0]) * width);
    assert_true(x[0] == x0 && x[1] == x1);
    return seam;
}

static int on_seam(ds_gradient_function *gradient, double x0, double x1)
{
    return on_seam_of(sum, gradient, x0, x1);
}

static void kinks_at_a_bound_are_no_faults(void **state)
{
    assert_int_equal(on_seam(outside, -1, 0.3), DS_SEAM_BOUND);
    assert_int_equal(on_seam(outside, -1, 1), DS_SEAM_BOUND);
    assert_int_equal(on_seam(halved, -1, 0.3), DS_SEAM_NONE);
    assert_int_equal(on_seam(halved, -1, -1), DS_SEAM_NONE);
    assert_int_equal(on_seam(halved, 1, -1), DS_SEAM_NONE);
    assert_int_equal(on_seam(outside_and_wrong, -1, 0.3), DS_SEAM_NONE);
}

static void seams_are_no_faults(void **state)
{
    assert_true(on_seam(tied, 0.25, 0.25));
    assert_true(on_seam(tied, -1, -1)); /* x1 leaves the bound, x0 does not */
    assert_false(on_seam(clamped, -1, 0.3));
    assert_false(on_seam(clamped, -1, -1));
    assert_false(on_seam(wrong, 0.25, 0.25));
    assert_false(on_seam(wrong, -1, 1));
    /* where nothing can be decided, nothing counts as right */
    assert_false(on_seam_of(hidden, wrong, -1, -1));
}

RUN_TESTS(central, one_sided_at_the_bounds, finer_than_a_kink, noise_is_admitted,
          round_off_counts_as_agreement, failed_points_give_no_number, along_a_direction, claims_are_judged,
          kinks_are_judged, dense_jumps, single_precision, below_the_lattice, fits_know_their_error,
          small_errors_show_at_all_steps, seams_are_no_faults, kinks_at_a_bound_are_no_faults)
