/* SPDX-License-Identifier: Apache-2.0 */
/* test_lbfgsb.c - L-BFGS-B on bounded problems: against recorded runs of SciPy, evaluation counts,
 * optimality conditions, and losses that are not finite. */
#include "functions.h"
#include "golden.h"

#include "methods/gradient/lbfgsb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

typedef double (*function)(void *ctx, size_t n, const double *x, double *g);

typedef struct outcome {
    int state, evaluations;
    double f, pg;
    int monotone;
} outcome;

static outcome minimise(function f, void *ctx, size_t n, const double *lower, const double *upper, double *x,
                        const lbfgsb_options *options)
{
    lbfgsb *s = lbfgsb_create(n, lower, upper, options);
    assert_non_null(s);
    double g[128], last = INFINITY;
    outcome r = {.state = LBFGSB_EVALUATE, .monotone = 1};
    lbfgsb_start(s, x);
    while (r.state == LBFGSB_EVALUATE) {
        const double *p = lbfgsb_point(s);
        for (size_t k = 0; k < n; k++) {
            assert_true(p[k] >= lower[k] && p[k] <= upper[k]);
        }
        double value = f(ctx, n, p, g);
        r.state = lbfgsb_tell(s, value, g);
        double now;
        lbfgsb_solution(s, &now);
        r.monotone &= now <= last;
        last = now;
    }
    memcpy(x, lbfgsb_solution(s, &r.f), n * sizeof(double));
    r.evaluations = lbfgsb_evaluations(s);
    r.pg = lbfgsb_projected_gradient(s);
    lbfgsb_destroy(s);
    return r;
}

/* The problems of the recorded file, by name. */
static double quadratic(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx;
    double f = 0.0;
    for (size_t i = 0; i < n; i++) {
        double lambda = 1.0 + 99.0 * (double)i / 99.0, d = x[i] - 2.0 * sin(1.0 + (double)i);
        f += 0.5 * lambda * d * d;
        g[i] = lambda * d;
    }
    return f;
}

static double beale(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx, (void)n;
    static const double y[3] = {1.5, 2.25, 2.625};
    double f = 0.0, power = 1.0;
    g[0] = g[1] = 0.0;
    for (int i = 0; i < 3; i++) {
        double before = power;
        power *= x[1];
        double r = y[i] - x[0] * (1.0 - power);
        f += r * r;
        g[0] -= 2.0 * r * (1.0 - power);
        g[1] += 2.0 * r * x[0] * (i + 1.0) * before;
    }
    return f;
}

static double trid(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx;
    double f = 0.0;
    for (size_t i = 0; i < n; i++) {
        f += (x[i] - 1.0) * (x[i] - 1.0) - (i > 0 ? x[i] * x[i - 1] : 0.0);
        g[i] = 2.0 * (x[i] - 1.0) - (i > 0 ? x[i - 1] : 0.0) - (i + 1 < n ? x[i + 1] : 0.0);
    }
    return f;
}

static double coupled(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx;
    double f = 0.0, dot = -1.0;
    for (size_t i = 0; i < n; i++) {
        dot += sin(0.7 * (double)i + 0.3) * x[i];
    }
    for (size_t i = 0; i < n; i++) {
        double lambda = pow(10.0, 4.0 * (double)i / 29.0), d = x[i] - cos((double)i);
        f += 0.5 * lambda * d * d;
        g[i] = lambda * d + 1000.0 * dot * sin(0.7 * (double)i + 0.3);
    }
    return f + 500.0 * dot * dot;
}

static double dixon_price(void *ctx, size_t n, const double *x, double *g)
{
    (void)ctx;
    double f = (x[0] - 1.0) * (x[0] - 1.0);
    memset(g, 0, n * sizeof(double));
    g[0] = 2.0 * (x[0] - 1.0);
    for (size_t i = 1; i < n; i++) {
        double w = (double)i + 1.0, r = 2.0 * x[i] * x[i] - x[i - 1];
        f += w * r * r;
        g[i] += 8.0 * w * r * x[i];
        g[i - 1] -= 2.0 * w * r;
    }
    return f;
}

static const struct {
    const char *name;
    function f;
} problems[] = {{"rosenbrock2_free_box", rosenbrock},
                {"rosenbrock2_active", rosenbrock},
                {"rosenbrock25_bounds", rosenbrock},
                {"quadratic100", quadratic},
                {"beale_active", beale},
                {"trid10_box", trid},
                {"coupled30", coupled},
                {"dixon_price12", dixon_price}};

static void compare_problem(const json_t *p, function f)
{
    size_t n = (size_t)golden_number(p, "n");
    double x0[128], lower[128], upper[128], x[128], g[128], g0[128], expected[128];
    golden_array(p, "x0", x0);
    golden_array(p, "lower", lower);
    golden_array(p, "upper", upper);
    golden_array(p, "grad0", g0);
    assert_true(fabs(f(NULL, n, x0, g) - golden_number(p, "f0")) <= 1e-12 * fabs(golden_number(p, "f0")));
    for (size_t k = 0; k < n; k++) {
        assert_true(fabs(g[k] - g0[k]) <= 1e-10 * (1.0 + fabs(g0[k])));
    }
    const json_t *tight = json_object_get(p, "tight"), *usual = json_object_get(p, "default");
    lbfgsb_options options = LBFGSB_DEFAULTS;
    memcpy(x, x0, sizeof(x));
    outcome r = minimise(f, NULL, n, lower, upper, x, &options);
    double recorded = golden_number(usual, "evaluations");
    print_message("# %-22s evaluations %3d (SciPy %3.0f)", golden_text(p, "name"), r.evaluations, recorded);
    assert_true(r.monotone);
    assert_true(r.evaluations <= 2.0 * recorded && 2.0 * r.evaluations >= recorded);

    options.ftol = 1e-15;
    options.gtol = 1e-10;
    memcpy(x, x0, sizeof(x));
    r = minimise(f, NULL, n, lower, upper, x, &options);
    double best = golden_number(tight, "f");
    print_message(", tight %3d (%3.0f): f %.3g above\n", r.evaluations, golden_number(tight, "evaluations"),
                  r.f - best);
    assert_true(fabs(r.f - best) <= fmax(1e-8 * fabs(best), 1e-12));
    golden_array(tight, "x", expected);
    for (size_t k = 0; k < n; k++) {
        assert_true(fabs(x[k] - expected[k]) < 1e-4 * (1.0 + fabs(expected[k])));
    }
}

static void test_recorded_runs(void **state)
{
    (void)state;
    json_t *root = golden_or_skip("optimizers/lbfgsb.json");
    json_t *list = golden_list(root, "problems");
    size_t compared = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *p = json_array_get(list, i);
        for (size_t k = 0; k < 8; k++) {
            if (strcmp(problems[k].name, golden_text(p, "name")) == 0) {
                compare_problem(p, problems[k].f);
                compared++;
            }
        }
    }
    assert_true(compared > 0);
    json_decref(root);
}

static void test_rosenbrock(void **state)
{
    (void)state;
    double lower[2] = {-5, -5}, upper[2] = {5, 5}, x[2] = {-1.2, 1.0};
    lbfgsb_options options = LBFGSB_DEFAULTS;
    outcome r = minimise(rosenbrock, NULL, 2, lower, upper, x, &options);
    assert_true(r.f < 1e-10 && r.evaluations < 60);
    double none[2] = {-INFINITY, -INFINITY}, more[2] = {INFINITY, INFINITY};
    x[0] = -1.2;
    x[1] = 1.0;
    r = minimise(rosenbrock, NULL, 2, none, more, x, &options);
    assert_true(r.f < 1e-10 && r.evaluations < 60);
}

/* Separable quadratic, eigenvalues 1 to 100, optimum outside the box in about half of the coordinates. */
static void test_quadratic(void **state)
{
    (void)state;
    double lower[100], upper[100], x[100], g[100];
    for (int i = 0; i < 100; i++) {
        lower[i] = -1.0;
        upper[i] = 1.0;
        x[i] = 0.0;
    }
    lbfgsb_options options = LBFGSB_DEFAULTS;
    options.ftol = 0.0;
    options.gtol = 5e-7; /* the smallest eigenvalue is 1: this is the error of x as well */
    outcome r = minimise(quadratic, NULL, 100, lower, upper, x, &options);
    assert_true(r.state == LBFGSB_CONVERGED_G || r.state == LBFGSB_CONVERGED_F); /* F: not one bit lower */
    assert_true(r.evaluations < 150);
    quadratic(NULL, 100, x, g);
    for (int i = 0; i < 100; i++) {
        double expected = fmax(-1.0, fmin(1.0, 2.0 * sin(1.0 + i)));
        assert_true(fabs(x[i] - expected) < 1e-6);
        double projected = fmax(-1.0, fmin(1.0, x[i] - g[i])) - x[i];
        assert_true(fabs(projected) <= 1e-5);
    }
}

/* A loss that is not finite beyond a wall: the line search must come back from it. */
static double walled(void *ctx, size_t n, const double *x, double *g)
{
    double f = sphere(ctx, n, x, g);
    if (x[0] > 0.6) {
        g[0] = NAN;
        return INFINITY;
    }
    return f;
}

static void test_not_finite(void **state)
{
    (void)state;
    double lower[3] = {-10, -10, -10}, upper[3] = {10, 10, 10}, x[3] = {-9, 3, 4}, centre[3] = {0.5, 1, 1};
    lbfgsb_options options = LBFGSB_DEFAULTS;
    outcome r = minimise(walled, centre, 3, lower, upper, x, &options);
    assert_true(r.f < 1e-8);
    x[0] = 1.0;
    r = minimise(walled, centre, 3, lower, upper, x, &options);
    assert_int_equal(r.state, LBFGSB_NONFINITE);
    assert_int_equal(r.evaluations, 1);
}

static void test_limits(void **state)
{
    (void)state;
    double lower[2] = {-5, -5}, upper[2] = {5, 5}, x[2] = {-1.2, 1.0};
    lbfgsb_options options = LBFGSB_DEFAULTS;
    options.max_iterations = 3;
    outcome r = minimise(rosenbrock, NULL, 2, lower, upper, x, &options);
    assert_int_equal(r.state, LBFGSB_LIMIT);
    options.max_iterations = 1000;
    options.max_evaluations = 7;
    x[0] = -1.2;
    x[1] = 1.0;
    r = minimise(rosenbrock, NULL, 2, lower, upper, x, &options);
    assert_int_equal(r.state, LBFGSB_LIMIT);
    assert_true(r.evaluations <= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_runs), cmocka_unit_test(test_rosenbrock),
        cmocka_unit_test(test_quadratic),     cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
