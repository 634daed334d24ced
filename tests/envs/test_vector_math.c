/* SPDX-License-Identifier: Apache-2.0 */
/* test_vector_math.c - exp, exp - 1, tanh, sine, cosine, atan2 and asin of vectors against those of long
 * double, by their errors in units of the last place; their ends, and NaN. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <diffsim/helper/random.h>
#include <math.h>

#include "common/vector_math.h"

static ds_random random_numbers;

static double uniform(double from, double to)
{
    return from + (to - from) * ds_random_uniform(&random_numbers);
}

static void check_below(const char *name, double error, double limit)
{
    if (!(error <= limit)) {
        fail_msg("%s is off by %g units of the last place, more than %g", name, error, limit);
    }
}

static double ulps(double a, long double exact)
{
    const double near = fabs((double)exact);
    return (double)(fabsl((long double)a - exact) / (long double)(nextafter(near, (double)INFINITY) - near));
}

static void vector_functions_are_accurate(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        const double x = uniform(-700, 700), t = uniform(-5, 5) * pow(10, uniform(-8, 0)), y = uniform(-1, 1);
        const double z = uniform(-1, 1) * pow(10, uniform(-3, 3)), s = uniform(-1, 1);
        check_below("exp", ulps(vec_exp(vec_all(x))[0], expl(x)), 1.01);
        const double low = -fabs(t) * (i % 2 ? 1 : 8);
        check_below("expm1", ulps(vec_expm1(vec_all(low))[0], expm1l(low)), 2);
        check_below("tanh", ulps(vec_tanh(vec_all(t))[0], tanhl(t)), 3);
        check_below("atan2", ulps(vec_atan2(vec_all(y), vec_all(z))[1], atan2l(y, z)), 3);
        check_below("asin", ulps(vec_asin(vec_all(s))[1], asinl(s)), 3);
        const double angle = uniform(-1, 1) * pow(10, uniform(-8, 6));
        vec sine, cosine;
        vec_sincos(vec_all(angle), &sine, &cosine);
        check_below("sine", ulps(sine[0], sinl(angle)), 1);
        check_below("cosine", ulps(cosine[1], cosl(angle)), 1);
    }
    for (int i = 1; i <= 4000; i++) { /* beside zeros: an error of 1e-20 at most */
        const double angle = i * 1.57079632679489661923;
        vec sine, cosine;
        vec_sincos(vec_all(angle), &sine, &cosine);
        assert_true(fabsl((long double)sine[0] - sinl(angle)) <= 1.2e-16L * fabsl(sinl(angle)) + 1e-20L);
        assert_true(fabsl((long double)cosine[0] - cosl(angle)) <= 1.2e-16L * fabsl(cosl(angle)) + 1e-20L);
    }
}

static void ends_are_right(void **state)
{
    (void)state;
    assert_true(isnan(vec_tanh(vec_all(NAN))[0]) && isnan(vec_expm1(vec_all(NAN))[1]));
    assert_true(vec_expm1(vec_all(0))[0] == 0 && vec_expm1(vec_all(-1e3))[1] == -1);
    assert_true(vec_expm1(vec_all(762))[0] == 0); /* and no shift leaves its range */
    assert_true(isnan(vec_atan2(vec_all(NAN), vec_all(1))[0]));
    assert_true(vec_exp(vec_all(800))[0] == exp_same(800) && vec_exp(vec_all(-800))[0] == 0);
    assert_true(vec_tanh(vec_all(1e9))[0] == 1 && vec_tanh(vec_all(-50))[1] == -1);
    assert_true(vec_atan2(vec_all(0), vec_all(0))[0] == 0);
}

int main(void)
{
    random_numbers = ds_random_open(11, "vector_math", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_functions_are_accurate),
        cmocka_unit_test(ends_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
