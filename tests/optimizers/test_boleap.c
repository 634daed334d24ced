/* SPDX-License-Identifier: Apache-2.0 */
/* test_boleap.c - the optimizers bo and boleap as plugins: budgets, the structure of leaps, failures,
 * determinism, and their results on analytic functions. */
#include "functions.h"
#include "methods/bayes/surrogate.h"
#include "methods/cma/cma2001.h"
#include "objective.h"
#include "test.h"

#include <diffsim/helper/random.h>

static fake_problem box(size_t n, double lower, double upper, fake_function f, uint64_t budget)
{
    fake_problem p = {.n = n, .lower = lower, .upper = upper, .f = f, .budget = budget};
    p.target = p.loss_floor = -INFINITY;
    return p;
}

static void assert_sound(const fake_result *r, uint64_t budget)
{
    assert_int_equal(r->create_status, DS_OK);
    assert_int_equal(r->status, DS_STOPPED);
    assert_int_equal(r->violations, 0);
    assert_int_equal(r->evaluations, budget);
}

/* Walks through the record of a run of boleap with K samples, at most J descent steps and leaps of `steps`.
 */
static void check_leaps(const fake_result *r, uint64_t K, uint64_t J, uint64_t steps)
{
    uint64_t i = 0;
    while (i < r->evaluations) {
        uint64_t leap = r->rows[i].group, used = 0;
        while (i < r->evaluations && r->rows[i].group == leap) {
            assert_true(steps - used >= K + (J > 0)); /* a generation begins only if it fits */
            uint64_t samples = 0, descent = 0;
            for (; i < r->evaluations && samples < K && strcmp(r->rows[i].tag, "sample") == 0; i++) {
                assert_int_equal(r->rows[i].want, 0);
                samples++;
            }
            assert_true(samples == K || i == r->evaluations);
            for (; i < r->evaluations && strcmp(r->rows[i].tag, "descent") == 0 && r->rows[i].group == leap;
                 i++) {
                assert_int_equal(r->rows[i].want, DS_WANT_GRAD);
                descent++;
            }
            assert_true(descent <= J);
            used += samples + descent;
            assert_true(used <= steps);
        }
        assert_true(i == r->evaluations || steps - used < K + (J > 0));
    }
}

static void test_budget_and_leaps(void **state)
{
    fake_problem p = box(10, -1, 1, ripples, 1000);
    fake_result r = fake_run("boleap", "raw=64 starts=2 fit_max=100", &p, 1);
    assert_sound(&r, 1000);
    check_leaps(&r, 10, 10, 100);
    assert_true(fake_groups(&r) == 10 || fake_groups(&r) == 11);
    assert_true(fake_count(&r, "sample") + fake_count(&r, "descent") == 1000);
    fake_free(&r);
    p.budget = 237;
    r = fake_run(
        "boleap",
        "k=7 mu=3 j=4 leap_steps=50 update=tutorial weights=log path=moved mean=last bounds=resample "
        "raw=64 starts=2",
        &p, 2);
    assert_sound(&r, 237);
    check_leaps(&r, 7, 4, 50);
    fake_free(&r);
}

/* Optimum anywhere in [-0.5, 0.5]^10: one leap brings the loss below 1 % of the first sampled one. */
/* Single runs depend on the rounding of the BLAS kernels: means of five. */
static void test_sphere_in_one_leap(void **state)
{
    enum { SEEDS = 5 };
    static const char *const settings[2] = {"", "profile=paper"};
    double mean[2] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double centre[10];
        ds_random rng = ds_random_open(seed, "centre", 0);
        for (int k = 0; k < 10; k++) {
            centre[k] = ds_random_uniform(&rng) - 0.5;
        }
        fake_problem p = box(10, -1, 1, sphere, 100);
        p.ctx = centre;
        for (int i = 0; i < 2; i++) {
            fake_result r = fake_run("boleap", settings[i], &p, seed);
            assert_sound(&r, 100);
            mean[i] += r.best / r.rows[0].loss / SEEDS;
            assert_true(r.best < 0.02 * r.rows[0].loss);
            fake_free(&r);
        }
    }
    print_message("# sphere, one leap, sigma1 0.3: %.5f of the first loss, sigma1 1: %.5f\n", mean[0],
                  mean[1]);
    assert_true(mean[0] < 0.005 && mean[1] < 0.01);
}

static void assert_same_points(const fake_result *a, const fake_result *b, size_t n)
{
    assert_int_equal(a->evaluations, b->evaluations);
    assert_memory_equal(a->x, b->x, a->evaluations * n * sizeof(double));
}

static void test_without_samples_it_is_bo(void **state)
{
    fake_problem p = box(4, -2, 3, ripples, 120);
    fake_result a = fake_run("boleap", "k=0 j=12 leap_steps=12 raw=64 starts=3", &p, 5);
    fake_result b = fake_run("bo", "j=12 raw=64 starts=3", &p, 5);
    assert_sound(&a, 120);
    assert_sound(&b, 120);
    assert_same_points(&a, &b, 4);
    fake_free(&a);
    fake_free(&b);
    p.no_gradient = 1; /* both then propose single points; bo would begin with a design */
    a = fake_run("boleap", "k=0 j=12 leap_steps=12 raw=64 starts=3 n_init=6", &p, 5);
    b = fake_run("bo", "j=12 raw=64 starts=3 n_init=6", &p, 5);
    assert_sound(&a, 120);
    assert_sound(&b, 120);
    assert_non_null(strstr(a.log, "no gradient"));
    assert_non_null(strstr(b.log, "no gradient"));
    assert_same_points(&a, &b, 4);
    fake_free(&a);
    fake_free(&b);
}

static void test_without_gradient_leaps_have_no_descents(void **state)
{
    fake_problem p = box(5, -1, 1, ripples, 200);
    p.no_gradient = 1;
    fake_result r = fake_run("boleap", "raw=64 starts=2", &p, 3);
    assert_sound(&r, 200);
    assert_int_equal(fake_count(&r, "sample"), 200);
    assert_int_equal(fake_groups(&r), 2); /* leaps of exactly ten generations */
    assert_non_null(strstr(r.log, "no gradient"));
    fake_free(&r);
}

static void test_bo_structure(void **state)
{
    fake_problem p = box(2, 0, 1, branin, 100);
    fake_result r = fake_run("bo", "j=10", &p, 1);
    assert_sound(&r, 100);
    assert_string_equal(r.rows[0].tag, "init");
    assert_int_equal(fake_count(&r, "init"), 1);
    assert_int_equal(fake_count(&r, "init") + fake_count(&r, "bo"), fake_groups(&r));
    assert_true(r.best < 0.3979 + 0.01);
    fake_free(&r);
    r = fake_run("bo", "j=1", &p, 1); /* design of min(2 n + 2, budget / 10) points */
    assert_sound(&r, 100);
    assert_int_equal(fake_count(&r, "init"), 6);
    assert_int_equal(fake_count(&r, "bo"), 94);
    for (uint64_t i = 0; i < r.evaluations; i++) {
        assert_int_equal(r.rows[i].want, 0);
    }
    fake_free(&r);
}

static uint32_t never(const ds_host *host)
{
    return 0;
}

static void silent(const ds_host *host, uint32_t level, const char *line)
{
}

/* A model that is given the rows of a record proposes the starts of its searches, so the plugin's model
 * received every sample and every step of a descent. The box is [-1, 1]^3; the samples of boleap are drawn
 * closely around their start. */
static void test_every_point_is_told(void **state)
{
    static const char *const plugins[] = {"bo", "boleap"}, *const parameters[] = {
                                                               "j=6",
                                                               "k=6 mu=3 j=3 leap_steps=20 sigma1=1e-9"};
    for (int i = 0; i < 2; i++) {
        char text[128];
        snprintf(text, sizeof(text), "raw=64 starts=3 %s", parameters[i]);
        fake_problem p = box(3, -1, 1, ripples, 120);
        fake_result r = fake_run(plugins[i], text, &p, 8);
        assert_sound(&r, 120);
        double lower[3] = {-1, -1, -1}, upper[3] = {1, 1, 1}, start[3];
        ds_problem problem = {.struct_size = sizeof(problem), .n = 3, .lower = lower, .upper = upper};
        ds_host host = {
            .struct_size = sizeof(host), .seed = 8, .threads = 1, .log = silent, .should_stop = never};
        surrogate_options options = {.model = {GP_SE, GP_PRIOR_2024, 0.0},
                                     .alpha = 1.0,
                                     .raw = 64,
                                     .starts = 3,
                                     .around_best = 1,
                                     .fit_max = 500,
                                     .n_max = 2000};
        problem.target = problem.loss_floor = -INFINITY;
        surrogate *model = surrogate_create(&host, &problem, &options);
        assert_non_null(model);
        uint64_t group = 0;
        for (uint64_t row = 0; row < r.evaluations; row++) {
            int first = r.rows[row].group != group;
            group = r.rows[row].group;
            if (first) {
                assert_int_equal(surrogate_propose(model, group, start), DS_OK);
                for (int k = 0; k < 3; k++) {
                    assert_true(fabs(start[k] - r.x[3 * row + (uint64_t)k]) < 1e-6);
                }
            }
            assert_true(surrogate_add(model, 1, r.x + 3 * row, &r.rows[row].loss, first));
        }
        assert_true(group >= 6);
        surrogate_destroy(model);
        fake_free(&r);
    }
}

/* Without descents a leap is the (5/5, 10)-CMA-ES of 2001, sample by sample. */
static void test_without_descents_it_is_cma(void **state)
{
    enum { N = 6, K = 10, GENERATIONS = 10 };
    fake_problem p = box(N, -1, 1, ripples, K * GENERATIONS);
    fake_result r = fake_run("boleap", "j=0 leap_steps=100", &p, 21);
    assert_sound(&r, K * GENERATIONS);
    ds_random start = ds_random_open(21, "start", 1), rng = ds_random_open(21, "sample", 1);
    double mean[N], x[K][N], l[K], ranked[K][N], shift[N];
    for (int k = 0; k < N; k++) {
        mean[k] = 2.0 * ds_random_uniform(&start) - 1.0;
    }
    cma2001 c;
    assert_true(cma2001_init(&c, N, K, 5, CMA2001_EQUAL_WEIGHTS, CMA2001_RANK_ONE));
    cma2001_start(&c, mean, 0.3);
    for (int g = 0; g < GENERATIONS; g++) {
        for (int k = 0; k < K; k++) {
            cma2001_sample(&c, &rng, x[k]);
            for (int i = 0; i < N; i++) {
                x[k][i] = fmax(-1.0, fmin(1.0, x[k][i]));
                assert_true(fabs(x[k][i] - r.x[(size_t)(g * K + k) * N + (size_t)i]) < 1e-14);
            }
            l[k] = ripples(NULL, N, x[k], NULL);
        }
        for (int k = 0; k < K; k++) {
            int rank = 0;
            for (int i = 0; i < K; i++) {
                rank += l[i] < l[k];
            }
            memcpy(ranked[rank], x[k], sizeof(x[k]));
        }
        cma2001_recombine(&c, ranked[0], K, mean);
        for (int i = 0; i < N; i++) {
            shift[i] = mean[i] - c.mean[i];
        }
        cma2001_update(&c, shift, ranked[0], K, mean);
    }
    cma2001_free(&c);
    fake_free(&r);
}

static void test_determinism(void **state)
{
    static const char *const plugins[] = {"bo", "boleap"};
    fake_problem p = box(6, 0, 1, hartmann6, 150);
    for (int i = 0; i < 2; i++) {
        fake_result a = fake_run(plugins[i], "acquisition=logei", &p, 7);
        fake_result b = fake_run(plugins[i], "acquisition=logei", &p, 7);
        fake_result c = fake_run(plugins[i], "acquisition=logei", &p, 8);
        assert_sound(&a, 150);
        assert_same_points(&a, &b, 6);
        assert_memory_not_equal(a.x, c.x, 6 * sizeof(double));
        fake_free(&a);
        fake_free(&b);
        fake_free(&c);
    }
}

/* A shorter run is the beginning of a longer one (boleap does not depend on the budget). */
static void test_prefix(void **state)
{
    fake_problem p = box(3, -1, 1, ripples, 250), q = box(3, -1, 1, ripples, 120);
    fake_result a = fake_run("boleap", "raw=64 starts=2", &p, 9),
                b = fake_run("boleap", "raw=64 starts=2", &q, 9);
    assert_memory_equal(a.x, b.x, 120 * 3 * sizeof(double));
    fake_free(&a);
    fake_free(&b);
}

static void assert_finite_record(const fake_result *r, size_t n)
{
    assert_true(isfinite(r->best));
    for (uint64_t i = 0; i < r->evaluations * n; i++) {
        assert_true(isfinite(r->x[i]));
    }
}

static void test_failures(void **state)
{
    static const char *const runs[][2] = {{"boleap", "raw=64 starts=2"},
                                          {"boleap", "raw=64 starts=2 on_failure=worst resume=true"},
                                          {"boleap", "raw=64 starts=2 mean=last path=moved"},
                                          {"bo", "raw=64 starts=2 j=20"},
                                          {"bo", "raw=64 starts=2 j=20 on_failure=worst"}};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        fake_problem p = box(5, -1, 1, ripples, 300);
        p.failure_rate = 0.2;
        p.bad_gradient_rate = 0.1;
        fake_result r = fake_run(runs[i][0], runs[i][1], &p, i);
        assert_sound(&r, 300);
        assert_finite_record(&r, 5);
        assert_true(r.best < 2.0);
        fake_free(&r);
        p.failure_rate = 1.0; /* every evaluation fails */
        p.budget = 150;
        r = fake_run(runs[i][0], runs[i][1], &p, i);
        assert_sound(&r, 150);
        fake_free(&r);
        p.failure_rate = 0.9;
        r = fake_run(runs[i][0], runs[i][1], &p, i);
        assert_sound(&r, 150);
        assert_finite_record(&r, 5);
        fake_free(&r);
    }
}

/* Losses with jumps, plateaus, huge values and very different scales of the box. */
static double nasty(void *ctx, size_t n, const double *x, double *g)
{
    for (size_t k = 0; g && k < n; k++) {
        g[k] = 0.0;
    }
    if (x[0] > 0.5e-3) {
        return 1.0; /* plateau with zero gradient */
    }
    if (x[1] > 0.5e-3) {
        if (g) {
            g[1] = 1e300;
        }
        return 1e250 * x[1];
    }
    if (g) {
        g[0] = 1e3;
    }
    return 1e3 * x[0];
}

static void test_nasty_losses(void **state)
{
    fake_problem p = box(3, -1e-3, 1e-3, nasty, 150);
    static const char *const runs[][2] = {
        {"boleap", "raw=64 starts=2"},
        {"bo", "raw=64 starts=2 j=10 step=gd"},
        {"bo", "raw=64 starts=2 j=10 step=nsgd acquisition=ei"},
        {"bo", "raw=64 starts=2 j=10 step=momentum gp=2022 acquisition=logei"}};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        fake_result r = fake_run(runs[i][0], runs[i][1], &p, 4);
        assert_sound(&r, 150);
        assert_finite_record(&r, 3);
        assert_true(r.best < 0.0);
        fake_free(&r);
    }
    fake_problem wide = box(2, -1e308, 1e308, sphere, 60); /* every loss overflows to infinity or is huge */
    fake_result r = fake_run("boleap", "raw=64 starts=2", &wide, 4);
    assert_int_equal(r.violations, 0);
    fake_free(&r);
}

static void test_one_variable(void **state)
{
    fake_problem p = box(1, -3, 4, ripples, 150);
    fake_result r = fake_run("boleap", "", &p, 4);
    assert_sound(&r, 150);
    assert_true(r.best < 1e-2);
    fake_free(&r);
}

static void test_target_and_stop(void **state)
{
    fake_problem p = box(4, -1, 1, sphere, 500);
    p.target = 0.01;
    fake_result r = fake_run("boleap", "", &p, 4);
    assert_int_equal(r.status, DS_STOPPED);
    assert_true(r.best <= 0.01 && r.evaluations < 500);
    assert_true(r.rows[r.evaluations - 1].loss <= 0.01);
    fake_free(&r);
    p.target = -INFINITY;
    p.stop_after = 40; /* polled inside fits and acquisition searches */
    r = fake_run("bo", "j=1", &p, 4);
    assert_int_equal(r.status, DS_STOPPED);
    assert_true(r.evaluations < 500 && r.polls < 60);
    fake_free(&r);
}

static void test_bad_parameters(void **state)
{
    fake_problem p = box(4, -1, 1, sphere, 50);
    static const char *const wrong[] = {"mu=11", "k=0 j=0", "leap_steps=10"};
    for (int i = 0; i < 3; i++) {
        fake_result r = fake_run("boleap", wrong[i], &p, 4);
        assert_int_equal(r.create_status, DS_E_PARAM);
        assert_true(strlen(r.error) > 20);
        fake_free(&r);
    }
}

/* All options of the model run and find the basin of a function of two variables. */
static void test_options(void **state)
{
    static const char *const options[] = {"gp=2022",           "kernel=matern52",     "noise=fixed",
                                          "acquisition=ei",    "acquisition=logei",   "warp=log",
                                          "around_best=false", "n_max=40 fit_max=20", "n_init=8",
                                          "profile=paper",     "resume=true",         "update=tutorial"};
    fake_problem p = box(2, 0, 1, branin, 200);
    p.loss_floor = 0.0;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "raw=64 starts=3 %s", options[i]);
        fake_result r = fake_run("boleap", text, &p, 11);
        assert_sound(&r, 200);
        assert_true(r.best < 0.45);
        fake_free(&r);
    }
}

RUN_TESTS(test_budget_and_leaps, test_sphere_in_one_leap, test_without_samples_it_is_bo,
          test_without_gradient_leaps_have_no_descents, test_bo_structure, test_every_point_is_told,
          test_without_descents_it_is_cma, test_determinism, test_prefix, test_failures, test_nasty_losses,
          test_one_variable, test_target_and_stop, test_bad_parameters, test_options)
