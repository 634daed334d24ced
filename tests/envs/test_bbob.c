/* SPDX-License-Identifier: Apache-2.0 */
/* test_bbob.c - functions of the BBOB suite: losses of its instances as recorded from pycma 4.5
 * (cma.bbobbenchmarks, zerof=True), the formulas of its transformations, optimum and exact gradient. */
#include "host.h"

#include "engines/functions/bbob.h"
#include "engines/functions/functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

static const double box[2][10] = {{-5, -5, -5, -5, -5, -5, -5, -5, -5, -5}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}};

static ds_memory room; /* of the function in use */

static fn_problem *place(int number, uint64_t n, int optimum, uint64_t instance)
{
    char name[32];
    snprintf(name, sizeof name, "bbob_f%d", number);
    for (int k = 0; fn_table[k]; k++) {
        if (strcmp(fn_names[k], name) == 0) {
            assert_string_equal(fn_table[k]->name, name);
            fn_problem *p = fn_create(&room, fn_table[k], n, box[0], box[1], optimum, 0, instance);
            assert_non_null(p);
            return p;
        }
    }
    fail_msg("no function %s", name);
    return NULL;
}

static const int numbers[] = {1, 2, 3, 8, 10, 15, 17, 18, 21};
enum { FUNCTIONS = sizeof numbers / sizeof *numbers };

/* At x_i = 0.37 (7 i mod 11) - 1.9, i = 1 .. n. */
static const struct {
    int number;
    uint64_t n, instance;
    double loss;
} recorded[] = {
    {1, 2, 1, 0.32568608},         {1, 2, 7, 1.62430624},         {2, 2, 1, 1781787.44420499},
    {2, 2, 7, 1830231.37550589},   {3, 2, 1, 119.611257943584},   {3, 2, 7, 32.2261360603534},
    {8, 2, 1, 608.139882352284},   {8, 2, 7, 643.102808656551},   {10, 2, 1, 1779326.30250305},
    {10, 2, 7, 21917.2472429069},  {15, 2, 1, 107.048349719209},  {15, 2, 7, 199.117160521922},
    {17, 2, 1, 31.8332315685001},  {17, 2, 7, 22.5822687869202},  {18, 2, 1, 638.061670966643},
    {18, 2, 7, 183.013126134186},  {21, 2, 1, 11.7804824233064},  {21, 2, 7, 15.612424423451},
    {1, 5, 1, 11.58961568},        {1, 5, 7, 28.1116496},         {2, 5, 1, 8367563.71209667},
    {2, 5, 7, 16615303.5032152},   {3, 5, 1, 157.967679629076},   {3, 5, 7, 99.9557907785004},
    {8, 5, 1, 8565.56574222047},   {8, 5, 7, 43084.4640937303},   {10, 5, 1, 18671517.4113682},
    {10, 5, 7, 19971836.5062719},  {15, 5, 1, 382.8141680854},    {15, 5, 7, 315.090553045224},
    {17, 5, 1, 16.8985213633586},  {17, 5, 7, 24.8693651989123},  {18, 5, 1, 71.3753487003294},
    {18, 5, 7, 148.907446636835},  {21, 5, 1, 65.9379600608011},  {21, 5, 7, 34.2124292154497},
    {1, 10, 1, 29.49852176},       {1, 10, 7, 75.8125832},        {2, 10, 1, 10001709.140058},
    {2, 10, 7, 1045272.15179702},  {3, 10, 1, 317.735745268729},  {3, 10, 7, 445.336655175883},
    {8, 10, 1, 24694.5595606755},  {8, 10, 7, 62233.0356573569},  {10, 10, 1, 12518357.4142861},
    {10, 10, 7, 4210283.7842742},  {15, 10, 1, 480.028380566226}, {15, 10, 7, 947.56823999762},
    {17, 10, 1, 53.8428011439532}, {17, 10, 7, 23.7090696091166}, {18, 10, 1, 206.898317508727},
    {18, 10, 7, 94.5537271549304}, {21, 10, 1, 73.1687405576989}, {21, 10, 7, 63.8997050799739},
};

static void test_recorded(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof recorded / sizeof *recorded; k++) {
        double x[10];
        for (uint64_t i = 0; i < recorded[k].n; i++) {
            x[i] = 0.37 * (double)(7 * (i + 1) % 11) - 1.9;
        }
        fn_problem *p = place(recorded[k].number, recorded[k].n, FN_OPTIMUM_RANDOM, recorded[k].instance);
        double loss = fn_eval(p, x, NULL);
        if (!(fabs(loss - recorded[k].loss) <= 1e-10 * recorded[k].loss)) {
            fail_msg("f%d, %d variables, instance %d: %.17g, recorded %.17g", recorded[k].number,
                     (int)recorded[k].n, (int)recorded[k].instance, loss, recorded[k].loss);
        }
        ds_memory_free(&room);
    }
}

/* Outside of [-5, 5]^n f17, f18 and f21 have a penalty. */
static void test_penalty(void **state)
{
    (void)state;
    static const struct {
        int number;
        double loss, factor;
    } cases[] = {{17, 86.99197889430867, 10}, {18, 185.64370250491942, 10}, {21, 57.42421253629697, 1}};
    const double x[3] = {5.5, -6, 0.3};
    for (int k = 0; k < 3; k++) {
        fn_problem *p = place(cases[k].number, 3, FN_OPTIMUM_RANDOM, 1);
        assert_near(fn_eval(p, x, NULL), cases[k].loss, 1e-10 * cases[k].loss);
        assert_true(cases[k].loss > cases[k].factor * (0.5 * 0.5 + 1));
        ds_memory_free(&room);
    }
}

/* The loss at the optimum is 0, exactly or as far as x_opt can be rotated; it lies where the suite says:
 * 8 floor(1e4 U)/1e4 - 4, times 0.75 for f8. */
static void test_optimum(void **state)
{
    (void)state;
    for (int k = 0; k < FUNCTIONS; k++) {
        for (uint64_t instance = 0; instance < 20; instance++) {
            fn_problem *p = place(numbers[k], 5, FN_OPTIMUM_RANDOM, instance);
            double g[5], x[5];
            assert_near(fn_eval(p, p->x_opt, g), 0, numbers[k] == 21 ? 1e-20 : 1e-300);
            for (int i = 0; i < 5; i++) {
                double grid = (p->x_opt[i] / (numbers[k] == 8 ? 0.75 : 1) + 4) * 1e4 / 8;
                assert_true(fabs(p->x_opt[i]) <= 4 && isfinite(g[i]));
                if (numbers[k] != 21 && p->x_opt[i] != -1e-5) {
                    assert_near(grid, nearbyint(grid), 1e-9);
                }
                assert_near(g[i], 0, 1e-6);
                memcpy(x, p->x_opt, sizeof x);
                x[i] += 1e-3;
                assert_true(fn_eval(p, x, NULL) > 0);
            }
            ds_memory_free(&room);
        }
    }
}

/* T_osz and T_asy against their formulas at powers of two, and their slopes against differences. */
static void test_distortions(void **state)
{
    (void)state;
    for (int k = -20; k <= 10; k++) {
        double t = 1.1 * exp2(k), l = log(t), slope, h = 1e-6 * t;
        assert_near(bbob_osz(t, &slope), exp(l + 0.049 * (sin(10 * l) + sin(7.9 * l))), 1e-13 * t);
        assert_near(slope, (bbob_osz(t + h, NULL) - bbob_osz(t - h, NULL)) / (2 * h), 1e-7);
        assert_near(bbob_osz(-t, &slope), -exp(l + 0.049 * (sin(5.5 * l) + sin(3.1 * l))), 1e-13 * t);
        assert_near(slope, (bbob_osz(-t + h, NULL) - bbob_osz(-t - h, NULL)) / (2 * h), 1e-7);
        double power = 0.2 * 3 / 4, value = pow(t, 1 + power * sqrt(t));
        if (isfinite(value) && value < 1e10) {
            assert_near(bbob_asy(t, power, &slope), value, 1e-12 * value);
            double difference = (bbob_asy(t + h, power, NULL) - bbob_asy(t - h, power, NULL)) / (2 * h);
            assert_near(slope, difference, 1e-7 * fmax(1, slope));
        }
        assert_true(bbob_asy(-t, power, &slope) == -t && slope == 1);
    }
    assert_true(bbob_osz(0, NULL) == 0 && bbob_asy(0, 0.5, NULL) == 0);
}

/* Rows and columns are orthonormal; the suite's uniform numbers fill (0, 1). */
static void test_draws(void **state)
{
    (void)state;
    enum { N = 10, U = 4000 };
    double r[N * N], u[U], sum = 0;
    assert_true(bbob_rotation(1000010, N, r));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double rows = 0, columns = 0;
            for (int k = 0; k < N; k++) {
                rows += r[i * N + k] * r[j * N + k];
                columns += r[k * N + i] * r[k * N + j];
            }
            assert_near(rows, i == j, 1e-12);
            assert_near(columns, i == j, 1e-12);
        }
    }
    bbob_uniform(2147480000.0 * 1e4, U, u); /* a seed beyond the generator's modulus */
    for (int i = 0; i < U; i++) {
        assert_true(u[i] > 0 && u[i] < 1);
        sum += u[i];
    }
    assert_near(sum / U, 0.5, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),    cmocka_unit_test(test_penalty), cmocka_unit_test(test_optimum),
        cmocka_unit_test(test_distortions), cmocka_unit_test(test_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
