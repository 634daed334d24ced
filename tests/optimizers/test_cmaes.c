/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmaes.c - the cmaes plugin in a miniature host: bounds, restarts, budget, failures, start points,
 * invariances, on environment analytic. */
#include "host.h"
#include "test.h"

#define CMAES "optimizers/cmaes"

/* Every profile, boundary method and covariance finds an optimum inside the box and one in its corner. */
static void test_finds_optimum(void **state)
{
    const char *const profiles[] = {"tutorial", "paper", "c-cmaes", "2001"};
    const char *const bounds[] = {"transform", "resample", "penalty", "none"};
    const char *const covariances[] = {"full", "diagonal"};
    for (int i = 0; i < 4 * 4 * 2; i++) {
        char p[64], b[64], c[64];
        snprintf(p, sizeof p, "profile=%s", profiles[i % 4]);
        snprintf(b, sizeof b, "bounds=%s", bounds[i / 4 % 4]);
        snprintf(c, sizeof c, "covariance=%s", covariances[i / 16]);
        for (int corner = 0; corner < 2; corner++) {
            fake_env e;
            fake_env_open(&e, "envs/analytic",
                          SETTINGS("dim=5", "optimum=origin", corner ? "upper=-1" : "upper=5"), 3000, -1);
            assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS(p, b, c)), DS_STOPPED);
            assert_int_equal(e.done, 3000);
            assert_int_equal(e.out_of_bounds, 0);
            /* in a corner resampling rejects most points and narrows early (a known weakness) */
            double limit = !corner ? 1e-6 : i / 4 % 4 == 1 ? 5.1 : 5.001;
            if (!(e.best < limit)) {
                fail_msg("%s %s %s corner %d: best %g", p, b, c, corner, e.best);
            }
            fake_env_close(&e);
        }
    }
}

/* One call per generation, the default population, and the same points at the same seed. */
static void test_batches(void **state)
{
    fake_env a, b, c;
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=10"), 1000, -1);
    fake_env_open(&b, "envs/analytic", SETTINGS("dim=10"), 1000, -1);
    fake_env_open(&c, "envs/analytic", SETTINGS("dim=10"), 1000, -1);
    fake_env_run(&a, CMAES, 1, NULL);
    fake_env_run(&b, CMAES, 1, NULL);
    fake_env_run(&c, CMAES, 2, NULL);
    assert_int_equal(a.calls, 101); /* 100 of 10 rows, and one that receives a stop */
    assert_memory_equal(a.x, b.x, 1000 * 10 * sizeof(double));
    assert_true(a.x[0] != c.x[0]);
    fake_env_close(&a);
    fake_env_close(&b);
    fake_env_close(&c);
}

static double cube(double loss)
{
    return loss * loss * loss + 7;
}

/* Only the order of the losses matters. */
static void test_order_invariance(void **state)
{
    const char *const settings[] = {"covariance=full", "restarts=none", "bounds=resample", NULL};
    fake_env a, b;
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=6", "function=rosenbrock"), 600, -1);
    fake_env_open(&b, "envs/analytic", SETTINGS("dim=6", "function=rosenbrock"), 600, -1);
    b.transform = cube;
    fake_env_run(&a, CMAES, 3, settings);
    fake_env_run(&b, CMAES, 3, settings);
    assert_memory_equal(a.x, b.x, 600 * 6 * sizeof(double));
    fake_env_close(&a);
    fake_env_close(&b);
}

/* A fifth of all points fails: the run continues and still finds the optimum. */
static void test_failures(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=5", "fail_rate=0.2"), 3000, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, NULL), DS_STOPPED);
    assert_true(e.best < 1e-6);
    fake_env_close(&e);
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=5", "fail_rate=1"), 1000, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, NULL), DS_STOPPED);
    assert_true(e.done == 1000 && e.groups > 3); /* runs of six generations, each a restart */
    fake_env_close(&e);
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=5", "fail_rate=1"), 1000, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS("restarts=none")), DS_OK);
    assert_int_equal(e.done, 6 * 8);
    fake_env_close(&e);
}

/* Without restarts a converged run ends; with them the budget is spent in several runs. */
static void test_restarts(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=3"), 20000, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS("restarts=none")), DS_OK);
    assert_true(e.done < 3000 && e.best < 1e-12);
    fake_env_close(&e);
    const char *const schemes[] = {"restarts=bipop", "restarts=ipop"};
    for (int i = 0; i < 2; i++) {
        fake_env_open(&e, "envs/analytic", SETTINGS("dim=3", "function=rastrigin"), 20000, 1e-8);
        assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS(schemes[i])), DS_STOPPED);
        assert_true(e.best <= 1e-8 && e.groups >= 1);
        fake_env_close(&e);
    }
}

static void test_start_point(void **state)
{
    fake_env e;
    const char *const tiny[] = {"sigma0=1e-9", "x0=1,2,-3", NULL};
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=3"), 7, -1);
    fake_env_run(&e, CMAES, 1, tiny);
    assert_near(e.x[0], 1, 1e-6);
    assert_near(e.x[1], 2, 1e-6);
    assert_near(e.x[2], -3, 1e-6);
    fake_env_close(&e);
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=3", "lower=-4"), 7, -1);
    fake_env_run(&e, CMAES, 1, SETTINGS("sigma0=1e-9", "use_x0=true"));
    assert_near(e.x[4], 0.5, 1e-6);
    fake_env_close(&e);
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=3"), 7, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS("x0=9")), DS_E_PARAM);
    assert_non_null(strstr(e.host.error, "[-5, 5]"));
    assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS("x0=1,2")), DS_E_PARAM);
    assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS("lambda=1")), DS_E_PARAM);
    fake_env_close(&e);
}

/* bounds = none in a wide box is the plain strategy, with the published number of evaluations for an
 * unbounded space. */
static void test_unbounded(void **state)
{
    double sum = 0;
    for (uint64_t seed = 1; seed <= 11; seed++) {
        fake_env e;
        fake_env_open(&e, "envs/analytic", SETTINGS("dim=10", "optimum=origin", "lower=-100", "upper=100"),
                      10000, 1e-8);
        fake_env_run(&e, CMAES, seed, SETTINGS("bounds=none", "x0=1", "sigma0=0.005", "restarts=none"));
        sum += (double)e.done / 11;
        assert_true(e.best <= 1e-8);
        fake_env_close(&e);
    }
    assert_near(sum, 1320, 132);
}

/* One variable, and many (diagonal covariance). */
static void test_dimensions(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=1"), 400, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, NULL), DS_STOPPED);
    assert_true(e.best < 1e-8);
    fake_env_close(&e);
    fake_env_open(&e, "envs/analytic", SETTINGS("dim=500"), 20000, -1);
    assert_int_equal(fake_env_run(&e, CMAES, 1, NULL), DS_STOPPED);
    assert_true(e.best < 1e-3 * e.loss[0]);
    fake_env_close(&e);
}

/* The quadratic model finds the minimum of a quadratic at once and loses little in another valley. No bounds
 * or profile makes it worse; the optimum may lie in a corner; more variables than it can hold are refused. */
static void test_model(void **state)
{
    static const struct {
        const char *function;
        double lead; /* largest ratio of evaluations with the model to those without */
    } smooth[] = {{"function=ellipsoid", 0.1}, {"function=sphere", 0.1}, {"function=rosenbrock", 1.6}};
    for (size_t i = 0; i < sizeof smooth / sizeof *smooth; i++) {
        double with = 0, without = 0;
        for (uint64_t seed = 1; seed <= 5; seed++) {
            fake_env a, b;
            fake_env_open(&a, "envs/analytic", SETTINGS("dim=6", "rotate=true", smooth[i].function), 20000,
                          1e-6);
            fake_env_open(&b, "envs/analytic", SETTINGS("dim=6", "rotate=true", smooth[i].function), 20000,
                          1e-6);
            fake_env_run(&a, CMAES, seed, SETTINGS("model=quad"));
            fake_env_run(&b, CMAES, seed, NULL);
            assert_true(a.best <= 1e-6 && a.out_of_bounds == 0);
            with += (double)a.done / 5;
            without += (double)b.done / 5;
            fake_env_close(&a);
            fake_env_close(&b);
        }
        print_message("# %s: %g evaluations with the quadratic, %g without\n", smooth[i].function, with,
                      without);
        assert_true(with < smooth[i].lead * without);
    }
    const char *const bounds[] = {"bounds=transform", "bounds=resample", "bounds=penalty", "bounds=none"};
    const char *const profiles[] = {"profile=tutorial", "profile=paper", "profile=c-cmaes", "profile=2001"};
    for (int i = 0; i < 16; i++) {
        fake_env e;
        fake_env_open(&e, "envs/analytic",
                      SETTINGS("dim=5", "optimum=origin", i % 2 ? "upper=-1" : "upper=5"), 3000, -1);
        assert_int_equal(fake_env_run(&e, CMAES, 1, SETTINGS("model=quad", bounds[i / 4], profiles[i % 4])),
                         DS_STOPPED);
        assert_int_equal(e.out_of_bounds, 0);
        assert_true(e.best < (i % 2 ? 5.1 : 1e-6));
        fake_env_close(&e);
    }
    fake_env a, b;
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=3", "fail_rate=0.3"), 1000, -1);
    fake_env_open(&b, "envs/analytic", SETTINGS("dim=3", "fail_rate=0.3"), 1000, -1);
    fake_env_run(&a, CMAES, 1, SETTINGS("model=quad"));
    fake_env_run(&b, CMAES, 1, SETTINGS("model=quad"));
    assert_memory_equal(a.x, b.x, 1000 * 3 * sizeof(double));
    fake_env_close(&a);
    fake_env_close(&b);
    fake_env_open(&a, "envs/analytic", SETTINGS("dim=41"), 100, -1);
    assert_int_equal(fake_env_run(&a, CMAES, 1, SETTINGS("model=quad")), DS_E_PARAM);
    assert_non_null(strstr(a.host.error, "at most 40"));
    fake_env_close(&a);
}

RUN_TESTS(test_finds_optimum, test_batches, test_order_invariance, test_failures, test_restarts,
          test_start_point, test_unbounded, test_dimensions, test_model)
