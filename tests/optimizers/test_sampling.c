/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampling.c - the optimizers rand, cem and mppi: uniform points, seeds and start points, runs that can
 * be extended; the fit, results, restarts and polish of the cross-entropy method; path integral control
 * against a plain program. */
#include "functions.h"
#include "host.h"
#include "objective.h"
#include "test.h"

#include <diffsim/helper/random.h>

/* ---- cem ---- */

static void test_every_case(void **state)
{
    optimizer_stands("cem", "samples=10 elite=3", 203, 1, 0);
    optimizer_stands("cem", "samples=7 elite=7 units=x init_std=2 start=random smoothing=0.3 min_std=0.1",
                     203, 1, 0);
    optimizer_stands("cem", "samples=2 elite=1 start=center", 203, 1, 0);
    optimizer_stands("cem", "samples=10 elite=3 polish=0.5", 203, 1, 1);
}

/* The second generation of a linear loss: its mean is the mean of the elite, the best `elite` samples. The
 * best 20 of 100 normal samples have the mean -1.4 standard deviations and 0.47 of the spread. */
static double linear(void *ctx, size_t n, const double *x, double *g)
{
    return x[0];
}

static void test_fit(void **state)
{
    const size_t B = 2000, E = 400;
    fake_problem p = optimizer_box(1, -100, 100, linear, 2 * B);
    fake_result r = fake_run("cem", "samples=2000 elite=400 init_std=2 units=x start=center", &p, 1);
    double mean[2] = {0, 0}, square[2] = {0, 0};
    for (size_t i = 0; i < 2 * B; i++) {
        mean[i / B] += r.x[i] / (double)B;
    }
    for (size_t i = 0; i < 2 * B; i++) {
        double d = r.x[i] - mean[i / B];
        square[i / B] += d * d / (double)B;
    }
    /* E[z | z below its 20 % quantile] = -1.39981, variance 1 - 1.39981 (1.39981 - 0.84162) = 0.21863 */
    assert_true(fabs(mean[0]) < 5 * 2 / sqrt((double)B));
    assert_true(fabs(mean[1] + 2 * 1.39981) < 5 * 2 * 0.4676 * sqrt(1.0 / (double)E + 1.0 / (double)B));
    assert_true(fabs(sqrt(square[0]) / 2 - 1) < 0.1 && fabs(sqrt(square[1]) / 2 - 0.46758) < 0.08);
    fake_free(&r);
}

/* A sphere: to rounding with the default constants, from any start. */
static void test_reaches(void **state)
{
    double centre[10];
    for (int k = 0; k < 10; k++) {
        centre[k] = 0.7 * sin(k + 1.0);
    }
    fake_problem p = optimizer_box(10, -1, 1, sphere, 3000);
    p.ctx = centre;
    fake_result r = fake_run("cem", "", &p, 1);
    optimizer_assert_sound(&r, 3000);
    print_message("# sphere: %.2e\n", r.best);
    assert_true(r.best < 1e-6);
    fake_free(&r);
}

/* A search that has converged is followed by another one elsewhere. */
static void test_starts_again(void **state)
{
    double centre[2] = {0.2, -0.1};
    fake_problem p = optimizer_box(2, -1, 1, sphere, 4000);
    p.ctx = centre;
    fake_result r = fake_run("cem", "samples=20 elite=5 tol=1e-3", &p, 1);
    assert_true(fake_groups(&r) > 5);
    fake_free(&r);
    r = fake_run("cem", "samples=20 elite=5 tol=1e-3 min_std=1e-2", &p, 1);
    assert_true(fake_groups(&r) == 1);
    fake_free(&r);
}

/* Samples first, gradients after: the polish begins at its share of the budget, with the same samples before
 * it, and descends much further in a valley. */
static void test_polish(void **state)
{
    fake_problem p = optimizer_box(6, -2, 2, rosenbrock, 400);
    double plain = 0.0, polished = 0.0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        fake_result a = fake_run("cem", "samples=20 elite=5", &p, seed);
        fake_result b = fake_run("cem", "samples=20 elite=5 polish=0.5", &p, seed);
        optimizer_assert_sound(&b, 400);
        assert_memory_equal(a.x, b.x, 200 * 6 * sizeof(double));
        assert_int_equal(fake_count(&a, "refine"), 0);
        assert_string_equal(b.rows[199].tag, "sample");
        assert_string_equal(b.rows[200].tag, "refine");
        assert_int_equal(b.rows[200].want, DS_WANT_GRAD);
        plain += log(a.best) / 5.0;
        polished += log(b.best) / 5.0;
        fake_free(&a);
        fake_free(&b);
    }
    print_message("# without and with polish %.2e %.2e\n", exp(plain), exp(polished));
    assert_true(polished < plain - log(2.0));
    p.no_gradient = 1;
    fake_result r = fake_run("cem", "samples=20 elite=5 polish=0.5", &p, 0);
    optimizer_assert_sound(&r, 400);
    assert_true(fake_count(&r, "refine") > 0);
    fake_free(&r);
}

/* A generation does not use the evaluations that are reserved for the polish. */
static void test_keeps_the_polish(void **state)
{
    static const uint64_t budget[] = {60, 100, 120, 250};
    for (size_t k = 0; k < sizeof budget / sizeof *budget; k++) {
        fake_problem p = optimizer_box(5, -2, 2, rosenbrock, budget[k]);
        fake_result r = fake_run("cem", "polish=0.5", &p, 1);
        optimizer_assert_sound(&r, budget[k]);
        assert_true(8 * fake_count(&r, "refine") >= 3 * budget[k]);
        fake_free(&r);
    }
}

static void test_refused(void **state)
{
    fake_problem p = optimizer_box(2, -1, 1, sphere, 10);
    fake_result r = fake_run("cem", "samples=5 elite=6", &p, 1);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "elite = 6 is more than samples = 5"));
    fake_free(&r);
    p.budget = 0; /* a share of nothing */
    r = fake_run("cem", "polish=0.5", &p, 1);
    assert_int_equal(r.create_status, DS_E_PARAM);
    assert_non_null(strstr(r.error, "budget"));
    fake_free(&r);
}

/* ---- mppi ---- */

static void test_mppi_every_case(void **state)
{
    optimizer_stands("mppi", "samples=10", 203, 1, 0);
    optimizer_stands("mppi", "samples=7 horizon=1 block=2 updates=2 nominal=false alpha=0.5 correlation=0.5",
                     203, 1, 0);
    optimizer_stands("mppi", "samples=2 temperature=loss lambda=3 units=x start=random sigma_decay=0.3", 203,
                     1, 0);
}

/* A task with 4 steps of 2 actions: a valley, tilted, that no symmetry simplifies. */
static double steps_of_two(void *ctx, size_t n, const double *x, double *g)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double d = x[k] - 0.3 * sin(2.0 * (double)k);
        sum += d * d + (k > 0 ? 0.5 * x[k] * x[k - 1] : 0.0);
    }
    return sum;
}

/* One set of parameters, in the words of the paper. */
typedef struct plain_mppi {
    size_t K, block, horizon;
    int updates, relative, nominal;
    double sigma, lambda, alpha, rho;
} plain_mppi;

/* The algorithm written for one table of points in the units of the loss's variables, whose bounds are lower
 * and upper: x gets `rows` points in the order of their evaluation. */
static void plain_run(const plain_mppi *a, size_t n, double lower, double upper, uint64_t seed, size_t rows,
                      double *x)
{
    const size_t T = n / a->block;
    const double half = 0.5 * (upper - lower), sigma = a->sigma * half;
    double u[8], e[64][8], S[64], w[64];
    ds_random random = ds_random_open(seed, "noise", 1);
    size_t made = 0, t = 0;
    for (size_t k = 0; k < n; k++) {
        u[k] = 0.5 * (lower + upper); /* the suggested start of fake_run() */
    }
    for (;; t = (t + 1) % T) {
        const size_t begin = a->horizon < T ? t * a->block : 0;
        const size_t end =
            a->horizon < T && (t + a->horizon) * a->block < n ? (t + a->horizon) * a->block : n;
        for (int update = 0; update < a->updates; update++) {
            double mean = 0.0, least = INFINITY, eta = 0.0;
            for (size_t i = 0; i < a->K; i++) {
                double noise[8] = {0};
                for (size_t k = begin; k < end && !(a->nominal && i == 0); k++) {
                    const double z = ds_random_normal(&random);
                    noise[k] = k < begin + a->block
                                   ? z
                                   : a->rho * noise[k - a->block] + sqrt(1.0 - a->rho * a->rho) * z;
                }
                if (made == rows) {
                    return;
                }
                for (size_t k = 0; k < n; k++) {
                    const double point = fmin(fmax(u[k] + sigma * noise[k], lower), upper);
                    e[i][k] = point - u[k];
                    x[made * n + k] = point;
                }
                S[i] = steps_of_two(NULL, n, x + made * n, NULL);
                mean += S[i] / (double)a->K;
                least = fmin(least, S[i]);
                made++;
            }
            const double lambda = a->relative ? a->lambda * (mean - least) : a->lambda;
            least = INFINITY;
            for (size_t i = 0; i < a->K; i++) {
                double price = 0.0;
                for (size_t k = begin; k < end; k++) {
                    price += u[k] * e[i][k] / (sigma * sigma);
                }
                S[i] += lambda * (1.0 - a->alpha) * price;
                least = fmin(least, S[i]);
            }
            for (size_t i = 0; i < a->K; i++) {
                w[i] = exp(-(S[i] - least) / lambda);
                eta += w[i];
            }
            for (size_t k = begin; k < end; k++) {
                double change = 0.0;
                for (size_t i = 0; i < a->K; i++) {
                    change += w[i] * e[i][k] / eta;
                }
                u[k] += change;
            }
        }
    }
}

/* The plugin requests the points of the plain program, sample by sample. */
static void test_mppi_is_the_algorithm(void **state)
{
    enum { n = 8, ROWS = 400 };
    static const struct {
        const char *parameters;
        plain_mppi plain;
    } cases[] = {
        {"samples=20 block=2", {20, 2, 4, 1, 1, 1, 0.2, 0.1, 1.0, 0.0}},
        {"samples=20 temperature=loss lambda=0.7 nominal=false alpha=0.4 sigma=0.3",
         {20, 1, 8, 1, 0, 0, 0.3, 0.7, 0.4, 0.0}},
        {"samples=16 block=2 horizon=2 updates=3 correlation=0.6 lambda=0.3",
         {16, 2, 2, 3, 1, 1, 0.2, 0.3, 1.0, 0.6}},
        {"samples=9 horizon=3 alpha=0 sigma=0.9 correlation=0.9 nominal=false lambda=0.5",
         {9, 1, 3, 1, 1, 0, 0.9, 0.5, 0.0, 0.9}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            char parameters[256];
            double x[ROWS * n];
            fake_problem p = optimizer_box(n, -1, 3, steps_of_two, ROWS);
            snprintf(parameters, sizeof parameters, "%s patience=1000", cases[c].parameters);
            fake_result r = fake_run("mppi", parameters, &p, seed);
            optimizer_assert_sound(&r, ROWS);
            plain_run(&cases[c].plain, n, -1, 3, seed, ROWS, x);
            for (size_t i = 0; i < ROWS * n; i++) {
                if (!(fabs(r.x[i] - x[i]) <= 1e-9)) {
                    fail_msg("%s, seed %d: row %d, variable %d is %.17g, %.17g expected", parameters,
                             (int)seed, (int)(i / n), (int)(i % n), r.x[i], x[i]);
                }
            }
            fake_free(&r);
        }
    }
}

/* A search without progress is followed by another one elsewhere; failed samples have no weight. */
static void test_mppi_starts_again(void **state)
{
    fake_problem p = optimizer_box(8, -1, 3, steps_of_two, 2000);
    p.failure_rate = 0.3;
    fake_result r = fake_run("mppi", "samples=20 patience=3 tol=1e-2", &p, 1);
    optimizer_assert_sound(&r, 2000);
    assert_true(fake_groups(&r) > 2);
    fake_free(&r);
}

/* ---- rand ---- */

/* Best of 1000 points on |v|^2, d = 10: mean 0.77, 90 % of the runs in 0.48..1.02. */
static void test_sphere(void **state)
{
    double mean = 0;
    int inside = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fake_env e;
        fake_env_open(&e, "envs/analytic", SETTINGS("dim=10", "optimum=origin", "lower=-1", "upper=1"), 1000,
                      -1);
        assert_int_equal(fake_env_run(&e, "optimizers/rand", seed, NULL), DS_STOPPED);
        assert_int_equal(e.done, 1000);
        mean += e.best / 40;
        inside += e.best > 0.48 && e.best < 1.02;
        fake_env_close(&e);
    }
    assert_near(mean, 0.77, 0.1);
    assert_true(inside >= 31);
}

static void test_uniform(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=2", "lower=-3", "upper=1,5"), 20000, -1);
    fake_env_run(&e, "optimizers/rand", 5, NULL);
    double m0 = 0, m1 = 0, s1 = 0;
    for (uint64_t k = 0; k < e.done; k++) {
        m0 += e.x[2 * k] / 20000;
        m1 += e.x[2 * k + 1] / 20000;
        s1 += (e.x[2 * k + 1] - 1) * (e.x[2 * k + 1] - 1) / 20000;
    }
    assert_near(m0, -1, 0.04);
    assert_near(m1, 1, 0.08);
    assert_near(s1, 64.0 / 12, 0.15);
    assert_int_equal(e.out_of_bounds, 0);
    fake_env_close(&e);
}

/* The first 100 evaluations of a run of 200 are a run of 100; other seeds give other points. */
static void test_extension(void **state)
{
    fake_env a, b, c;
    fake_env_open(&a, "envs/analytic", NULL, 100, -1);
    fake_env_open(&b, "envs/analytic", NULL, 200, -1);
    fake_env_open(&c, "envs/analytic", NULL, 100, -1);
    fake_env_run(&a, "optimizers/rand", 1, NULL);
    fake_env_run(&b, "optimizers/rand", 1, NULL);
    fake_env_run(&c, "optimizers/rand", 2, NULL);
    assert_memory_equal(a.x, b.x, 100 * 10 * sizeof(double));
    assert_true(a.x[0] != c.x[0]);
    fake_env_close(&a);
    fake_env_close(&b);
    fake_env_close(&c);
}

static void test_start_point(void **state)
{
    fake_env a, b;
    fake_env_open(&a, "envs/analytic", NULL, 100, -1);
    fake_env_open(&b, "envs/analytic", NULL, 101, -1);
    fake_env_run(&a, "optimizers/rand", 1, NULL);
    fake_env_run(&b, "optimizers/rand", 1, SETTINGS("use_x0=true"));
    assert_memory_equal(b.x, b.x0, 10 * sizeof(double));
    assert_memory_equal(b.x + 10, a.x, 100 * 10 * sizeof(double));
    fake_env_close(&a);
    fake_env_close(&b);
}

/* In every variable, each block of 64 Sobol points has one point in each 64th of the range; runs can be
 * extended. */
static void test_sobol(void **state)
{
    fake_env a, b;
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=6", "lower=0", "upper=64"), 640, -1);
    fake_env_open(&b, "envs/analytic", SETTINGS("dim=6", "lower=0", "upper=64"), 100, -1);
    fake_env_run(&a, "optimizers/rand", 1, SETTINGS("sequence=sobol"));
    fake_env_run(&b, "optimizers/rand", 1, SETTINGS("sequence=sobol"));
    assert_memory_equal(a.x, b.x, 100 * 6 * sizeof(double));
    for (int block = 0; block < 10; block++) {
        for (int i = 0; i < 6; i++) {
            uint64_t seen = 0;
            for (int k = 0; k < 64; k++) {
                seen |= UINT64_C(1) << (int)a.x[(block * 64 + k) * 6 + i];
            }
            assert_true(seen == UINT64_MAX);
        }
    }
    fake_env_close(&a);
    fake_env_close(&b);
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=200"), 100, -1);
    assert_int_equal(fake_env_run(&a, "optimizers/rand", 1, SETTINGS("sequence=sobol")), DS_STOPPED);
    fake_env_close(&a);
}

RUN_TESTS(test_mppi_every_case, test_mppi_is_the_algorithm, test_mppi_starts_again, test_every_case, test_fit,
          test_reaches, test_starts_again, test_polish, test_keeps_the_polish, test_refused, test_sphere,
          test_uniform, test_extension, test_start_point, test_sobol)
