/* SPDX-License-Identifier: Apache-2.0 */
/* test_gradients.c - the optimizers randdescents, adam and lbfgsb as plugins: the cases of every optimizer,
 * the structure of their searches, parallel arms, and their results on analytic functions. */
#include "functions.h"
#include "objective.h"
#include "test.h"

static void test_every_case(void **state)
{
    static const char *const cases[][2] = {
        {"randdescents", ""},
        {"randdescents", "step=gd arms=7"},
        {"randdescents", "step=nsgd"},
        {"randdescents", "step=armijo"},
        {"randdescents", "step=lbfgsb arms=3"},
        {"randdescents", "step=momentum j=1"},
        {"adam", ""},
        {"adam", "rule=sgd arms=3"},
        {"adam", "rule=momentum schedule=cosine"},
        {"adam", "rule=nesterov schedule=halve smooth=true"},
        {"adam", "rule=normalized beta1=0.5"},
        {"lbfgsb", ""},
        {"lbfgsb", "arms=5 patience=3 j=30"},
        {"lbfgsb", "memory=1 use_x0=true"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        optimizer_stands(cases[i][0], cases[i][1], 203, 1, 0);
    }
}

static void test_no_gradient(void **state)
{
    static const char *const plugins[] = {"randdescents", "adam", "lbfgsb"};
    fake_problem p = optimizer_box(3, -1, 1, sphere, 10);
    p.no_gradient = 1;
    for (int i = 0; i < 3; i++) {
        fake_result r = fake_run(plugins[i], "", &p, 1);
        assert_int_equal(r.create_status, DS_E_UNSUPPORTED);
        assert_non_null(strstr(r.error, plugins[i]));
        fake_free(&r);
    }
}

/* Budget 1000 with descents of at most 50 evaluations: at least 20 starts; each is a group that
 * begins with "init". */
static void test_descents(void **state)
{
    fake_problem p = optimizer_box(10, -1, 1, ripples, 1000);
    fake_result r = fake_run("randdescents", "", &p, 1);
    optimizer_assert_sound(&r, 1000);
    assert_true(fake_groups(&r) >= 20);
    assert_int_equal(fake_count(&r, "init"), fake_groups(&r));
    uint64_t length = 0;
    for (uint64_t i = 0; i < r.evaluations; i++) {
        int first = i == 0 || r.rows[i].group != r.rows[i - 1].group;
        length = first ? 1 : length + 1;
        assert_string_equal(r.rows[i].tag, first ? "init" : "descent");
        assert_true(length <= 50);
        assert_int_equal(r.rows[i].want, DS_WANT_GRAD);
    }
    fake_free(&r);
}

/* 5, 4, 4, 4, ...: the search ends after the fourth evaluation without progress; a zero gradient ends it at
 * once. */
static double told(void *ctx, size_t n, const double *x, double *g)
{
    int *count = ctx;
    (void)x;
    for (size_t k = 0; g && k < n; k++) {
        g[k] = count[1] ? 0.0 : 1e-3;
    }
    return count[0]++ % 6 == 0 ? 5.0 : 4.0;
}

static void test_end_of_a_descent(void **state)
{
    int count[2] = {0, 0};
    fake_problem p = optimizer_box(4, -1e6, 1e6, told, 60);
    p.ctx = count;
    fake_result r = fake_run("randdescents", "step=gd lr=1e-12", &p, 1);
    optimizer_assert_sound(&r, 60);
    assert_int_equal(fake_groups(&r), 10);
    fake_free(&r);
    count[0] = 0;
    count[1] = 1;
    r = fake_run("randdescents", "", &p, 1);
    assert_int_equal(fake_groups(&r), 60);
    fake_free(&r);
}

/* Several arms do the searches of one arm, interleaved: start i and its end are the same. */
static void test_arms(void **state)
{
    static const char *const plugins[] = {"randdescents", "adam", "lbfgsb"};
    fake_problem p = optimizer_box(4, -1, 1, ripples, 400);
    for (int i = 0; i < 3; i++) {
        fake_result one = fake_run(plugins[i], "arms=1", &p, 3), four = fake_run(plugins[i], "arms=4", &p, 3);
        optimizer_assert_sound(&one, 400);
        optimizer_assert_sound(&four, 400);
        assert_true(four.calls == 100);
        uint64_t begin = 0; /* of search 1, then of search 2 */
        for (size_t arm = 0; arm < 2; arm++) {
            for (uint64_t j = 0; begin + j < 400 && one.rows[begin + j].group == arm + 1; j++) {
                assert_memory_equal(one.x + (begin + j) * 4, four.x + (4 * j + arm) * 4, 4 * sizeof(double));
            }
            while (begin < 400 && one.rows[begin].group == arm + 1) {
                begin++;
            }
        }
        fake_free(&one);
        fake_free(&four);
    }
}

/* With blind = 3 a bad gradient does not end a search of adam, which continues with its moments and results
 * as good. Before the first good gradient, or after more bad ones, it starts elsewhere. */
static void test_bad_gradients(void **state)
{
    static const struct {
        const char *parameters;
        double reaches;
    } rule[] = {{"rule=adam lr=0.05 j=300 blind=3 patience=60", 1e-9},
                {"rule=sgd lr=0.1 j=300 blind=3 patience=60", 1e-9},
                {"rule=momentum lr=0.1 j=300 blind=3 patience=60", 1e-9},
                {"rule=nesterov lr=0.02 j=300 blind=3 patience=60", 1e-9},
                {"rule=normalized beta1=0 j=300 blind=3 patience=60", 1e-3}};
    for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
        fake_problem p = optimizer_box(4, -1, 1, sphere, 300);
        p.bad_gradient_rate = 0.1;
        fake_result r = fake_run("adam", rule[i].parameters, &p, 5);
        optimizer_assert_sound(&r, 300);
        uint64_t first = 0;
        while (first < 300 && r.rows[first].group == 1) {
            first++;
        }
        print_message("# %s: %d searches, the first of %d evaluations, best loss %.3g\n", rule[i].parameters,
                      (int)fake_groups(&r), (int)first, r.best);
        assert_true(first >= 60 && r.best < rule[i].reaches);
        fake_free(&r);
        p.bad_gradient_rate = 1.0;
        r = fake_run("adam", rule[i].parameters, &p, 5);
        assert_int_equal(fake_groups(&r), 300);
        fake_free(&r);
        p.bad_gradient_rate = 0.9;
        r = fake_run("adam", rule[i].parameters, &p, 5);
        assert_true(fake_groups(&r) > 200);
        fake_free(&r);
    }
    /* by default the first bad gradient ends a search */
    fake_problem p = optimizer_box(4, -1, 1, sphere, 300);
    p.bad_gradient_rate = 0.1;
    fake_result r = fake_run("adam", "lr=0.05 j=300 patience=60", &p, 5);
    assert_true(fake_groups(&r) > 20);
    fake_free(&r);
}

static double best(const char *plugin, const char *parameters, const fake_problem *p, uint64_t seed)
{
    fake_result r = fake_run(plugin, parameters, p, seed);
    optimizer_assert_sound(&r, p->budget);
    double loss = r.best;
    fake_free(&r);
    return loss;
}

/* Results of each rule on a sphere and in Rosenbrock's valley. */
static void test_reaches(void **state)
{
    static const struct {
        const char *plugin, *parameters;
        double sphere, valley; /* largest loss allowed after 1000 evaluations, 10 and 2 variables */
    } cases[] = {
        {"randdescents", "", 1e-2, 2e-2},
        {"randdescents", "step=gd", 1e-6, 1e3},
        {"randdescents", "step=armijo", 1e-4, 0.1},
        {"randdescents", "step=lbfgsb", 1e-20, 1e-6},
        {"adam", "j=500 schedule=cosine", 1e-6, 1e-3},
        {"adam", "rule=sgd", 1e-6, 2.0},
        {"adam", "rule=momentum", 1e-6, 2.0},
        {"adam", "rule=nesterov lr=0.02 schedule=halve j=1000", 1e-6, 0.1},
        {"adam", "rule=normalized beta1=0", 1e-6, 2.0},
        {"lbfgsb", "", 1e-20, 1e-10},
    };
    double centre[10];
    for (int k = 0; k < 10; k++) {
        centre[k] = 0.7 * sin(k + 1.0);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_problem p = optimizer_box(10, -1, 1, sphere, 1000);
        p.ctx = centre;
        double a = best(cases[i].plugin, cases[i].parameters, &p, 5);
        p = optimizer_box(2, -2, 2, rosenbrock, 1000);
        double b = best(cases[i].plugin, cases[i].parameters, &p, 5);
        print_message("# %-12s %-45s sphere %.2e  rosenbrock %.2e\n", cases[i].plugin, cases[i].parameters, a,
                      b);
        assert_true(a <= cases[i].sphere);
        assert_true(b <= cases[i].valley);
    }
}

/* rule = normalized on squared distances: with a first step of half the way and a known floor, every step is
 * half of the rest, whatever the length of the gradient. Without a floor all steps are as long as the first.
 */
static double tilted(void *ctx, size_t n, const double *x, double *g)
{
    double f = 0.0;
    for (size_t k = 0; k < n; k++) {
        f += (x[k] - 0.6) * (x[k] - 0.6);
        if (g) {
            g[k] = (x[k] - 0.6) * *(const double *)ctx;
        }
    }
    return f;
}

static void test_normalized(void **state)
{
    static const double lengths[] = {1e-9, 2.0, 1e9}, steady[] = {0.7, 0.2, 0.3, 0.2};
    for (int i = 0; i < 6; i++) {
        const int known = i < 3;
        fake_problem p = optimizer_box(4, -1, 1, tilted, 5);
        double length = lengths[i % 3];
        p.ctx = &length;
        p.loss_floor = known ? 0.0 : -(double)INFINITY;
        fake_result r = fake_run("adam",
                                 known ? "rule=normalized beta1=0 lr=0.6 use_x0=true"
                                       : "rule=normalized beta1=0 lr=0.5 use_x0=true",
                                 &p, 1);
        assert_true(r.evaluations == 5);
        for (int k = 1; k < 5; k++) { /* from 1.2 to the optimum */
            const double left = known ? 1.2 / pow(2.0, k) : steady[k - 1];
            assert_true(fabs(r.rows[k].loss - left * left) < 1e-12);
        }
        fake_free(&r);
    }
}

/* With use_x0, L-BFGS-B from the middle of the box solves a separable quadratic with eigenvalues 1 to 100 and
 * active bounds for about half of its 100 variables in fewer than 150 simulations. */
static double quadratic(void *ctx, size_t n, const double *x, double *g)
{
    const double *centre = ctx;
    double f = 0.0;
    for (size_t k = 0; k < n; k++) {
        double a = 1.0 + 99.0 * (double)k / (double)(n - 1), d = x[k] - centre[k];
        double edge = fmax(0.0, fabs(centre[k]) - 1.0); /* the least value is 0 */
        f += 0.5 * a * (d * d - edge * edge);
        if (g) {
            g[k] = a * d;
        }
    }
    return f;
}

static void test_bounded_quadratic(void **state)
{
    double centre[100];
    for (int k = 0; k < 100; k++) {
        centre[k] = 2.0 * sin(12.9898 * (k + 1.0));
    }
    fake_problem p = optimizer_box(100, -1, 1, quadratic, 150);
    p.ctx = centre;
    double loss = best("lbfgsb", "use_x0=true ftol=0", &p, 1);
    print_message("# bounded quadratic in 100 variables: %.2e after 150 simulations\n", loss);
    assert_true(loss < 1e-6);
}

RUN_TESTS(test_every_case, test_no_gradient, test_descents, test_end_of_a_descent, test_arms, test_reaches,
          test_normalized, test_bounded_quadratic, test_bad_gradients)
