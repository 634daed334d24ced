/* SPDX-License-Identifier: Apache-2.0 */
/* test_cartpole.c - the plugin cartpole as a host sees it: recorded values, parameters, scene. */
#include "rigid_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/scene.h>
#include <math.h>

/* The settings that reproduce the constants of a recorded file. */
typedef struct settings {
    char text[20][256];
    const char *list[21];
    int count;
} settings;

static char *next(settings *s)
{
    s->list[s->count] = s->text[s->count];
    s->list[s->count + 1] = NULL;
    return s->text[s->count++];
}

static void add_list(settings *s, const char *name, const json_t *array)
{
    double v[16];
    uint64_t n = rigid_numbers(array, v, 16);
    if (n) {
        rigid_list(next(s), 256, name, v, n);
    }
}

static void add_number(settings *s, const char *name, const json_t *object, const char *key)
{
    double v = golden_number(object, key);
    rigid_list(next(s), 256, name, &v, 1);
}

static void add_text(settings *s, const char *name, const json_t *object, const char *key)
{
    snprintf(next(s), 256, "%s=%s", name, json_string_value(json_object_get(object, key)));
}

static void from_meta(settings *s, const json_t *meta, const json_t *start)
{
    s->count = 0;
    add_number(s, "links", meta, "links");
    add_number(s, "steps", meta, "T");
    add_number(s, "h", meta, "h");
    add_number(s, "gravity", meta, "gravity");
    add_number(s, "cart_mass", meta, "cart_mass");
    add_list(s, "mass", json_object_get(meta, "link_masses"));
    add_list(s, "length", json_object_get(meta, "link_lengths"));
    add_list(s, "com", json_object_get(meta, "com_distance"));
    add_list(s, "inertia", json_object_get(meta, "link_inertia_about_com"));
    add_list(s, "scale", json_object_get(meta, "scale"));
    add_list(s, "target", json_object_get(meta, "target"));
    add_text(s, "integrator", meta, "integrator");
    add_text(s, "control", meta, "control");
    add_text(s, "loss", meta, "loss");
    add_number(s, "start_x", start, "x");
    add_number(s, "start_v", start, "v");
    add_list(s, "start_theta", json_object_get(start, "theta"));
    add_list(s, "start_omega", json_object_get(start, "omega"));
}

static void recorded_losses(void **state)
{
    (void)state;
    static const char *const files[] = {
        "cartpole1_force.json",         "cartpole1_force_example.json", "cartpole1_force_example_sq.json",
        "cartpole1_velocity_semi.json", "cartpole1_velocity.json",      "cartpole2_force_normal_start.json",
        "cartpole3_velocity.json",      "cartpole3_force_semi.json",    "cartpole5_velocity.json"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        json_t *root = rigid_golden(files[f]), *c = NULL;
        size_t k = 0;
        json_array_foreach(golden_list(root, "cases"), k, c)
        {
            settings s;
            fake_env e;
            double x[1000], grad[1000], want[1000];
            from_meta(&s, json_object_get(root, "meta"), json_object_get(c, "start"));
            fake_env_open(&e, "envs/cartpole", s.list, 0, 0);
            uint64_t n = rigid_numbers(json_object_get(c, "params"), x, 1000);
            assert_int_equal(n, e.info.n);
            assert_near(fake_eval(&e, x, grad, 0, NULL), golden_number(c, "loss"), 1e-9);
            rigid_numbers(json_object_get(c, "grad_params"), want, 1000);
            for (uint64_t i = 0; i < n; i++) {
                assert_near(grad[i], want[i], 1e-9 * fmax(1, golden_number(c, "grad_max_abs")));
            }
            fake_env_close(&e);
        }
        json_decref(root);
    }
}

/* ---- defaults ---- */

static const char *const three[] = {"links=3", NULL};

/* At x = 0 nothing moves: the loss is the distance from the hanging tip to the target. */
static void loss_at_rest(void **state)
{
    (void)state;
    fake_env e;
    fake_env_open(&e, "envs/cartpole", NULL, 0, 0);
    assert_int_equal(e.info.n, 200);
    assert_int_equal(e.info.steps, 100);
    assert_near(fake_eval(&e, e.x0, NULL, 0, NULL), sqrt(1 + 1.8 * 1.8), 1e-13);
    fake_env_close(&e);
    fake_env_open(&e, "envs/cartpole", three, 0, 0);
    assert_int_equal(e.info.n, 400);
    assert_near(fake_eval(&e, e.x0, NULL, 0, NULL), sqrt(1.5 * 1.5 + 25), 1e-12);
    fake_env_close(&e);
}

/* Mean, smallest and largest loss of 300 uniform points: those measured once lie in the range of 100 such
 * samples. */
static void random_points(void **state)
{
    (void)state;
    static const double measured[2][3] = {{2.06, 1.73, 2.55}, {4.17, 2.04, 5.68}};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        double x[400], low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {0, 0, 0};
        fake_env_open(&e, "envs/cartpole", k ? three : NULL, 0, 0);
        for (uint64_t sample = 0; sample < 100; sample++) {
            double value[3] = {0, HUGE_VAL, 0};
            for (uint64_t i = 0; i < 300; i++) {
                rigid_random(x, e.info.n, 1000 * sample + i);
                double f = fake_eval(&e, x, NULL, 0, NULL);
                value[0] += f / 300;
                value[1] = fmin(value[1], f);
                value[2] = fmax(value[2], f);
            }
            for (int i = 0; i < 3; i++) {
                low[i] = fmin(low[i], value[i]);
                high[i] = fmax(high[i], value[i]);
            }
        }
        print_message("links = %d: of 300 random points mean %.2f..%.2f, min %.2f..%.2f, max %.2f..%.2f\n",
                      k ? 3 : 1, low[0], high[0], low[1], high[1], low[2], high[2]);
        for (int i = 0; i < 3; i++) {
            assert_true(measured[k][i] > low[i] - 0.005 && measured[k][i] < high[i] + 0.005);
        }
        fake_env_close(&e);
    }
}

/* Best loss of projected Adam, rate 0.05, 300 gradients, from a start within 0.1 of zero. */
static double adam(fake_env *e, uint64_t key)
{
    double x[400], g[400], m[400] = {0}, v[400] = {0}, best = HUGE_VAL, b1 = 1, b2 = 1;
    rigid_random(x, e->info.n, key);
    for (uint64_t i = 0; i < e->info.n; i++) {
        x[i] *= 0.1;
    }
    for (int t = 0; t < 300; t++) {
        best = fmin(best, fake_eval(e, x, g, 0, NULL));
        b1 *= 0.9;
        b2 *= 0.999;
        for (uint64_t i = 0; i < e->info.n; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
            x[i] -= 0.05 * m[i] / (1 - b1) / (sqrt(v[i] / (1 - b2)) + 1e-8);
            x[i] = fmin(1, fmax(-1, x[i]));
        }
    }
    return best;
}

/* Both targets are within reach of a gradient method, far below every random point. */
static void gradient_descent(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        fake_env e;
        double best = HUGE_VAL;
        fake_env_open(&e, "envs/cartpole", k ? three : NULL, 0, 0);
        for (uint64_t run = 0; run < 3; run++) {
            double f = adam(&e, 50 + run);
            print_message("links = %d: Adam reaches %.4f\n", k ? 3 : 1, f);
            best = fmin(best, f);
        }
        assert_true(best < (k ? 0.2 : 0.02));
        fake_env_close(&e);
    }
}

static void central_differences(void **state)
{
    (void)state;
    static const char *const cases[][6] = {
        {"links=1", NULL},
        {"links=3", NULL},
        {"links=4", "loss=state_sq", "hold=3", "steps=20", NULL},
        {"links=2", "control=force", "loss=state_norm", NULL},
        {"variant=nimble", NULL},
        {"links=10", "steps=40", "h=0.005", NULL},
        {"links=3", "integrator=rk4", "hold=2", "steps=50", NULL},
        {"variant=nimble", "links=2", "integrator=rk4", NULL},
        {"links=2", "integrator=rk4", "residual=joint_torque = joint_angle, joint_rate", "steps=30", NULL},
        {"links=2", "integrator=rk4", "residual=cart_force, joint_torque.1 = cart_velocity, joint_rate",
         "control=force", NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fake_env e;
        double x[500], g[500], size = 0, worst = 0;
        fake_env_open(&e, "envs/cartpole", cases[c], 0, 0);
        for (uint64_t point = 0; point < 5; point++) {
            rigid_random(x, e.info.n, 200 + point);
            for (uint64_t i = 0; i < e.info.n; i++) {
                x[i] *= 0.9;
            }
            fake_eval(&e, x, g, 0, NULL);
            for (uint64_t i = 0; i < e.info.n; i++) {
                size = fmax(size, fabs(g[i]));
            }
            for (uint64_t i = point; i < e.info.n; i += 17) {
                double spread, q = rigid_difference(&e, x, i, 1e-4, &spread);
                worst = fmax(worst, fabs(q - g[i]) / fmax(size, 1e-3));
            }
        }
        print_message("%s: differences agree to %.1e\n", cases[c][0], worst);
        assert_true(worst < 1e-7);
        fake_env_close(&e);
    }
}

/* The same bits at every call, whatever came before, with and without gradient and scene. */
static void pure(void **state)
{
    (void)state;
    fake_env e, other;
    double x[400], y[400], g[400], again[400];
    fake_env_open(&e, "envs/cartpole", three, 0, 0);
    fake_env_open(&other, "envs/cartpole", three, 0, 0);
    rigid_random(x, 400, 8);
    rigid_random(y, 400, 9);
    double f = fake_eval(&e, x, g, 0, NULL);
    fake_eval(&other, y, again, 0, NULL);
    assert_true(fake_eval(&other, x, NULL, 0, NULL) == f);
    assert_true(fake_eval(&other, x, again, 0, NULL) == f);
    assert_memory_equal(g, again, sizeof g);
    fake_env_close(&e);
    fake_env_close(&other);
}

/* ---- errors ---- */

static void bad_parameters(void **state)
{
    (void)state;
    fake_env_refuses("envs/cartpole", (const char *const[]){"links=3", "mass=1,2", NULL}, "mass");
    fake_env_refuses("envs/cartpole", (const char *const[]){"links=2", "scale=1,2,3,4", NULL}, "scale");
    fake_env_refuses("envs/cartpole", (const char *const[]){"links=1", "inertia=0", "com=0", NULL},
                     "inertia");
    fake_env_refuses("envs/cartpole", (const char *const[]){"start_theta=1,2", NULL}, "start_theta");
}

static void divergence(void **state)
{
    (void)state;
    fake_env e;
    double x[400], g[400];
    uint32_t outcome = 0;
    fake_env_open(&e, "envs/cartpole", (const char *const[]){"links=3", "h=10", "scale=1e6", NULL}, 0, 0);
    rigid_random(x, 400, 10);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 400, .x = x, .grad = g};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    outcome = io.outcome;
    assert_int_equal(outcome, DS_EVAL_DIVERGED);
    assert_true(isinf(io.loss));
    assert_true(io.bad_step >= 0 && io.bad_step < 100);
    assert_non_null(strstr(e.host.error, "reduce parameter h"));
    fake_env_close(&e);
}

/* ---- scene ---- */

static void scene_of_an_episode(void **state)
{
    (void)state;
    fake_env e;
    double x[400], pose[7], tip[7];
    fake_env_open(&e, "envs/cartpole", three, 0, 0);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    ds_scene_info info = {.struct_size = sizeof info};
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    rigid_random(x, 400, 11);
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = 400, .x = x};
    assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
    assert_int_equal(scene->info(e.self, &info), DS_OK);
    assert_int_equal(info.frames, 101);
    assert_int_equal(info.bodies, 7);
    for (uint64_t k = 0; k < 101; k += 20) { /* the last link ends at the tip */
        assert_int_equal(scene->frame(e.self, k, 4, 7, pose), DS_OK);
        assert_int_equal(scene->frame(e.self, k, 5, 7, tip), DS_OK);
        double sine = 2 * pose[3] * pose[6], cosine = 1 - 2 * pose[6] * pose[6];
        assert_near(pose[0] - 0.5 * sine, tip[0], 1e-12);
        assert_near(pose[1] + 0.5 * cosine, tip[1], 1e-12);
    }
    for (uint64_t m = 0; m < info.metrics; m++) {
        ds_scene_metric metric = {.struct_size = sizeof metric};
        assert_int_equal(scene->metric(e.self, m, &metric), DS_OK);
        if (strcmp(metric.name, "loss") == 0) {
            assert_true(metric.values[100] == io.loss);
        }
    }
    fake_eval(&e, x, NULL, 0, NULL);
    assert_int_equal(scene->info(e.self, &info), DS_E_STATE);
    fake_env_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_losses),     cmocka_unit_test(loss_at_rest),
        cmocka_unit_test(random_points),       cmocka_unit_test(gradient_descent),
        cmocka_unit_test(central_differences), cmocka_unit_test(pure),
        cmocka_unit_test(bad_parameters),      cmocka_unit_test(divergence),
        cmocka_unit_test(scene_of_an_episode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
