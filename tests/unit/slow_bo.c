/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/slow_bo.c - Bayesian optimization against recorded runs of BoTorch, and the order of methods on rugged
 * landscapes; minutes, part of check-slow. */
#include "fake_run.h"
#include "functions.h"
#include "golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 10

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(double), compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static fake_problem unit_box(size_t n, double lower, fake_function f, uint64_t budget)
{
    fake_problem p = {.n = n, .lower = lower, .upper = 1.0, .f = f, .budget = budget};
    p.target = p.loss_floor = -INFINITY;
    return p;
}

static fake_problem problem_named(const char *name, uint64_t budget, double *optimum)
{
    if (strcmp(name, "branin") == 0) {
        *optimum = 0.39788735772973816;
        return unit_box(2, 0.0, branin, budget);
    }
    if (strcmp(name, "hartmann6") == 0) {
        *optimum = -3.322368011415515;
        return unit_box(6, 0.0, hartmann6, budget);
    }
    assert_string_equal(name, "rast10");
    *optimum = 0.0;
    return unit_box(10, -1.0, ripples, budget);
}

/* Runs `seeds` runs; regret[mark][seed] after 10, 20, ... evaluations. */
static void regrets(const char *plugin, const char *parameters, const fake_problem *p, double optimum,
                    double regret[][SEEDS])
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fake_result r = fake_run(plugin, parameters, p, seed);
        assert_int_equal(r.violations, 0);
        for (uint64_t mark = 0; mark < p->budget / 10; mark++) {
            regret[mark][seed] = fake_best_after(&r, 10 * (mark + 1)) - optimum;
        }
        fake_free(&r);
    }
}

/* Medians over ten seeds at most three times those of BoTorch, from 20 evaluations on. */
static void test_against_botorch(void **state)
{
    (void)state;
    json_t *root = golden_load("optimizers/bo_loop.json");
    if (!root) {
        skip();
    }
    const json_t *list = json_object_get(root, "summary");
    int bad = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        double optimum, regret[10][SEEDS];
        uint64_t budget = (uint64_t)golden_number(item, "evaluations");
        fake_problem p = problem_named(golden_text(item, "function"), budget, &optimum);
        char parameters[128];
        snprintf(parameters, sizeof(parameters), "j=1 n_init=%d gp=%s", (int)golden_number(item, "n_init"),
                 strcmp(golden_text(item, "model"), "se_2024") == 0 ? "2024" : "2022");
        regrets("bo", parameters, &p, optimum, regret);
        for (uint64_t mark = 0; mark < budget / 10; mark++) {
            char key[16];
            snprintf(key, sizeof(key), "%d", (int)(10 * (mark + 1)));
            const json_t *recorded = json_object_get(json_object_get(item, "regret_quartiles"), key);
            double ours = median(regret[mark], SEEDS), theirs = golden_number(recorded, "median");
            print_message("# %-10s %-14s after %3s: median regret %.3g (BoTorch %.3g), worst %.3g (%.3g)\n",
                          golden_text(item, "function"), golden_text(item, "model"), key, ours, theirs,
                          regret[mark][SEEDS - 1], golden_number(recorded, "max"));
            bad += mark > 0 && ours > 3.0 * theirs;
        }
    }
    json_decref(root);
    assert_int_equal(bad, 0);
}

/* Branin below 0.02 after 30 and Hartmann-6 below 0.25 after 60 evaluations, in at least 7 of 10 seeds. */
static void test_success_rates(void **state)
{
    (void)state;
    double optimum, regret[6][SEEDS];
    fake_problem p = problem_named("branin", 30, &optimum);
    regrets("bo", "j=1 n_init=5", &p, optimum, regret);
    int hits = 0;
    for (int s = 0; s < SEEDS; s++) {
        hits += regret[2][s] < 0.02;
    }
    print_message("# Branin below 0.02 after 30: %d of %d\n", hits, SEEDS);
    assert_true(hits >= 7);
    p = problem_named("hartmann6", 60, &optimum);
    regrets("bo", "j=1 n_init=10", &p, optimum, regret);
    hits = 0;
    for (int s = 0; s < SEEDS; s++) {
        hits += regret[5][s] < 0.25;
    }
    print_message("# Hartmann-6 below 0.25 after 60: %d of %d\n", hits, SEEDS);
    assert_true(hits >= 7);
}

/* 1000 evaluations on a rugged rotated bowl in ten dimensions. */
static void test_rugged_bowl(void **state)
{
    (void)state;
    static const char *const runs[][3] = {{"boleap", "", "BO-Leap"},
                                          {"boleap", "profile=paper", "BO-Leap, sigma1 1"},
                                          {"boleap", "resume=true", "BO-Leap, resumed leaps"},
                                          {"boleap", "update=tutorial", "BO-Leap, tutorial update"},
                                          {"boleap", "path=moved", "BO-Leap, path moved"},
                                          {"boleap", "j=0", "BO-Leap without descents"},
                                          {"bo", "", "BO"}};
    double mean[7] = {0};
    fake_problem p = unit_box(10, -1.0, ripples, 1000);
    for (size_t i = 0; i < 7; i++) {
        double early = 0.0;
        for (uint64_t seed = 0; seed < 8; seed++) {
            fake_result r = fake_run(runs[i][0], runs[i][1], &p, seed);
            mean[i] += r.best / 8.0;
            early += fake_best_after(&r, 300) / 8.0;
            fake_free(&r);
        }
        print_message("# %-26s mean best loss %.3f [%.2f after 300]\n", runs[i][2], mean[i], early);
    }
    assert_true(mean[0] < mean[1] / 2.0); /* a wide first generation is much worse */
    assert_true(mean[0] < 0.313 * 1.35 && mean[6] < 0.276 * 1.35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_botorch),
        cmocka_unit_test(test_success_rates),
        cmocka_unit_test(test_rugged_bowl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
