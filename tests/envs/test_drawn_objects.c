/* SPDX-License-Identifier: Apache-2.0 */
/* test_drawn_objects.c - parameter `object` of the environments of gradSim: a number stands for an object,
 * whose unknown quantities are drawn inside their bounds; there the loss is 0, and the metric error tells how
 * far away a point is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "host.h"

static const struct {
    const char *plugin, *variable, *duration; /* as long as it takes to touch the ground, or to sag */
} drawn[] = {{"envs/rigid_contact", "variables=density", "duration=1.5"},
             {"envs/beam", "variables=mu", "duration=0.2"},
             {"envs/soft_ball", "variables=lambda", "duration=0.8"}};

enum { DRAWN = sizeof drawn / sizeof *drawn };

static void open_object(fake_env *e, int k, const char *object)
{
    fake_env_open(e, drawn[k].plugin,
                  (const char *const[]){drawn[k].variable, object, "image_size=16", drawn[k].duration, NULL},
                  0, 0);
    assert_int_equal(e->info.n, 1);
}

/* Where the object is: at the lower bound the error, relative as that of all logarithms, is 1 - 10^(bound
 * - object). */
static double place_of(fake_env *e)
{
    const double *error = fake_metric(e, e->lower, "error");
    return e->lower[0] - log10(1 - error[0]);
}

static void is_the_optimum(void **state)
{
    (void)state;
    for (int k = 0; k < DRAWN; k++) {
        fake_env e;
        open_object(&e, k, "object=7");
        const double width = e.upper[0] - e.lower[0], x = place_of(&e);
        assert_true(x > e.lower[0] + 0.1 * width && x < e.upper[0] - 0.1 * width);
        assert_true(fake_eval(&e, &x, NULL, 0, NULL) < 1e-15);
        assert_near(fake_metric(&e, &x, "error")[0], 0, 1e-12);
        assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 1e-9);
        fake_env_close(&e);
    }
}

static void numbers_tell_objects_apart(void **state)
{
    (void)state;
    for (int k = 0; k < DRAWN; k++) {
        fake_env one, other, again;
        open_object(&one, k, "object=7");
        open_object(&other, k, "object=8");
        open_object(&again, k, "object=7");
        assert_true(fabs(place_of(&one) - place_of(&other)) > 1e-6);
        assert_true(place_of(&one) == place_of(&again));
        fake_env_close(&one);
        fake_env_close(&other);
        fake_env_close(&again);
    }
}

/* Each velocity of a cloth is drawn: none are alike, and the error is their mean distance. */
static void each_particle(void **state)
{
    (void)state;
    fake_env e;
    fake_env_open(&e, "envs/cloth_velocity",
                  (const char *const[]){"variables=velocities", "object=1", "image_size=8", "duration=0.01",
                                        "observe=state", NULL},
                  0, 0);
    const double at_start = fake_metric(&e, e.x0, "error")[0];
    assert_true(at_start > 0.5 && at_start < 2); /* uniform in (-1.6, 1.6), seen from (-0.01, 0.99) */
    assert_true(fake_eval(&e, e.x0, NULL, 0, NULL) > 0);
    fake_env_close(&e);
}

/* Of several quantities each has an error of its own, and their mean is `error`; positive ones are
 * in proportion. */
static void each_quantity(void **state)
{
    (void)state;
    static const char *const name[] = {"error_density", "error_ke", "error_kd", "error_kf", "error_mu"};
    const double x[5] = {log10(5 * 1.5), log10(4900 * 1.25), log10(15), log10(50 * 0.5), 0.3 * 1.1};
    const double expected[5] = {0.5, 0.25, 0, 0.5, 0.1};
    fake_env e;
    double sum = 0;
    fake_env_open(&e, "envs/rigid_contact", (const char *const[]){"image_size=16", NULL}, 0, 0);
    const double mean = fake_metric(&e, x, "error")[0];
    for (int i = 0; i < 5; i++) {
        const double error = fake_values(&e, name[i])[0];
        assert_near(error, expected[i], 1e-12);
        sum += error;
    }
    assert_near(mean, sum / 5, 1e-12);
    fake_env_close(&e);

    fake_env_open(&e, "envs/soft_ball",
                  (const char *const[]){"image_size=16", "duration=0.05", "variables=mu masses", NULL}, 0, 0);
    assert_near(fake_metric(&e, e.x0, "error_mu")[0], fabs(pow(10, 2.7) / 1000 - 1), 1e-12);
    assert_near(fake_values(&e, "error_masses")[0], pow(10, 0.1) - 1, 1e-12);
    fake_env_close(&e);
}

/* Where the 85 masses of a ball start, and the mean error there. */
static double masses_start(const char *near, const char *object, const char *seed, double start[85])
{
    fake_env e;
    fake_env_open(&e, "envs/soft_ball",
                  (const char *const[]){"variables=masses", "image_size=8", "duration=0.01", "observe=state",
                                        near, object, seed, NULL},
                  0, 0);
    assert_int_equal(e.info.n, 85);
    const double error = fake_metric(&e, e.x0, "error")[0];
    for (int i = 0; i < 85; i++) {
        assert_true(e.x0[i] >= e.lower[i] && e.x0[i] <= e.upper[i]);
        start[i] = e.x0[i];
    }
    fake_env_close(&e);
    return error;
}

/* Masses that start near those of the target: by their inverses, as gradSim, or by factors between 1/2 and 2.
 * The lightest particle of a ball of one density has 0.174 kg, the heaviest 1.143 kg, their mean is
 * 0.430 kg. */
static void masses_near_the_target(void **state)
{
    (void)state;
    double far[85], at[85], other[85], least = 0, most = -1, differ = 0;
    masses_start("near=anywhere", "object=0", "seed=0", far);
    const double inverse = masses_start("near=inverse", "object=0", "seed=0", at);
    double mean = 0;
    for (int i = 0; i < 85; i++) {
        assert_near(far[i], 0.1, 0);
        least = fmin(least, at[i]);
        most = fmax(most, at[i]);
        mean += (1 - pow(10, at[i])) / 85;
    }
    assert_true(most < 0 && least > -log10(1 + 0.2 * 1.144));
    for (int i = 42; i < 54; i++) { /* the corners of the icosahedron outside have 0.274 kg */
        assert_true(at[i] > -log10(1 + 0.2 * 0.274));
    }
    assert_near(inverse, mean, 1e-12);             /* the target is 1 for all */
    assert_true(inverse > 0.03 && inverse < 0.05); /* in the mean 0.1/kg, of 0.43 kg */

    assert_true(masses_start("near=inverse", "object=0", "seed=1", other) != inverse);
    const double of_drawn = masses_start("near=inverse", "object=1", "seed=0", other);
    assert_true(of_drawn > 0.03 && of_drawn < 0.07); /* of masses between 0.4 and 2.5 of that */
    for (int i = 0; i < 85; i++) {
        differ = fmax(differ, fabs(other[i] - at[i]));
    }
    assert_true(differ > 0.3);

    /* |2^u - 1| for u uniform in (-1, 1) has the mean 0.361. */
    const double factor = masses_start("near=factor", "object=0", "seed=0", at);
    assert_near(factor, 0.361, 0.1);
    for (int i = 0; i < 85; i++) {
        assert_true(fabs(at[i]) <= log10(2));
    }
    masses_start("near=factor", "object=1", "seed=0", other); /* bounded, which masses_start() looks at */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_optimum),
                                       cmocka_unit_test(numbers_tell_objects_apart),
                                       cmocka_unit_test(each_particle), cmocka_unit_test(each_quantity),
                                       cmocka_unit_test(masses_near_the_target)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
