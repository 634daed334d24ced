/* SPDX-License-Identifier: Apache-2.0 */
/* test_near_optimum.c - losses that are distances: close to the target, too, the gradient is that of the
 * loss, and nothing is smoothed in one of them only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <math.h>

#include "host.h"

enum { MOST = 200 };

/* Along x the loss of swing is |v_x| times a smooth factor: central differences that stay on one side of
 * the kink are exact to many digits. */
static void swing_close_to_its_target(void **state)
{
    (void)state;
    static const char *const losses[3] = {"loss=single", "loss=corner", "loss=mesh"};
    for (int k = 0; k < 9; k++) {
        fake_env e;
        double g[3], at = pow(10, -4 - 2 * (k / 3)), v[3] = {at, -0.4, 0.6};
        fake_env_open(
            &e, "envs/swing",
            (const char *const[]){losses[k % 3], "variables=velocity", "duration=0.2", "cells=6", NULL}, 0,
            0);
        fake_eval(&e, v, g, 0, NULL);
        v[0] = 1.25 * at;
        double up = fake_eval(&e, v, NULL, 0, NULL);
        v[0] = 0.75 * at;
        assert_near(g[0] / ((up - fake_eval(&e, v, NULL, 0, NULL)) / (0.5 * at)), 1, 1e-5);
        fake_env_close(&e);
    }
}

/* The gradient where the target is `off` beside the place that an episode ends at: of a distance, its size
 * does not depend on `off`. */
static void gradient_beside(const char *name, const char *loss, const char *x_name, const char *y_name,
                            double off, double *g)
{
    fake_env e;
    double x[MOST];
    char target[128];
    fake_env_open(&e, name, (const char *const[]){loss, NULL}, 0, 0);
    assert_true(e.info.n <= MOST);
    for (uint64_t i = 0; i < e.info.n; i++) {
        x[i] = e.x0[i] + 0.01 * (double)(i % 7);
    }
    double at = fake_metric(&e, x, x_name)[e.info.steps];
    int used = snprintf(target, sizeof target, "target=%.17g,%.17g", at + off,
                        fake_values(&e, y_name)[e.info.steps]);
    if (e.info.n == 3) {
        snprintf(target + used, sizeof target - (size_t)used, ",%.17g", fake_values(&e, "z")[e.info.steps]);
    }
    fake_env_close(&e);
    fake_env_open(&e, name, (const char *const[]){loss, target, NULL}, 0, 0);
    assert_near(fake_eval(&e, x, g, 0, NULL), off, 1e-3 * off);
    fake_env_close(&e);
}

static void rigid_scenes_close_to_their_targets(void **state)
{
    (void)state;
    static const char *const scenes[3][4] = {{"envs/bounce", "loss=l2", "x", "y"},
                                             {"envs/pinball", "variant=pinball2", "x", "y"},
                                             {"envs/cartpole", "loss=tip", "tip_x", "tip_y"}};
    for (int s = 0; s < 3; s++) {
        const char *const *c = scenes[s];
        double far[MOST] = {0}, near[MOST] = {0}, size = 0;
        gradient_beside(c[0], c[1], c[2], c[3], 1e-6, far);
        gradient_beside(c[0], c[1], c[2], c[3], 4e-13, near);
        for (int i = 0; i < MOST; i++) {
            size = fmax(size, fabs(far[i]));
        }
        assert_true(size > 0);
        for (int i = 0; i < MOST; i++) {
            assert_near(near[i], far[i], 1e-2 * size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swing_close_to_its_target),
        cmocka_unit_test(rigid_scenes_close_to_their_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
