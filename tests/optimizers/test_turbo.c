/* SPDX-License-Identifier: Apache-2.0 */
/* test_turbo.c - the optimizer turbo and its additions to the Gaussian process: the likelihood without
 * priors, and joint draws. */
#include "functions.h"
#include "methods/bayes/gp.h"
#include "objective.h"
#include "test.h"

#include <diffsim/helper/random.h>

#define DATA 12

static const gp_model model = {GP_MATERN52, GP_PRIOR_FLAT, 0.0};

/* Branin at random points, centred and scaled. */
static void make_data(double *u, double *y)
{
    ds_random rng = ds_random_open(3, "data", 0);
    for (int i = 0; i < DATA; i++) {
        u[2 * i] = ds_random_uniform(&rng);
        u[2 * i + 1] = ds_random_uniform(&rng);
        y[i] = (branin(NULL, 2, u + 2 * i, NULL) - 50.0) / 50.0;
    }
}

static void test_likelihood(void **state)
{
    double u[2 * DATA], y[DATA], theta[5], gradient[5], scratch[5];
    make_data(u, y);
    gp *g = gp_create(2, &model);
    ds_random rng = ds_random_open(4, "theta", 0);
    assert_int_equal(gp_theta_size(g), 5);
    for (int trial = 0; trial < 10; trial++) {
        gp_get_theta(g, theta);
        for (int k = 0; k < 5; k++) {
            theta[k] += 0.5 * ds_random_normal(&rng);
        }
        double value = gp_objective(g, DATA, u, y, theta, gradient);
        gp_set_theta(g, theta);
        assert_int_equal(gp_condition(g, DATA, u), DS_OK);
        gp_set_targets(g, y);
        assert_true(fabs(value + gp_log_likelihood(g) / DATA) < 1e-9);
        for (int k = 0; k < 5; k++) {
            double h = 1e-5, at = theta[k];
            theta[k] = at + h;
            double up = gp_objective(g, DATA, u, y, theta, scratch);
            theta[k] = at - h;
            double down = gp_objective(g, DATA, u, y, theta, scratch);
            theta[k] = at;
            assert_true(fabs((up - down) / (2.0 * h) - gradient[k]) < 1e-6 * fmax(1.0, fabs(gradient[k])));
        }
        gp_default_hyper(g);
    }
    assert_int_equal(gp_fit(g, DATA, u, y, 50, &rng, NULL, NULL), DS_OK);
    for (int k = 0; k < 2; k++) { /* the bounds of TuRBO */
        assert_true(g->hyper.length[k] >= 0.005 * (1 - 1e-12) && g->hyper.length[k] <= 2.0 * (1 + 1e-12));
    }
    assert_true(g->hyper.noise >= 5e-4 * (1 - 1e-12) && g->hyper.noise <= 0.2 * (1 + 1e-12));
    assert_true(g->hyper.variance >= 0.05 * (1 - 1e-12) && g->hyper.variance <= 20.0 * (1 + 1e-12));
    gp_destroy(g);
}

/* Mean, variance and covariance of 40000 joint draws at four points, two of them close together. */
static void test_draws(void **state)
{
    enum { Q = 4, N = 40000 };
    static const double points[2 * Q] = {0.5, 0.5, 0.52, 0.5, 0.9, 0.1, 0.02, 0.97};
    double u[2 * DATA], y[DATA], mean[Q], sd[Q], sum[Q] = {0}, square[Q] = {0}, product = 0.0;
    make_data(u, y);
    gp *g = gp_create(2, &model);
    assert_int_equal(gp_condition(g, DATA, u), DS_OK);
    gp_set_targets(g, y);
    assert_int_equal(gp_predict(g, Q, points, mean, sd, NULL, NULL), DS_OK);
    double *draw = malloc(N * Q * sizeof(double));
    ds_random rng = ds_random_open(5, "draw", 0);
    assert_int_equal(gp_sample(g, Q, points, N, &rng, draw), DS_OK);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < Q; j++) {
            double d = draw[i * Q + j] - mean[j];
            sum[j] += d / N;
            square[j] += d * d / N;
        }
        product += (draw[i * Q] - mean[0]) * (draw[i * Q + 1] - mean[1]) / N;
    }
    for (int j = 0; j < Q; j++) {
        double variance = sd[j] * sd[j] + g->hyper.noise; /* of observations */
        assert_true(fabs(sum[j]) < 5.0 * sqrt(variance / N));
        assert_true(fabs(square[j] / variance - 1.0) < 5.0 * sqrt(2.0 / N));
    }
    double other[Q - 1],
        other_sd[Q - 1]; /* covariance by conditioning on the first point: exact except for the noise */
    double s0 = sd[0] * sd[0];
    assert_int_equal(gp_append(g, points), DS_OK);
    double with[DATA + 1];
    memcpy(with, y, sizeof(y));
    with[DATA] = mean[0];
    gp_set_targets(g, with);
    assert_int_equal(gp_predict(g, Q - 1, points + 2, other, other_sd, NULL, NULL), DS_OK);
    double covariance = sqrt((sd[1] * sd[1] - other_sd[0] * other_sd[0]) * (s0 + g->hyper.noise));
    assert_true(fabs(product - covariance) < 0.05 * covariance);
    free(draw);
    gp_destroy(g);
}

static void test_every_case(void **state)
{
    optimizer_stands("turbo", "candidates=60", 50, 1, 0);
    optimizer_stands("turbo", "candidates=40 batch=7 n_init=5 n_max=20", 60, 1, 0);
    optimizer_stands("turbo", "candidates=40 j=5", 80, 1, 0);
}

/* The design comes first, then single samples; a restart begins with a new design. */
static void test_structure(void **state)
{
    fake_problem p = optimizer_box(4, 0, 1, sphere, 150);
    double centre[4] = {0.2, 0.5, 0.7, 0.4};
    p.ctx = centre;
    fake_result r = fake_run("turbo", "candidates=100", &p, 2);
    optimizer_assert_sound(&r, 150);
    assert_int_equal(fake_count(&r, "init"), 8 * fake_groups(&r));
    for (uint64_t i = 0; i < 8; i++) {
        assert_string_equal(r.rows[i].tag, "init");
        for (uint64_t j = 0; j < i; j++) { /* one point per interval of every variable */
            for (int k = 0; k < 4; k++) {
                assert_true(floor(8.0 * r.x[4 * i + k]) != floor(8.0 * r.x[4 * j + k]));
            }
        }
    }
    assert_string_equal(r.rows[8].tag, "sample");
    fake_free(&r);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Median of 5 runs: Branin after 60, Hartmann-6 after 120 evaluations. */
static void test_reaches(void **state)
{
    static const struct {
        fake_function f;
        size_t n;
        uint64_t budget;
        double least, gap;
        const char *name;
    } cases[] = {{branin, 2, 60, 0.39788735772973816, 0.02, "Branin"},
                 {hartmann6, 6, 120, -3.322368011415515, 0.25, "Hartmann-6"}};
    for (size_t i = 0; i < 2; i++) {
        double gap[5];
        for (uint64_t seed = 0; seed < 5; seed++) {
            fake_problem p = optimizer_box(cases[i].n, 0, 1, cases[i].f, cases[i].budget);
            fake_result r = fake_run("turbo", "candidates=200", &p, seed);
            optimizer_assert_sound(&r, cases[i].budget);
            gap[seed] = r.best - cases[i].least;
            fake_free(&r);
        }
        qsort(gap, 5, sizeof(double), descending);
        print_message("# %s: median %.4f, worst %.4f above the optimum\n", cases[i].name, gap[2], gap[0]);
        assert_true(gap[2] < cases[i].gap);
    }
}

RUN_TESTS(test_likelihood, test_draws, test_structure, test_reaches, test_every_case)
