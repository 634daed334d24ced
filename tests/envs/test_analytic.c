/* SPDX-License-Identifier: Apache-2.0 */
/* test_analytic.c - environment analytic: values and minima known from the literature, gradients against
 * central differences, placement, noise and failures; functions of the BBOB suite against pycma 4.5
 * (cma.bbobbenchmarks, zerof=True). */
#include "engines/functions/bbob.h"
#include "engines/functions/functions.h"
#include "host.h"
#include "test.h"

#include <diffsim/helper/random.h>

static double value(const char *function, const char *optimum, uint64_t n, const double *x)
{
    char f[64], o[64], d[64];
    snprintf(f, sizeof f, "function=%s", function);
    snprintf(o, sizeof o, "optimum=%s", optimum);
    snprintf(d, sizeof d, "dim=%d", (int)n);
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS(f, o, d), 1, -HUGE_VAL);
    double loss = fake_eval(&e, x, NULL, 0, NULL);
    fake_env_close(&e);
    return loss;
}

/* Values that follow from the formulas by hand, and the minima printed in the literature. */
static void test_values(void **state)
{
    const double x3[3] = {1, -2, 0.5};
    assert_near(value("sphere", "textbook", 3, x3), 5.25, 1e-14);
    assert_near(value("ellipsoid", "textbook", 3, x3), 1 + 4e3 + 0.25e6, 1e-9);
    assert_near(value("cigar", "textbook", 3, x3), 1 + 4.25e6, 1e-8);
    assert_near(value("tablet", "textbook", 3, x3), 1e6 + 4.25, 1e-8);
    assert_near(value("sharp_ridge", "textbook", 3, x3), 1 + 100 * sqrt(4.25), 1e-12);
    assert_near(value("rosenbrock", "textbook", 3, x3), 100 * 9 + 0 + 100 * 3.5 * 3.5 + 9, 1e-11);
    assert_near(value("rastrigin", "textbook", 3, x3), 5.25 + 20, 1e-12);
    assert_near(value("ackley", "textbook", 2, (const double[]){1, 1}), 20 - 20 * exp(-0.2), 1e-13);
    assert_near(value("griewank", "textbook", 2, (const double[]){1, 1}),
                2.0 / 4000 + 1 - cos(1) * cos(sqrt(0.5)), 1e-14);
    double q = pow(1 + pow(sin(50 * pow(2, 0.1)), 2), 2) * sqrt(2);
    assert_near(value("schaffer_f7", "textbook", 2, (const double[]){1, 1}), q, 1e-12);

    assert_near(value("branin", "random", 2, (const double[]){-3.14159265358979, 12.275}), 0.397887, 1e-6);
    assert_near(value("branin", "random", 2, (const double[]){3.14159265358979, 2.275}), 0.397887, 1e-6);
    assert_near(value("branin", "random", 2, (const double[]){9.42478, 2.475}), 0.397887, 1e-6);
    assert_near(value("hartmann3", "random", 3, (const double[]){0.114614, 0.555649, 0.852547}), -3.86278,
                5e-6);
    assert_near(value("hartmann6", "random", 6,
                      (const double[]){0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}),
                -3.32237, 5e-6);
    assert_near(value("camel6", "random", 2, (const double[]){0.08984201, -0.7126564}), -1.0316284, 1e-6);
}

static const char *const free_functions[] = {
    "sphere", "ellipsoid",   "cigar",    "tablet", "sharp_ridge", "rosenbrock", "rastrigin",
    "ackley", "schaffer_f7", "griewank", "rugged", "plateau",     "valley"};
enum { FREE = sizeof free_functions / sizeof *free_functions };

/* The suite's functions have their own rotation and optimum. */
static const char *const bbob_functions[] = {"bbob_f1",  "bbob_f2",  "bbob_f3",  "bbob_f8", "bbob_f10",
                                             "bbob_f15", "bbob_f17", "bbob_f18", "bbob_f21"};
enum { BBOB = sizeof bbob_functions / sizeof *bbob_functions };

/* With the optimum at the origin the loss at 0 is exactly the floor, and larger nearby. */
static void test_origin(void **state)
{
    for (int k = 0; k < FREE + BBOB; k++) {
        const char *function = k < FREE ? free_functions[k] : bbob_functions[k - FREE];
        double x[4] = {0, 0, 0, 0};
        assert_true(value(function, "origin", 4, x) == 0);
        x[1] = 1e-3;
        assert_true(value(function, "origin", 4, x) > 0);
    }
}

/* Largest difference between gradient and fourth-order central differences, relative to the gradient's
 * length. */
static double gradient_error(fake_env *e, const double *x)
{
    uint64_t n = e->info.n;
    double g[16], ignored, y[16], worst = 0, norm = 0;
    uint32_t outcome = 0;
    assert_true(n <= 16);
    ignored = fake_eval(e, x, g, 0, &outcome);
    assert_true(isfinite(ignored) && outcome == DS_EVAL_OK);
    for (uint64_t i = 0; i < n; i++) {
        double f[4], h = 1e-4 * (e->upper[i] - e->lower[i]) / 10;
        static const double step[4] = {-2, -1, 1, 2};
        memcpy(y, x, n * sizeof(double));
        for (int k = 0; k < 4; k++) {
            y[i] = x[i] + step[k] * h;
            f[k] = fake_eval(e, y, NULL, 0, NULL);
        }
        double fd = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
        worst = fmax(worst, fabs(fd - g[i]));
        norm = fmax(norm, fabs(g[i]));
    }
    return worst / norm;
}

static void check_gradients(const char *const *settings)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", settings, 1, -HUGE_VAL);
    ds_random r = ds_random_open(7, "test", 0);
    double x[16];
    for (int trial = 0; trial < 10; trial++) {
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = e.lower[i] + (0.05 + 0.9 * ds_random_uniform(&r)) * (e.upper[i] - e.lower[i]);
        }
        double error = gradient_error(&e, x);
        if (!(error < 1e-6)) {
            fail_msg("%s: gradient error %g", settings[0], error);
        }
    }
    fake_env_close(&e);
}

static void test_gradients(void **state)
{
    for (int k = 0; k < FREE; k++) {
        char f[64];
        snprintf(f, sizeof f, "function=%s", free_functions[k]);
        check_gradients(SETTINGS(f, "dim=6"));
        check_gradients(SETTINGS(f, "dim=7", "rotate=true", "instance=3"));
        check_gradients(SETTINGS(f, "dim=2", "optimum=textbook"));
    }
    for (int k = 0; k < BBOB; k++) {
        char f[64];
        snprintf(f, sizeof f, "function=%s", bbob_functions[k]);
        check_gradients(SETTINGS(f, "dim=6"));
        check_gradients(SETTINGS(f, "dim=2", "instance=3"));
        check_gradients(SETTINGS(f, "dim=3", "lower=-7", "upper=6")); /* beyond the suite's box: penalties */
    }
    check_gradients(SETTINGS("function=branin"));
    check_gradients(SETTINGS("function=hartmann3"));
    check_gradients(SETTINGS("function=hartmann6"));
    check_gradients(SETTINGS("function=camel6"));
}

/* A rotation keeps the sphere and changes the ellipsoid; each instance is another problem. */
static void test_placement(void **state)
{
    const double x[5] = {0.3, -1.2, 2, 0.7, -0.1};
    fake_env a, b, c;
    fake_env_open(&a, "envs/analytic", SETTINGS("function=sphere", "dim=5", "optimum=origin", "rotate=true"),
                  1, 0);
    assert_near(fake_eval(&a, x, NULL, 0, NULL), 0.09 + 1.44 + 4 + 0.49 + 0.01, 1e-14);
    fake_env_close(&a);
    fake_env_open(&a, "envs/analytic", SETTINGS("function=ellipsoid", "dim=5"), 1, 0);
    fake_env_open(&b, "envs/analytic", SETTINGS("function=ellipsoid", "dim=5", "rotate=true"), 1, 0);
    fake_env_open(&c, "envs/analytic", SETTINGS("function=ellipsoid", "dim=5", "instance=2"), 1, 0);
    double fa = fake_eval(&a, x, NULL, 0, NULL);
    assert_true(fabs(fake_eval(&b, x, NULL, 0, NULL) - fa) > 1);
    assert_true(fabs(fake_eval(&c, x, NULL, 0, NULL) - fa) > 1);
    assert_true(a.info.loss_floor == 0 && a.lower[4] == -5 && a.upper[0] == 5);
    fake_env_close(&a);
    fake_env_close(&b);
    fake_env_close(&c);
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=3", "lower=-1", "upper=1,2,3"), 1, 0);
    assert_true(a.lower[2] == -1 && a.upper[1] == 2 && a.upper[2] == 3);
    fake_env_close(&a);
}

/* Noise has the given standard deviation, depends on the key alone and is absent without a key. */
static void test_noise(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=3", "optimum=origin", "noise=0.5", "grad_noise=0.5"), 1,
                  0);
    const double x[3] = {1, 2, 3};
    double g[3], sum = 0, square = 0;
    int spoiled = 0;
    assert_true(fake_eval(&e, x, g, 0, NULL) == 14 && g[2] == 6);
    assert_true(e.info.loss_floor == -HUGE_VAL);
    for (uint64_t key = 1; key <= 4000; key++) {
        double d = fake_eval(&e, x, g, key, NULL) - 14;
        sum += d;
        square += d * d;
        if (g[0] != 2) {
            spoiled++;
            assert_near(g[0] * g[0] + g[1] * g[1] + g[2] * g[2], 9 * 56, 1e-9);
        }
    }
    assert_near(sum / 4000, 0, 0.03);
    assert_near(sqrt(square / 4000), 0.5, 0.02);
    assert_in_range(spoiled, 1900, 2100);
    assert_true(fake_eval(&e, x, NULL, 5, NULL) == fake_eval(&e, x, NULL, 5, NULL));
    fake_env_close(&e);
}

static void test_failures(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=2", "fail_rate=0.2"), 1, 0);
    int failed = 0;
    for (int i = 0; i < 5000; i++) {
        uint32_t outcome = 0, again = 0;
        double x[2] = {1e-3 * i - 2, 0.5}, g[2];
        fake_eval(&e, x, g, 0, &outcome);
        fake_eval(&e, x, NULL, 0, &again);
        assert_int_equal(outcome, again);
        failed += outcome == DS_EVAL_DIVERGED;
    }
    assert_in_range(failed, 900, 1100);
    fake_env_close(&e);
}

static void test_bad_parameters(void **state)
{
    fake_env_refuses("envs/analytic", SETTINGS("function=branin", "dim=3"), "dim = 3");
    fake_env_refuses("envs/analytic", SETTINGS("function=branin", "rotate=true"), "rotate");
    fake_env_refuses("envs/analytic", SETTINGS("function=rosenbrock", "dim=1"), "at least 2");
    fake_env_refuses("envs/analytic", SETTINGS("function=bbob_f10", "rotate=true"), "rotations of its suite");
    fake_env_refuses("envs/analytic", SETTINGS("function=bbob_f10", "dim=501"), "up to 500");
    fake_env_refuses("envs/analytic", SETTINGS("lower=1", "upper=0.5"), "lower");
    fake_env_refuses("envs/analytic", SETTINGS("lower=1,2,3"), "3 values");
}

/* ---- functions of the BBOB suite ---- */

static const double box[2][10] = {{-5, -5, -5, -5, -5, -5, -5, -5, -5, -5}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}};

static ds_memory room; /* of the current function */

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

/* The loss at the optimum is 0, exactly or to the accuracy of a rotated x_opt. The optimum is where the suite
 * defines it: 8 floor(1e4 U)/1e4 - 4, times 0.75 for f8. */
static void test_optimum(void **state)
{
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

RUN_TESTS(test_values, test_origin, test_gradients, test_placement, test_noise, test_failures,
          test_bad_parameters, test_recorded, test_penalty, test_optimum, test_distortions, test_draws)
