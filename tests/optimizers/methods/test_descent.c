/* SPDX-License-Identifier: Apache-2.0 */
/* test_descent.c - the gradient descent of the optimizers: when it stops, that it stays in the
 * box, its step rules; and the covariance matrix adaptation of 2001. */
#include "functions.h"

#include "methods/cma/cma2001.h"
#include "methods/gradient/descent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct script {
    const double *loss; /* told in this order; the gradient is constant */
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
    (void)state;
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
    (void)state;
    descent_options o = {DESCENT_ADAM, 0.01, 3, 1e-9, 0};
    descent d;
    static const double falling[] = {9, 8, 7, 6}, start[2] = {0, 0};
    script p = {.loss = falling, .gradient = {1, 1}, .inside = 1, .outcome = DS_EVAL_BAD_GRAD};
    assert_true(descent_init(&d, 2, &o));
    assert_int_equal(descent_run(&d, start, 4, play, &p), DS_OK);
    assert_int_equal(p.calls, 1);
    assert_true(d.best_loss == 9.0); /* the loss counts, the gradient does not */
    p = (script){.loss = falling, .gradient = {1, 1}, .inside = 1, .end = DS_STOPPED};
    assert_int_equal(descent_run(&d, start, 4, play, &p), DS_STOPPED);
    assert_int_equal(p.calls, 1);
    descent_free(&d);
}

/* Every rule, also with enormous gradients, stays in the box and ends in the corner it points to. */
static void test_box(void **state)
{
    (void)state;
    static const double falling[] = {9,  8,  7,  6,  5,  4,  3,  2,  1,   0,   -1,
                                     -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12};
    for (int step = DESCENT_ADAM; step <= DESCENT_MOMENTUM; step++) {
        descent_options o = {step, 0.7, 3, 1e-9, 0};
        descent d;
        script p = run_script(falling, 1e200, -1e200, &o, 20, &d);
        assert_true(d.last[0] == -1.0 && d.last[1] == 1.0);
        assert_true(p.calls < 10); /* it ended in the corner instead of evaluating it again and again */
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
    (void)state;
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

/* Quasi-Newton steps reach the bottom of a bowl in a few evaluations, and a second descent begins anew. */
static void test_quasi_newton(void **state)
{
    (void)state;
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

/* One gradient of a thousand bowls, as a contact makes it, early in the descent. */
static ds_status kicked_bowl(void *ctx, const double *s, double *loss, double *gradient, uint32_t *outcome)
{
    ds_status status = bowl(ctx, s, loss, gradient, outcome);
    if (((counted *)ctx)->calls == 5) {
        gradient[0] *= 1e9;
        gradient[1] *= -1e9;
    }
    return status;
}

/* An outlier among the gradients would make all later steps of Adam 1e-9 of what they were: shortened it does
 * no harm. */
static void test_outlier(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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

/* Without descents the adaptation is a (5/5, 10)-CMA-ES of 2001: it must solve a sphere and an ellipsoid. */
static void test_cma_converges(void **state)
{
    (void)state;
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

/* A matrix that has overflowed is forgotten; LAPACK would be at it for ever. */
static void test_cma_overflows(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_rules),    cmocka_unit_test(test_other_ends),
        cmocka_unit_test(test_box),           cmocka_unit_test(test_steps),
        cmocka_unit_test(test_quasi_newton),  cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_cma_constants), cmocka_unit_test(test_cma_update),
        cmocka_unit_test(test_cma_converges), cmocka_unit_test(test_cma_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
