/* SPDX-License-Identifier: Apache-2.0 */
/* test_pendulum.c - environment pendulum: recorded trajectories of Gymnasium, gradients, scene.
 * Golden data: pendulum_dynamics.json of the shared folder. */
#include "golden.h"
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>
#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const double *metric(fake_env *e, const char *name)
{
    const ds_scene *scene = e->plugin->env->get_extension(e->self, DS_EXT_SCENE);
    ds_scene_metric found = {.struct_size = sizeof found};
    assert_non_null(scene);
    for (uint64_t m = 0; scene->metric(e->self, m, &found) == DS_OK; m++) {
        if (strcmp(found.name, name) == 0) {
            return found.values;
        }
    }
    fail_msg("no metric %s", name);
    return NULL;
}

static double episode(fake_env *e, const double *x)
{
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = e->info.n, .x = x};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    return io.loss;
}

/* The torques of a recorded trajectory; the one that reacts on the speed is found step by step. */
static void set_torques(fake_env *e, const char *action, double *x)
{
    for (int k = 0; k < 200; k++) {
        x[k] = 0;
    }
    for (int k = 0; k < 200; k++) {
        if (strncmp(action, "2 if", 4) == 0) {
            episode(e, x);
            x[k] = metric(e, "omega")[k] > 0 ? 2 : -2;
        } else if (strncmp(action, "1.5 sin", 7) == 0) {
            x[k] = 1.5 * sin(0.3 * k);
        } else {
            x[k] = fmin(strtod(action, NULL), 2);
        }
    }
}

static void check_trajectory(const json_t *trajectory)
{
    char theta0[64], omega0[64];
    double x[200], sum = 0;
    fake_env e;
    snprintf(theta0, sizeof theta0, "theta0=%.17g", golden_number(trajectory, "theta0"));
    snprintf(omega0, sizeof omega0, "omega0=%.17g", golden_number(trajectory, "omega0"));
    fake_env_open(&e, "envs/pendulum", SETTINGS("variant=gym", theta0, omega0), 1, -1);
    set_torques(&e, json_string_value(json_object_get(trajectory, "action")), x);
    double loss = episode(&e, x);
    assert_near(loss, -golden_number(trajectory, "return_200"), 1e-6 * loss);
    const double *theta = metric(&e, "theta"), *omega = metric(&e, "omega"), *cost = metric(&e, "cost");
    const json_t *states = json_object_get(trajectory, "states"), *state;
    size_t i, done = 0;
    json_array_foreach(states, i, state)
    {
        size_t after = (size_t)golden_number(state, "after_step");
        double tolerance = after <= 50 ? 1e-9 : 1e-6;
        for (; done < after; done++) {
            sum += cost[done];
        }
        assert_near(theta[after], golden_number(state, "theta"), tolerance);
        assert_near(omega[after], golden_number(state, "omega"), tolerance);
        assert_near(-cost[after - 1], golden_number(state, "reward"), tolerance);
        assert_near(-sum, golden_number(state, "sum_reward"), tolerance * (1 + sum));
    }
    fake_env_close(&e);
}

static void test_recorded(void **state)
{
    (void)state;
    json_t *root = golden_or_skip("optimizers/pendulum_dynamics.json"), *trajectory;
    size_t i;
    json_array_foreach(golden_list(root, "trajectories"), i, trajectory)
    {
        check_trajectory(trajectory);
    }
    json_decref(root);
}

static double quotient(fake_env *e, double *x, uint64_t i, double h)
{
    static const double offset[4] = {-2, -1, 1, 2};
    double f[4], keep = x[i];
    for (int k = 0; k < 4; k++) {
        x[i] = keep + offset[k] * h;
        f[k] = fake_eval(e, x, NULL, 0, NULL);
    }
    x[i] = keep;
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

/* Every component against central differences of fourth order, with the step at which two of them agree best:
 * a long step may straddle a kink (speed limit, angle pi) of one of the 200 states. */
static void check_gradient(const char *const *settings, double amplitude)
{
    fake_env e;
    double x[200], g[200], norm = 0;
    fake_env_open(&e, "envs/pendulum", settings, 1, -1);
    ds_random r = ds_random_open(1, "test", 0);
    for (uint64_t i = 0; i < e.info.n; i++) {
        x[i] = amplitude * (2 * ds_random_uniform(&r) - 1);
    }
    fake_eval(&e, x, g, 0, NULL);
    for (uint64_t i = 0; i < e.info.n; i++) {
        norm = fmax(norm, fabs(g[i]));
    }
    for (uint64_t i = 0; i < e.info.n; i++) {
        double best = 0, gap = HUGE_VAL, last = quotient(&e, x, i, 1e-3);
        for (double h = 1e-4; h > 5e-8; h *= 0.1) {
            double next = quotient(&e, x, i, h);
            if (fabs(next - last) < gap) {
                gap = fabs(next - last);
                best = next;
            }
            last = next;
        }
        assert_near(best, g[i], 1e-6 * norm);
    }
    fake_env_close(&e);
}

static void test_gradients(void **state)
{
    (void)state;
    check_gradient(SETTINGS("variant=swingup60"), 1.9);
    check_gradient(SETTINGS("variant=swingup60", "theta0=1", "omega0=2"), 1.9);
    check_gradient(SETTINGS("variant=gym", "theta0=2.5"), 1.9);
    check_gradient(SETTINGS("variant=gym", "theta0=0.1", "omega0=7.9"), 1.9); /* the speed limit acts */
}

/* Adam from the suggested start swings the rod up. */
static void test_swing_up(void **state)
{
    (void)state;
    fake_env e;
    double x[60], g[60], m[60] = {0}, v[60] = {0}, best = HUGE_VAL;
    fake_env_open(&e, "envs/pendulum", NULL, 1, -1);
    assert_int_equal(e.info.n, 60);
    memcpy(x, e.x0, sizeof x);
    for (int k = 1; k <= 300; k++) {
        best = fmin(best, fake_eval(&e, x, g, 0, NULL));
        for (int i = 0; i < 60; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
            x[i] -= 0.1 * m[i] / (1 - pow(0.9, k)) / (sqrt(v[i] / (1 - pow(0.999, k))) + 1e-8);
            x[i] = fmin(fmax(x[i], -2), 2);
        }
    }
    print_message("# best loss %.4f\n", best);
    assert_true(best < 0.15);
    fake_env_close(&e);
}

static void test_scene(void **state)
{
    (void)state;
    fake_env e;
    double x[60] = {0}, pose[7];
    fake_env_open(&e, "envs/pendulum", SETTINGS("theta0=1.5707963267948966"), 1, -1);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    episode(&e, x);
    assert_int_equal(scene->info(e.self, &info), DS_OK);
    assert_true(info.frames == 61 && info.flat == 1);
    for (uint64_t b = 0; b < info.bodies; b++) {
        ds_scene_body body = {.struct_size = sizeof body};
        assert_int_equal(scene->body(e.self, b, &body), DS_OK);
        assert_int_equal(scene->frame(e.self, 60, b, 7, pose), DS_OK);
        assert_near(pose[3] * pose[3] + pose[6] * pose[6], 1, 1e-15);
    }
    assert_int_equal(scene->frame(e.self, 0, 0, 7, pose), DS_OK);
    assert_near(pose[0], -0.5, 1e-15); /* a quarter turn to the left */
    assert_int_equal(scene->frame(e.self, 61, 0, 7, pose), DS_E_ARG);
    assert_int_equal(scene->frame(e.self, 0, 0, 6, pose), DS_E_ARG);
    fake_eval(&e, x, NULL, 0, NULL);
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    fake_env_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_swing_up),
        cmocka_unit_test(test_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
