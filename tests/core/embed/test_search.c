/* SPDX-License-Identifier: Apache-2.0 */
/* test_search - optimizers and environments inside another program (diffsim/lib/ask_tell.h,
 * diffsim/lib/environment.h): the same points as in a run, budgets, failures, ends at every moment, several at
 * once, and what is refused. */
#include "objective.h"

#include <diffsim/lib/environment.h>
#include <diffsim/lib/ask_tell.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 3, BUDGET = 150, ROOM = 4096 };

static const double lower[N] = {-3, -3, -3}, upper[N] = {3, 3, 3};

static double bowl(void *ctx, size_t n, const double *x, double *gradient)
{
    double sum = 0;
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - 0.3 * (double)(i + 1);
        sum += (double)(i + 1) * d * d + 0.1 * sin(9 * x[i]);
        if (gradient != NULL) {
            gradient[i] = 2 * (double)(i + 1) * d + 0.9 * cos(9 * x[i]);
        }
    }
    return sum;
}

static ds_search_options options(uint64_t budget, uint64_t seed, const char *settings)
{
    return (ds_search_options){.struct_size = sizeof(ds_search_options),
                               .has_gradient = 1,
                               .n = N,
                               .lower = lower,
                               .upper = upper,
                               .budget = budget,
                               .seed = seed,
                               .settings = settings};
}

static ds_search *must_open(const char *optimizer, const ds_search_options *o)
{
    char why[600] = "";
    ds_search *s = ds_search_open(optimizer, o, why, sizeof why);
    if (s == NULL) {
        print_message("%s\n", why);
    }
    assert_non_null(s);
    return s;
}

/* Asks and tells once: the rows are appended to `points`, where there is one. Returns what ask() did. */
static ds_status step(ds_search *s, double *points)
{
    static _Thread_local double loss[ROOM], grad[ROOM * N];
    uint64_t count, again, used = ds_search_used(s);
    uint32_t want, want_again;
    const double *x, *x_again;
    ds_status status = ds_search_ask(s, &count, &x, &want);
    if (status != DS_OK) {
        return status;
    }
    assert_int_equal(ds_search_ask(s, &again, &x_again, &want_again), DS_OK);
    assert_true(again == count && x_again == x && want_again == want && count <= ROOM);
    for (uint64_t row = 0; row < count; row++) {
        loss[row] = bowl(NULL, N, x + row * N, want & DS_WANT_GRAD ? grad + row * N : NULL);
    }
    if (points != NULL) {
        memcpy(points + used * N, x, count * N * sizeof *x);
    }
    assert_int_equal(ds_search_tell(s, loss, want & DS_WANT_GRAD ? grad : NULL), DS_OK);
    assert_int_equal(ds_search_used(s), used + count);
    return DS_OK;
}

/* ---- searches ---- */

static void test_same_points_as_a_run(void **state)
{
    static const struct {
        const char *plugin, *settings, *parameters;
    } cases[] = {{"cmaes", NULL, ""},
                 {"boleap", "", ""},
                 {"lbfgsb", NULL, ""},
                 {"turbo", "n_init = 7\nbatch=3", "n_init=7 batch=3"},
                 {"rand", NULL, ""},
                 {"lm", NULL, ""},
                 {"nlopt", "algorithm = ln_sbplx\n", "algorithm=ln_sbplx"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_problem p = {.n = N, .lower = -3, .upper = 3, .f = bowl, .budget = BUDGET};
        double points[BUDGET * N], best;
        const double *best_x;
        p.target = p.loss_floor = -INFINITY;
        fake_result r = fake_run(cases[k].plugin, cases[k].parameters, &p, 11);
        ds_search_options o = options(BUDGET, 11, cases[k].settings);
        ds_search *s = must_open(cases[k].plugin, &o);
        while (step(s, points) == DS_OK) {
        }
        assert_int_equal(ds_search_used(s), r.evaluations);
        assert_memory_equal(points, r.x, r.evaluations * N * sizeof *points);
        assert_int_equal(ds_search_best(s, &best, &best_x), DS_OK);
        assert_true(best == r.best && bowl(NULL, N, best_x, NULL) == best);
        assert_string_equal(ds_search_message(s), "");
        ds_search_close(s);
        fake_free(&r);
    }
}

static void test_budget_cuts_a_batch(void **state)
{
    ds_search_options o = options(25, 1, "lambda = 10");
    ds_search *s = must_open("cmaes", &o);
    uint64_t count;
    uint32_t want;
    const double *x;
    (void)state;
    while (step(s, NULL) == DS_OK) {
    }
    assert_int_equal(ds_search_used(s), 25);
    for (int i = 0; i < 3; i++) { /* the end stays the end */
        assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_STOPPED);
        assert_true(count == 0 && x == NULL);
        assert_int_equal(ds_search_tell(s, lower, NULL), DS_E_ARG);
    }
    ds_search_close(s);
}

static void test_closed_at_any_moment(void **state)
{
    static const char *const plugins[] = {"cmaes", "boleap", "lbfgsb", "rand"};
    (void)state;
    for (size_t k = 0; k < sizeof plugins / sizeof *plugins; k++) {
        for (int steps = 0; steps < 12; steps++) {
            ds_search_options o = options(0, 3, NULL);
            ds_search *s = must_open(plugins[k], &o);
            for (int i = 0; i < steps / 2; i++) {
                assert_int_equal(step(s, NULL), DS_OK);
            }
            if (steps % 2) { /* asked, not told */
                uint64_t count;
                uint32_t want;
                const double *x;
                assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_OK);
            }
            ds_search_close(s);
        }
    }
    ds_search_close(NULL);
}

typedef struct walk {
    ds_search *search;
    double points[BUDGET * N];
} walk;

static void *walk_on(void *arg)
{
    walk *w = arg;
    while (step(w->search, w->points) == DS_OK) {
    }
    return NULL;
}

static void test_two_at_once(void **state)
{
    double alone[2][BUDGET * N], together[2][BUDGET * N];
    static const char *const plugins[2] = {"boleap", "cmaes"};
    static walk beside[2];
    pthread_t thread;
    ds_search *s[2];
    int running = 2;
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        ds_search_options o = options(BUDGET, 5 + k, NULL);
        s[k] = must_open(plugins[k], &o);
        while (step(s[k], alone[k]) == DS_OK) {
        }
        ds_search_close(s[k]);
        s[k] = must_open(plugins[k], &o);
        beside[k].search = must_open(plugins[k], &o);
    }
    while (running > 0) {
        running = 0;
        for (int k = 0; k < 2; k++) {
            running += step(s[k], together[k]) == DS_OK;
        }
    }
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(alone[k], together[k], sizeof alone[k]);
        ds_search_close(s[k]);
    }
    /* From two threads of the program they compute at the same time. */
    assert_int_equal(pthread_create(&thread, NULL, walk_on, &beside[1]), 0);
    walk_on(&beside[0]);
    pthread_join(thread, NULL);
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(alone[k], beside[k].points, sizeof alone[k]);
        ds_search_close(beside[k].search);
    }
}

/* Every third evaluation fails, every fifth gradient is bad: the search goes on,
 * and no such loss is the best. */
static void test_failed_evaluations(void **state)
{
    static const char *const plugins[] = {"cmaes", "boleap", "bo", "lbfgsb", "adam"};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    for (size_t k = 0; k < sizeof plugins / sizeof *plugins; k++) {
        ds_search_options o = options(90, 3, NULL);
        ds_search *s = must_open(plugins[k], &o);
        double loss[ROOM], grad[ROOM * N], best;
        uint64_t count, number = 0;
        uint32_t want;
        const double *x;
        while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
            for (uint64_t row = 0; row < count; row++, number++) {
                loss[row] = bowl(NULL, N, x + row * N, grad + row * N);
                loss[row] = number % 3 == 1 ? bad[number % 9 / 3] : loss[row];
                grad[row * N + 1] = number % 5 == 2 ? (double)NAN : grad[row * N + 1];
                for (int i = 0; i < N; i++) {
                    assert_true(x[row * N + (uint64_t)i] >= lower[i] && x[row * N + (uint64_t)i] <= upper[i]);
                }
            }
            assert_int_equal(ds_search_tell(s, loss, grad), DS_OK);
        }
        assert_int_equal(ds_search_used(s), 90);
        assert_int_equal(ds_search_best(s, &best, NULL), DS_OK);
        assert_true(isfinite(best));
        ds_search_close(s);
    }
}

static void test_nothing_but_failures(void **state)
{
    ds_search_options o = options(30, 3, NULL);
    ds_search *s = must_open("cmaes", &o);
    double loss[ROOM], best = 0;
    const double *x, *best_x = lower;
    uint64_t count;
    uint32_t want;
    (void)state;
    for (int i = 0; i < ROOM; i++) {
        loss[i] = NAN;
    }
    while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
        assert_int_equal(ds_search_tell(s, loss, NULL), DS_OK);
    }
    assert_int_equal(ds_search_best(s, &best, &best_x), DS_STOPPED);
    assert_true(isinf(best) && best_x == NULL);
    ds_search_close(s);
}

static void test_told_wrongly(void **state)
{
    ds_search_options o = options(30, 3, NULL);
    ds_search *s = must_open("lbfgsb", &o);
    double loss[ROOM] = {0};
    const double *x;
    uint64_t count;
    uint32_t want;
    (void)state;
    assert_int_equal(ds_search_tell(s, loss, NULL), DS_E_ARG); /* nothing was asked */
    assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_OK);
    assert_int_equal(want, DS_WANT_GRAD);
    assert_int_equal(ds_search_tell(s, loss, NULL), DS_E_ARG); /* without the gradient that was wanted */
    assert_int_equal(ds_search_tell(s, NULL, loss), DS_E_ARG);
    assert_int_equal(ds_search_used(s), 0);
    ds_search_close(s);
}

static void refused(const char *optimizer, const ds_search_options *o, const char *part)
{
    char why[600] = "", shorter[8];
    assert_null(ds_search_open(optimizer, o, why, sizeof why));
    if (strstr(why, part) == NULL || strchr(why, '\n') != NULL) {
        print_message("'%s' does not contain '%s'\n", why, part);
        fail();
    }
    assert_null(ds_search_open(optimizer, o, shorter, sizeof shorter));
    assert_int_equal(strlen(shorter), 7);
    assert_null(ds_search_open(optimizer, o, NULL, 0));
}

static void test_refused(void **state)
{
    const double nan_lower[N] = {-1, NAN, -1}, outside[N] = {0, 0, 4};
    ds_search_options o = options(30, 3, NULL), bad = o;
    (void)state;
    refused("cmeas", &o, "cmaes"); /* the nearest name */
    refused("torus", &o, "torus");
    refused(NULL, &o, "missing");
    refused("ppo", &o, "ppo needs stepwise control, which a search with ask and tell does not have; take");
    refused("cmaes", NULL, "options");
    bad.struct_size = 8;
    refused("cmaes", &bad, "struct_size");
    bad = o;
    bad.n = 0;
    refused("cmaes", &bad, "n >= 1");
    bad = o;
    bad.lower = nan_lower;
    refused("cmaes", &bad, "variable 1");
    bad.lower = upper;
    refused("cmaes", &bad, "lower < upper");
    bad = o;
    bad.x0 = outside;
    refused("cmaes", &bad, "start point: variable 2");
    bad = o;
    bad.has_gradient = 0;
    refused("lbfgsb", &bad, "needs gradients");
    bad = o;
    bad.settings = "sigma0 = 0.3\nlamda = 5\n";
    refused("cmaes", &bad, "lambda");
    bad.settings = "lambda = -5";
    refused("cmaes", &bad, "lambda");
    bad.settings = "lambda";
    refused("cmaes", &bad, "settings:1: expected KEY = VALUE");
    bad.settings = "lambda = 8\n\n  \nlamda = 5";
    refused("cmaes", &bad, "settings:4: cmaes: unknown parameter 'lamda'");
    bad.settings = "[opt]\nlamda = 5";
    refused("cmaes", &bad, "settings:2: ");
    bad.settings = "[run]\nbudget = 5";
    refused("cmaes", &bad, "[opt]");
}

/* ---- environments ---- */

static ds_environment *must_open_environment(const char *name, const char *settings)
{
    char why[600] = "";
    ds_environment *e = ds_environment_open(name, settings, 1, 1, why, sizeof why);
    if (e == NULL) {
        print_message("%s\n", why);
    }
    assert_non_null(e);
    return e;
}

static void test_environment(void **state)
{
    ds_environment *e = must_open_environment("analytic", "dim = 4\nfunction = rosenbrock");
    ds_environment_box box = {.struct_size = sizeof box};
    double x[4], grad[4], loss, up, down, h = 1e-6;
    uint32_t outcome = 99;
    (void)state;
    assert_int_equal(ds_environment_describe(e, &box), DS_OK);
    assert_true(box.n == 4 && box.has_gradient == 1);
    for (int i = 0; i < 4; i++) {
        assert_true(box.lower[i] < box.upper[i] && box.x0[i] >= box.lower[i] && box.x0[i] <= box.upper[i]);
        x[i] = 0.5 * box.x0[i] + 0.2 * box.lower[i] + 0.3 * box.upper[i];
    }
    assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, grad, &outcome), DS_OK);
    assert_int_equal(outcome, DS_EVAL_OK);
    assert_true(isfinite(loss) && loss > box.loss_floor);
    for (int i = 0; i < 4; i++) {
        double middle = x[i];
        x[i] = middle + h;
        ds_environment_evaluate(e, x, 0, &up, NULL, NULL);
        x[i] = middle - h;
        ds_environment_evaluate(e, x, 0, &down, NULL, NULL);
        x[i] = middle;
        assert_true(fabs((up - down) / (2 * h) - grad[i]) < 1e-5 * (1 + fabs(grad[i])));
    }
    x[2] = box.upper[2] + 1;
    assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_E_ARG);
    assert_non_null(strstr(ds_environment_message(e), "variable 2"));
    x[2] = NAN;
    assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, NULL, NULL), DS_E_ARG);
    box.struct_size = 4;
    assert_int_equal(ds_environment_describe(e, &box), DS_E_ARG);
    ds_environment_close(e);
    ds_environment_close(NULL);
}

static void test_environment_refused(void **state)
{
    static const char *const cases[][3] = {{"tours", NULL, "torus"},
                                           {"cmaes", NULL, "cmaes"},
                                           {"torus", "stepz = 4", "steps"},
                                           {"torus", "steps = -1", "steps"},
                                           {"cartpole", "links = 1\nlinks = 2", "links"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char why[600] = "";
        assert_null(ds_environment_open(cases[k][0], cases[k][1], 1, 1, why, sizeof why));
        if (strstr(why, cases[k][2]) == NULL || strchr(why, '\n') != NULL) {
            print_message("'%s' does not contain '%s'\n", why, cases[k][2]);
            fail();
        }
    }
    assert_null(ds_environment_open(NULL, NULL, 1, 1, NULL, 0));
    /* This process is not for it alone. */
    const char *top = getenv("DS_TOP_BUILD");
    char path[4096], why[600] = "";
    snprintf(path, sizeof path, "%s/tests/plugins/.libs/alone.so", top != NULL ? top : ".");
    assert_null(ds_environment_open(path, NULL, 1, 1, why, sizeof why));
    assert_string_equal(
        why, "alone needs a process of its own for each instance, which an environment of libdiffsim "
             "does not give; let dshost evaluate it");
}

/* A simulation that breaks down says so, and is told as a failure. */
static void test_environment_fails(void **state)
{
    ds_environment *e = must_open_environment("cartpole", "links = 10\ngravity = 1000\nlength = 0.01");
    ds_environment_box box = {.struct_size = sizeof box};
    double loss = 0, *x, *grad;
    uint32_t outcome = 0;
    (void)state;
    ds_environment_describe(e, &box);
    x = calloc(2 * box.n, sizeof *x);
    grad = x + box.n;
    for (uint64_t i = 0; i < box.n; i++) {
        x[i] = i % 2 ? box.upper[i] : box.lower[i];
        grad[i] = 7;
    }
    assert_int_equal(ds_environment_evaluate(e, x, 0, &loss, grad, &outcome), DS_OK);
    assert_int_equal(outcome, DS_EVAL_DIVERGED);
    assert_true(isinf(loss) && grad[0] == 0 && ds_environment_message(e)[0] != '\0');
    free(x);
    ds_environment_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_points_as_a_run), cmocka_unit_test(test_budget_cuts_a_batch),
        cmocka_unit_test(test_closed_at_any_moment), cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_failed_evaluations),   cmocka_unit_test(test_nothing_but_failures),
        cmocka_unit_test(test_told_wrongly),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_environment),          cmocka_unit_test(test_environment_refused),
        cmocka_unit_test(test_environment_fails)};
    char path[4096];
    const char *top = getenv("DS_TOP_BUILD");
    snprintf(path, sizeof path, "%s/plugins", top != NULL ? top : ".");
    setenv("DS_PLUGIN_PATH", path, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
