/* SPDX-License-Identifier: Apache-2.0 */
/* test_descent.c - local methods: the gradient descent of the optimizers, with its stop rules, box and step
 * rules; the covariance matrix adaptation of 2001; L-BFGS-B against recorded runs of SciPy, optimality
 * conditions and losses that are not finite. */
#include "functions.h"
#include "golden.h"
#include "methods/cma/cma2001.h"
#include "methods/gradient/descent.h"
#include "methods/gradient/lbfgsb.h"
#include "test.h"

typedef struct script {
    const double *loss; /* returned in this order; the gradient is constant */
    double gradient[2];
    int calls, inside;
    uint32_t outcome;
    ds_status end;
} script;

static ds_status play(void *ctx, const double *s, double *loss, double *gradient, uint32_t *outcome)
{
    script *p = ctx;
    p->inside &= fabs(s[0]) <= 1.0 && fabs(s[1]) <= 1.0;
    *loss = p->loss[p->calls++];
    gradient[0] = p->gradient[0];
    gradient[1] = p->gradient[1];
    *outcome = p->outcome;
    return p->end;
}

static script run_script(const double *loss, double g0, double g1, const descent_options *options,
                         int64_t limit, descent *d)
{
    script p = {.loss = loss, .gradient = {g0, g1}, .inside = 1};
    static const double start[2] = {0.5, -0.2};
    assert_true(descent_init(d, 2, options));
    assert_int_equal(descent_run(d, start, limit, play, &p), DS_OK);
    assert_true(p.inside);
    return p;
}

static void test_stop_rules(void **state)
{
    descent_options o = {DESCENT_ADAM, 0.01, 3, 1e-9, 0};
    descent d;
    static const double stalled[] = {5, 4, 4, 4, 4, 4, 4, 4}, falling[] = {9, 8, 7, 6, 5, 4, 3, 2};
    static const double rising[] = {1, 2, 3, 0.5, 2, 2, 2, 2, 2}, failed[] = {3, 2, INFINITY, 1, 1};
    script p = run_script(stalled, 1, 1, &o, 8, &d);
    assert_int_equal(p.calls, 6); /* the 4th evaluation without improvement ends it */
    assert_true(d.best_loss == 4.0);
    descent_free(&d);
    p = run_script(falling, 1, 1, &o, 5, &d);
    assert_int_equal(p.calls, 5);
    assert_true(d.best_loss == 5.0 && d.evaluations == 5);
    assert_memory_equal(d.best, d.last, 2 * sizeof(double));
    descent_free(&d);
    p = run_script(rising, 1, 1, &o, 9, &d);
    assert_int_equal(p.calls, 8);
    assert_true(d.best_loss == 0.5);
    descent_free(&d);
    p = run_script(falling, 0, 0, &o, 8, &d); /* zero gradient */
    assert_int_equal(p.calls, 1);
    descent_free(&d);
    p = run_script(falling, NAN, 1, &o, 8, &d);
    assert_int_equal(p.calls, 1);
    descent_free(&d);
    p = run_script(failed, 1, 1, &o, 5, &d);
    assert_int_equal(p.calls, 3);
    assert_true(d.best_loss == 2.0 && d.evaluations == 2);
    descent_free(&d);
}

static void test_other_ends(void **state)
{
    descent_options o = {DESCENT_ADAM, 0.01, 3, 1e-9, 0};
    descent d;
    static const double falling[] = {9, 8, 7, 6}, start[2] = {0, 0};
    script p = {.loss = falling, .gradient = {1, 1}, .inside = 1, .outcome = DS_EVAL_BAD_GRAD};
    assert_true(descent_init(&d, 2, &o));
    assert_int_equal(descent_run(&d, start, 4, play, &p), DS_OK);
    assert_int_equal(p.calls, 1);
    assert_true(d.best_loss == 9.0); /* the loss counts, not the gradient */
    p = (script){.loss = falling, .gradient = {1, 1}, .inside = 1, .end = DS_STOPPED};
    assert_int_equal(descent_run(&d, start, 4, play, &p), DS_STOPPED);
    assert_int_equal(p.calls, 1);
    descent_free(&d);
}

/* Every rule, even with enormous gradients, stays in the box and ends in the corner that the gradient points
 * to. */
static void test_box(void **state)
{
    static const double falling[] = {9,  8,  7,  6,  5,  4,  3,  2,  1,   0,   -1,
                                     -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12};
    for (int step = DESCENT_ADAM; step <= DESCENT_MOMENTUM; step++) {
        descent_options o = {step, 0.7, 3, 1e-9, 0};
        descent d;
        script p = run_script(falling, 1e200, -1e200, &o, 20, &d);
        assert_true(d.last[0] == -1.0 && d.last[1] == 1.0);
        assert_true(p.calls < 10); /* it ended in the corner and did not evaluate it again and again */
        descent_free(&d);
    }
}

typedef struct counted {
    int calls;
} counted;

static ds_status bowl(void *ctx, const double *s, double *loss, double *gradient, uint32_t *outcome)
{
    ((counted *)ctx)->calls++;
    *loss = 7.0 * sphere(NULL, 2, s, gradient);
    gradient[0] *= 7.0;
    gradient[1] *= 7.0;
    *outcome = DS_EVAL_OK;
    return DS_OK;
}

static void test_steps(void **state)
{
    static const double start[2] = {0.8, -0.6}, zero[2] = {0, 0};
    static const double second[4][2] = {
        {0.7, -0.5}, /* Adam: lr in every coordinate */
        {0.8 - 0.1 * 14 * 0.8, -0.6 + 0.1 * 14 * 0.6},
        {0.8 - 0.1 * 1.4142135623730951 * 0.8, -0.6 + 0.1 * 1.4142135623730951 * 0.6},
        {0.8 - 0.1 * 0.1 * 14 * 0.8, -0.6 + 0.1 * 0.1 * 14 * 0.6}};
    for (int step = DESCENT_ADAM; step <= DESCENT_MOMENTUM; step++) {
        descent_options o = {step, 0.1, 3, 1e-9, 0};
        descent d;
        counted c = {0};
        assert_true(descent_init(&d, 2, &o));
        descent_run(&d, start, 2, bowl, &c);
        assert_true(fabs(d.last[0] - second[step][0]) < 1e-6 && fabs(d.last[1] - second[step][1]) < 1e-6);
        descent_run(&d, start, 60, bowl, &c);
        assert_true(d.best_loss < 0.2);
        descent_run(&d, zero, 60, bowl, &c);
        assert_int_equal(d.evaluations, 1);
        descent_free(&d);
    }
}

/* Quasi-Newton steps reach the bottom of a bowl in a few evaluations; a second descent starts without memory.
 */
static void test_quasi_newton(void **state)
{
    static const double start[2][2] = {{0.8, -0.6}, {-0.3, 0.9}};
    descent_options o = {DESCENT_LBFGSB, 0.1, 3, 1e-9, 0};
    descent d;
    counted c = {0};
    assert_true(descent_init(&d, 2, &o));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(descent_run(&d, start[i], 20, bowl, &c), DS_OK);
        assert_true(d.best_loss < 1e-20 && d.evaluations < 12);
    }
    descent_free(&d);
}

/* One gradient is a thousand times too large, as at a contact, early in the descent. */
static ds_status kicked_bowl(void *ctx, const double *s, double *loss, double *gradient, uint32_t *outcome)
{
    ds_status status = bowl(ctx, s, loss, gradient, outcome);
    if (((counted *)ctx)->calls == 5) {
        gradient[0] *= 1e9;
        gradient[1] *= -1e9;
    }
    return status;
}

/* An outlier among the gradients would shrink all later steps of Adam by 1e-9; clipped it does no harm. */
static void test_outlier(void **state)
{
    static const double start[2] = {0.8, -0.6};
    double best[2];
    for (int shortened = 0; shortened < 2; shortened++) {
        descent_options o = {DESCENT_ADAM, 0.05, 10, 1e-9, shortened ? 1000.0 : 0.0};
        descent d;
        counted c = {0};
        assert_true(descent_init(&d, 2, &o));
        descent_run(&d, start, 60, kicked_bowl, &c);
        best[shortened] = d.best_loss;
        descent_free(&d);
    }
    print_message("# after an outlier: %.3g as it is, %.3g shortened\n", best[0], best[1]);
    assert_true(best[0] > 1.0 && best[1] < 0.05);
}

/* Constants of the listing of 2001 and sums of the weights. */
static void test_cma_constants(void **state)
{
    static const size_t n[] = {10, 30, 90, 400};
    static const double c_c[] = {0.285714, 0.117647, 0.042553, 0.009901}, d_s[] = {4.5, 9.5, 24.5, 102};
    static const double c_1[] = {0.015351, 0.002027, 0.000239, 0.0000124};
    for (int i = 0; i < 4; i++) {
        cma2001 c;
        assert_true(cma2001_init(&c, n[i], 10, 5, CMA2001_EQUAL_WEIGHTS, CMA2001_RANK_ONE));
        assert_true(fabs(c.c_c - c_c[i]) < 5e-7 && c.c_s == c.c_c);
        assert_true(fabs(c.d_s - d_s[i]) < 1e-12 && fabs(c.c_1 - c_1[i]) < (i < 3 ? 5e-7 : 5e-8));
        assert_true(fabs(c.c_w - sqrt(5.0)) < 1e-14);
        cma2001_free(&c);
    }
    cma2001 c; /* the tutorial's default for n = 10 */
    assert_true(cma2001_init(&c, 10, 10, 5, CMA2001_LOG_WEIGHTS, CMA2001_TUTORIAL));
    assert_true(fabs(c.c_w * c.c_w - 3.167299) < 1e-6 && fabs(c.c_s - 0.284429) < 1e-6);
    assert_true(fabs(c.d_s - 1.284429) < 1e-6 && fabs(c.c_c - 0.294990) < 1e-6);
    assert_true(fabs(c.c_1 - 0.01528382) < 1e-8 && fabs(c.c_mu - 0.02355178) < 1e-8);
    static const double weights[] = {0.456273,  0.270753,  0.162231,  0.085234,  0.025510,
                                     -0.080013, -0.221764, -0.344555, -0.452864, -0.549750};
    for (int i = 0; i < 10; i++) {
        assert_true(fabs(c.weights[i] - weights[i]) < 1e-6);
    }
    cma2001_free(&c);
}

/* One update written out for n = 2 from C = I: eq. 14 to 17. */
static void test_cma_update(void **state)
{
    cma2001 c;
    static const double mean[2] = {0.1, -0.2}, shift[2] = {0.06, 0.09}, next[2] = {0.5, 0.5};
    assert_true(cma2001_init(&c, 2, 10, 5, CMA2001_EQUAL_WEIGHTS, CMA2001_RANK_ONE));
    cma2001_start(&c, mean, 0.3);
    cma2001_update(&c, shift, NULL, 0, next);
    double cc = 4.0 / 6.0, f = sqrt(cc * (2.0 - cc)) * sqrt(5.0), p[2] = {f * 0.2, f * 0.3};
    double c1 = 2.0 / ((2.0 + sqrt(2.0)) * (2.0 + sqrt(2.0))), length = sqrt(p[0] * p[0] + p[1] * p[1]);
    assert_true(fabs(c.p_c[0] - p[0]) < 1e-15 && fabs(c.p_s[1] - p[1]) < 1e-15);
    assert_true(fabs(c.C[0] - (1.0 - c1 + c1 * p[0] * p[0])) < 1e-15);
    assert_true(fabs(c.C[2] - c1 * p[0] * p[1]) < 1e-15); /* upper triangle, by columns */
    assert_true(fabs(c.sigma - 0.3 * exp((length / 1.254273 - 1.0) / (1.0 / cc + 1.0))) < 1e-6);
    assert_memory_equal(c.mean, next, sizeof(next));
    ds_random rng = ds_random_open(1, "sample", 0);
    double x[2], cov[3] = {0}, expected[3];
    for (int i = 0; i < 20000; i++) { /* the samples have covariance sigma^2 C */
        cma2001_sample(&c, &rng, x);
        cov[0] += (x[0] - next[0]) * (x[0] - next[0]) / 20000.0;
        cov[1] += (x[0] - next[0]) * (x[1] - next[1]) / 20000.0;
        cov[2] += (x[1] - next[1]) * (x[1] - next[1]) / 20000.0;
    }
    expected[0] = c.sigma * c.sigma * c.C[0];
    expected[1] = c.sigma * c.sigma * c.C[2];
    expected[2] = c.sigma * c.sigma * c.C[3];
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(cov[i] - expected[i]) < 0.03 * expected[0]);
    }
    cma2001_free(&c);
}

/* Without descents the adaptation is the (5/5, 10)-CMA-ES of 2001: it must solve a sphere and an ellipsoid.
 */
static void test_cma_converges(void **state)
{
    for (int update = CMA2001_RANK_ONE; update <= CMA2001_TUTORIAL; update++) {
        cma2001 c;
        double mean[5] = {1, 1, 1, 1, 1}, x[10 * 5], ranked[10 * 5], l[10], shift[5], best = INFINITY;
        ds_random rng = ds_random_open(1, "cma", 0);
        assert_true(cma2001_init(&c, 5, 10, 5, CMA2001_LOG_WEIGHTS, update));
        cma2001_start(&c, mean, 0.5);
        for (int g = 0; g < 600; g++) {
            for (int k = 0; k < 10; k++) {
                cma2001_sample(&c, &rng, x + 5 * k);
                l[k] = 0.0;
                for (int i = 0; i < 5; i++) {
                    l[k] += pow(1e3, i / 4.0) * x[5 * k + i] * x[5 * k + i];
                }
                int at = k; /* insertion sort into ranked */
                double value = l[k];
                while (at > 0 && l[at - 1] > value) {
                    l[at] = l[at - 1];
                    memcpy(ranked + 5 * at, ranked + 5 * (at - 1), 5 * sizeof(double));
                    at--;
                }
                l[at] = value;
                memcpy(ranked + 5 * at, x + 5 * k, 5 * sizeof(double));
            }
            best = fmin(best, l[0]);
            cma2001_recombine(&c, ranked, 10, mean);
            for (int i = 0; i < 5; i++) {
                shift[i] = mean[i] - c.mean[i];
            }
            cma2001_update(&c, shift, ranked, 10, mean);
        }
        assert_true(best < 1e-12);
        cma2001_free(&c);
    }
}

/* A matrix that has overflowed is reset; LAPACK would not return. */
static void test_cma_overflows(void **state)
{
    cma2001 c;
    static const double mean[2] = {0.1, -0.2}, shift[2] = {1e200, 1.0};
    ds_random rng = ds_random_open(1, "sample", 0);
    double x[2];
    assert_true(cma2001_init(&c, 2, 10, 5, CMA2001_EQUAL_WEIGHTS, CMA2001_RANK_ONE));
    cma2001_start(&c, mean, 0.3);
    cma2001_update(&c, shift, NULL, 0, mean);
    assert_false(isfinite(c.C[0]));
    c.sigma = 0.3;
    cma2001_sample(&c, &rng, x);
    assert_true(fabs(x[0] - mean[0]) < 2.0 && fabs(x[1] - mean[1]) < 2.0);
    assert_true(fabs(c.C[0] - 1.0) <= 0 && fabs(c.p_c[0]) <= 0 && fabs(c.C[2]) <= 0);
    cma2001_free(&c);
}

/* ---- L-BFGS-B ---- */

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
    double f = 0.0;
    for (size_t i = 0; i < n; i++) {
        f += (x[i] - 1.0) * (x[i] - 1.0) - (i > 0 ? x[i] * x[i - 1] : 0.0);
        g[i] = 2.0 * (x[i] - 1.0) - (i > 0 ? x[i - 1] : 0.0) - (i + 1 < n ? x[i + 1] : 0.0);
    }
    return f;
}

static double coupled(void *ctx, size_t n, const double *x, double *g)
{
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
    double lower[100], upper[100], x[100], g[100];
    for (int i = 0; i < 100; i++) {
        lower[i] = -1.0;
        upper[i] = 1.0;
        x[i] = 0.0;
    }
    lbfgsb_options options = LBFGSB_DEFAULTS;
    options.ftol = 0.0;
    options.gtol = 5e-7; /* the smallest eigenvalue is 1, so this is also the error of x */
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

/* A loss that is not finite beyond a wall: the line search must return from it. */
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

/* With first_step the length of the first step is that number, whatever the unit of the loss. */
static void test_first_step(void **state)
{
    const double lower[3] = {-1, -1, -1}, upper[3] = {1, 1, 1}, start[3] = {0.1, -0.2, 0.3},
                 g[3] = {2, -1, 0.5};
    for (double unit = 1e-6; unit < 1e7; unit *= 1e6) {
        for (double first = 0.1; first < 0.8; first += 0.3) {
            const lbfgsb_options options = {10, 0.0, 0.0, 100, 100, first};
            const double slope[3] = {g[0] * unit, g[1] * unit, g[2] * unit};
            lbfgsb *s = lbfgsb_create(3, lower, upper, &options);
            lbfgsb_start(s, start);
            assert_int_equal(lbfgsb_tell(s, unit, slope), LBFGSB_EVALUATE);
            const double *x = lbfgsb_point(s);
            for (int k = 0; k < 3; k++) {
                assert_true(fabs(x[k] - (start[k] - first * g[k] / 2)) < 1e-12);
            }
            lbfgsb_destroy(s);
        }
    }
}

RUN_TESTS(test_stop_rules, test_other_ends, test_box, test_steps, test_quasi_newton, test_outlier,
          test_cma_constants, test_cma_update, test_cma_converges, test_cma_overflows, test_recorded_runs,
          test_rosenbrock, test_quadratic, test_not_finite, test_limits, test_first_step)
