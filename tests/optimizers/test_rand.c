/* SPDX-License-Identifier: Apache-2.0 */
/* test_rand.c - optimizer rand: uniform points in the box, seeds, start point, and runs that
 * can be extended. */
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Best of 1000 points on |v|^2, d = 10: mean 0.77, 90 % of the runs in 0.48..1.02. */
static void test_sphere(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere),      cmocka_unit_test(test_uniform), cmocka_unit_test(test_extension),
        cmocka_unit_test(test_start_point), cmocka_unit_test(test_sobol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
